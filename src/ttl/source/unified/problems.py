"""What can be wrong with a unified body, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import ModuleType

from ttl.diagnostics import Diagnostic, Label, RuleBroken, UsageError, codes

from .. import tree
from ..python import as_text
from .units import Effect, Frame, Site, Unit


def problem(frame: Frame, node: tree.Node, broken: RuleBroken, label: str = "") -> Diagnostic:
    """With the places where the operation is expanded."""
    return broken.with_labels(*frame.call_labels()).at(frame.span(node), label)


def refused(frame: Frame, node: tree.Node, broken: RuleBroken, label: str = "") -> UsageError:
    return UsageError(problem(frame, node, broken, label))


def _of(piece: Unit | Site, broken: RuleBroken, label: str = "") -> Diagnostic:
    return problem(piece.frame, piece.node, broken, label)


def unknown_call(frame: Frame, node: tree.Call) -> UsageError:
    return UsageError(unknown_called(frame, node))


def unknown_called(frame: Frame, node: tree.Call) -> Diagnostic:
    name = as_text(node.function)
    broken = codes.UNKNOWN_CALL.broken(
        f"no thread is known for the call of `{name}`",
        "call a function of your program or a unified operation, or compute what it gives "
        "before the operation is called",
    )
    return problem(
        frame,
        node,
        broken,
        "neither the language's, nor a function or operation whose definition is found",
    )


def no_such_name(frame: Frame, node: tree.Attribute, module: ModuleType) -> UsageError:
    """The language itself tells which names are near."""
    try:
        getattr(module, node.name)
    except UsageError as error:
        place = Label(frame.span(node))
        return UsageError(*(replace(each, primary=place) for each in error.diagnostics))
    raise AssertionError(f"{module.__name__} has {node.name}")


def expand_only(frame: Frame, node: tree.Node, parameter: str) -> UsageError:
    broken = codes.COMPOSITION.broken(
        f"`{parameter}` of `{frame.name}` is a tensor here, and its body wants a dataflow "
        "buffer or a pipe net",
        f"call `{frame.name}` as a statement in the body of another operation, which "
        f"gives it a buffer or a net for `{parameter}`",
        notes=("an operation with buffers or nets as parameters is only expanded, not run",),
    )
    return refused(frame, node, broken)


def kernels_in_unified(frame: Frame, node: tree.Node) -> UsageError:
    broken = codes.MIXED_FORMS.broken(
        f"`{frame.name}` has a kernel, and statements of kernels beside it",
        "put all of the work into kernels, or none of it",
    )
    return refused(frame, node, broken)


def mixed_forms(
    frame: Frame, kernel: tree.Function, place: tree.Node, statement: tree.Node
) -> UsageError:
    broken = codes.MIXED_FORMS.broken(
        f"`{frame.name}` has the kernel `{kernel.name}`, and this statement of a kernel beside it",
        "put the statement into a kernel, or take the kernels' decorators and "
        "functions away and leave their statements",
        secondary=(
            Label(frame.span(place), f"`{kernel.name}` makes all of it a multi-kernel operation"),
        ),
    )
    return refused(frame, statement, broken, "work outside of the kernels")


def not_here(frame: Frame, node: tree.Node, what: str) -> UsageError:
    broken = codes.NOT_IN_KERNELS.broken(
        f"{what} in the body of a unified operation",
        "use assignments, calls, `with`, `if`, `for` and `while`",
    )
    return refused(frame, node, broken)


def returns_value(frame: Frame, node: tree.Node) -> UsageError:
    broken = codes.WRONG_DECLARATION.broken(
        f"{frame.name} returns a value",
        "operations return nothing: write results into tensor arguments",
    )
    return refused(frame, node, broken)


def composition(frame: Frame, node: tree.Node, message: str, help_text: str) -> UsageError:
    broken = codes.COMPOSITION.broken(message, help_text)
    return refused(frame, node, broken)


def defined_inside(frame: Frame, node: tree.Function) -> UsageError:
    return composition(
        frame,
        node,
        f"operation `{node.name}` is defined in the body of `{frame.name}`",
        "define it outside, also by a function that returns it, and call it here; or write a "
        "function without the decorator",
    )


def parameter_given(frame: Frame, node: tree.Node, name: str) -> UsageError:
    return composition(
        frame,
        node,
        f"the parameter `{name}` gets another value",
        "give the new value a name of its own",
    )


# Threads ------------------------------------------------------------------------------------------


def mixed_statement(unit: Unit) -> Diagnostic:
    compute, move = unit.effects[Effect.COMPUTE], unit.effects[Effect.MOVE]
    labels = []
    if compute is not unit.node and compute is not move:
        labels.append(Label(unit.frame.span(compute), "this computes"))
    called = isinstance(unit.node, tree.Evaluate) and compute is unit.node
    help_text = (
        "make the function a unified operation, or two functions: one that moves, one that computes"
        if called
        else "store into a block of a dataflow buffer, and copy from there"
    )
    broken = codes.MIXED_STATEMENT.broken(
        "this statement computes and moves data", help_text, secondary=tuple(labels)
    )
    return problem(unit.frame, move, broken, "this moves data")


def two_threads(site: Site, users: Iterable[tuple[Unit, str]]) -> Diagnostic:
    broken = codes.BLOCK_THREADS.broken(
        f"the block of `{site.buffer_name}` is used on two threads",
        "give each thread its own end of a buffer: one reserves, stores or copies into the "
        "block and pushes it; the other waits for it",
        secondary=tuple(Label(unit.span, f"used on {title}") for unit, title in users),
    )
    return _of(site, broken, "one thread acquires a block and uses it")


def published_and_reserved(unit: Unit, site: Site) -> Diagnostic:
    place = Label(site.span, "reserved on the compute thread")
    broken = codes.BLOCK_THREADS.broken(
        f"`{site.buffer_name}` is published, and reserved on another thread",
        "use one buffer for what the tensor has, and another for what is computed: both may "
        "lie in the same tensor",
        secondary=(place,),
    )
    return _of(unit, broken, "published on a data movement thread")


def two_ends(site: Site, title: str, others: Iterable[tuple[Site, str]]) -> Diagnostic:
    labels = [
        Label(other.span, f"{_acquires(other)} on {where}")
        for other, where in others
    ]
    broken = codes.BLOCK_THREADS.broken(
        f"`{site.buffer_name}` is {_acquires(site)} on two threads",
        "use one buffer for each of them",
        secondary=tuple(labels),
    )
    return _of(site, broken, f"{_acquires(site)} on {title}")


def _acquires(site: Site) -> str:
    return "reserved" if site.end.value == "reserve" else "waited for"


def no_users(site: Site) -> Diagnostic:
    broken = codes.BLOCK_THREADS.broken(
        f"no statement uses the block of `{site.buffer_name}`",
        "use the block: copy it, store into it, or compute with it",
    )
    return _of(site, broken, "which thread acquires it is not known")


def no_thread(unit: Unit) -> Diagnostic:
    broken = codes.BLOCK_THREADS.broken(
        "which thread this runs on is not known: no statement uses blocks of the buffer",
        "use the buffer: reserve or wait for its blocks",
    )
    return _of(unit, broken)


def pipe_ends(net: str, send: Unit, receive: Unit, site: Site | None) -> Diagnostic:
    broken = codes.BLOCK_THREADS.broken(
        f"sends and receives through `{net}` stand on different threads, and these use one block",
        "load into one buffer and send from it, and receive into another; a pipe whose "
        "range contains its source gives the source a block of its own",
        secondary=(
            Label(receive.span, "this receives"),
            *([Label(site.span, "the block")] if site is not None else []),
        ),
    )
    return _of(send, broken, "this sends")


def needed_elsewhere(unit: Unit, title: str, source: Unit, its_title: str) -> Diagnostic:
    """`source` gave a value that is known on its own thread only."""
    broken = codes.NEEDED_ELSEWHERE.broken(
        f"{title} would need a value that only {its_title} knows",
        "hand it over through a dataflow buffer: write it into a block there, wait for the "
        "block here",
        secondary=(Label(source.span, f"made on {its_title}"),),
    )
    return _of(unit, broken, f"needed on {title}")


def skipped_elsewhere(
    unit: Unit, title: str, jump: Unit, source: Unit, its_title: str
) -> Diagnostic:
    broken = codes.NEEDED_ELSEWHERE.broken(
        f"only {its_title} knows whether {title} comes to this",
        "decide it by what is known before the kernels run, or put a condition around what "
        f"{its_title} does, instead of the `{as_text(jump.node).split()[0]}`",
        secondary=(
            Label(jump.span, "this may skip it"),
            Label(source.span, f"made on {its_title}"),
        ),
    )
    return _of(unit, broken, f"needed on {title}")


def made_in_loop(unit: Unit) -> Diagnostic:
    broken = (codes.COMPOSITION if unit.expansion is not None else codes.OUTSIDE_OPERATION).broken(
        "dataflow buffers, pipe nets and semaphores are made once, before the kernels run",
        "make it before the loop, from tensors, constants and grid_size()",
    )
    return _of(unit, broken, "this is made in a loop, or depends on the node")


def not_known_before(unit: Unit) -> Diagnostic:
    broken = codes.COMPOSITION.broken(
        f"which one is given for `{unit.argument}` is not known before the kernels run",
        "write one call for each buffer, net or tensor",
    )
    return _of(unit, broken)


def name_used_again(unit: Unit, name: str, other: Unit) -> Diagnostic:
    broken = codes.WRONG_DECLARATION.broken(
        f"`{name}` stands for a buffer, net or semaphore, and later for something else",
        "give the other one a name of its own",
        secondary=(Label(other.span, "here"),),
    )
    return _of(unit, broken)


# Tensors that are written and read ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodeAccess:
    """A statement on a node that copies to a tensor, or from it."""

    unit: Unit
    node: tuple[int, ...]


SPLIT = (
    "make two operations, so that the second one reads what the first has written; or let the node "
    "that reads wait for the other one, with a pipe or a semaphore between the two statements"
)


def read_back_between_nodes(
    write: NodeAccess, read: NodeAccess, tile: tuple[int, ...], name: str
) -> Diagnostic:
    where = f" {tile}" if tile else ""
    broken = codes.RACE.broken(
        f"race: tile{where} of `{name or 'a tensor'}` is written on node {write.node} and read on "
        f"node {read.node}, in no order",
        SPLIT,
        secondary=(Label(read.unit.span, f"node {read.node} reads it here"),),
        tensor=name,
        nodes=(write.node, read.node),
    )
    return _of(write.unit, broken, f"node {write.node} writes it here")


def touched_while_copied(
    first: NodeAccess, second: NodeAccess, tile: tuple[int, ...], name: str
) -> Diagnostic:
    where = f" {tile}" if tile else ""
    broken = codes.RACE.broken(
        f"race: tile{where} of `{name or 'a tensor'}` is copied on node {first.node}, and again "
        "before that copy is waited for",
        "wait() for the first copy before the second starts",
        secondary=(Label(second.unit.span, "touched again here"),),
        tensor=name,
        nodes=(first.node,),
    )
    return _of(first.unit, broken, "copied here")


def perhaps_read_back(write: Unit, read: Unit, name: str) -> Diagnostic:
    broken = codes.RACE.broken(
        f"race: `{name or 'a tensor'}` is written and read, and data decides which tiles: one node "
        "may read what another writes, in no order",
        SPLIT,
        secondary=(Label(read.span, "read here"),),
        tensor=name,
    )
    return _of(write, broken, "written here")


def not_on_one_thread(one: Unit, other: Unit) -> Diagnostic:
    """The two belong to one thread because of a tensor, and to two because of a pipe."""
    broken = codes.RACE.broken(
        "race: these touch the same tiles of a tensor, in no order",
        "write to another tensor than the one read, or make two operations: sends and receives "
        "through a pipe are on different threads, so these cannot be on one",
        secondary=(Label(other.span, "and here"),),
    )
    return _of(one, broken, "touched here")
