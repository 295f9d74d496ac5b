"""What can be wrong with a unified body, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from ttl.diagnostics import Diagnostic, Label, UsageError, codes
from ttl.diagnostics.diagnostic import Code

from .. import tree
from ..python import as_text
from .units import Effect, Frame, Site, Unit

Spot = Unit | Site | tuple[Frame, tree.Node]


def problem(
    spot: Spot, code: Code, message: str, help_text: str, label: str = "", *others: Label,
    **facts: Any,
) -> Diagnostic:  # fmt: skip
    """With the places where the operation is expanded."""
    frame, node = spot if isinstance(spot, tuple) else (spot.frame, spot.node)
    broken = code.broken(message, help_text, secondary=others, **facts)
    return broken.with_labels(*frame.call_labels()).at(frame.span(node), label)


def unknown_call(frame: Frame, node: tree.Call) -> Diagnostic:
    return problem(
        (frame, node), codes.UNKNOWN_CALL,
        f"no thread is known for the call of `{as_text(node.function)}`",
        "call a function of your program or a unified operation, or compute what it gives "
        "before the operation is called",
        "neither the language's, nor a function or operation whose definition is found",
    )  # fmt: skip


def no_such_name(frame: Frame, node: tree.Attribute, module: ModuleType) -> UsageError:
    """The language itself tells which names are near."""
    try:
        getattr(module, node.name)
    except UsageError as error:
        place = Label(frame.span(node))
        return UsageError(*(replace(each, primary=place) for each in error.diagnostics))
    raise AssertionError(f"{module.__name__} has {node.name}")


def expand_only(frame: Frame, node: tree.Node, parameter: str) -> Diagnostic:
    return problem(
        (frame, node), codes.COMPOSITION,
        f"`{parameter}` of `{frame.name}` is a tensor here, and its body wants a dataflow "
        "buffer or a pipe net",
        f"call `{frame.name}` as a statement in the body of another operation, which "
        f"gives it a buffer or a net for `{parameter}`",
        notes=("an operation with buffers or nets as parameters is only expanded, not run",),
    )  # fmt: skip


def kernels_in_unified(frame: Frame, node: tree.Node) -> Diagnostic:
    return problem(
        (frame, node), codes.MIXED_FORMS,
        f"`{frame.name}` has a kernel, and statements of kernels beside it",
        "put all of the work into kernels, or none of it",
    )  # fmt: skip


def mixed_forms(
    frame: Frame, kernel: tree.Function, place: tree.Node, statement: tree.Node
) -> Diagnostic:
    return problem(
        (frame, statement), codes.MIXED_FORMS,
        f"`{frame.name}` has the kernel `{kernel.name}`, and this statement of a kernel beside it",
        "put the statement into a kernel, or take the kernels' decorators and "
        "functions away and leave their statements",
        "work outside of the kernels",
        Label(frame.span(place), f"`{kernel.name}` makes all of it a multi-kernel operation"),
    )  # fmt: skip


def not_here(frame: Frame, node: tree.Node, what: str) -> UsageError:
    help_text = "use assignments, calls, `with`, `if`, `for` and `while`"
    message = f"{what} in the body of a unified operation"
    return UsageError(problem((frame, node), codes.NOT_IN_KERNELS, message, help_text))


def returns_value(frame: Frame, node: tree.Node) -> Diagnostic:
    return problem(
        (frame, node), codes.WRONG_DECLARATION, f"{frame.name} returns a value",
        "operations return nothing: write results into tensor arguments",
    )  # fmt: skip


def composition(frame: Frame, node: tree.Node, message: str, help_text: str) -> UsageError:
    return UsageError(problem((frame, node), codes.COMPOSITION, message, help_text))


def defined_inside(frame: Frame, node: tree.Function) -> UsageError:
    return composition(
        frame, node, f"operation `{node.name}` is defined in the body of `{frame.name}`",
        "define it outside, also by a function that returns it, and call it here; or write a "
        "function without the decorator",
    )  # fmt: skip


# Threads ------------------------------------------------------------------------------------------


def mixed_statement(unit: Unit) -> Diagnostic:
    compute, move = unit.effects[Effect.COMPUTE], unit.effects[Effect.MOVE]
    is_apart = compute is not unit.node and compute is not move
    labels = [Label(unit.frame.span(compute), "this computes")] if is_apart else []
    is_call = isinstance(unit.node, tree.Evaluate) and compute is unit.node
    help_text = (
        "make the function a unified operation, or two functions: one that moves, one that computes"
        if is_call
        else "store into a block of a dataflow buffer, and copy from there"
    )
    message = "this statement computes and moves data"
    spot = unit.frame, move
    return problem(spot, codes.MIXED_STATEMENT, message, help_text, "this moves data", *labels)


def two_threads(site: Site, users: Iterable[tuple[Unit, str]]) -> Diagnostic:
    return problem(
        site, codes.BLOCK_THREADS, f"the block of `{site.buffer_name}` is used on two threads",
        "give each thread its own end of a buffer: one reserves, stores or copies into the "
        "block and pushes it; the other waits for it",
        "one thread acquires a block and uses it",
        *(Label(unit.span, f"used on {title}") for unit, title in users),
    )  # fmt: skip


def published_and_reserved(unit: Unit, site: Site) -> Diagnostic:
    return problem(
        unit, codes.BLOCK_THREADS,
        f"`{site.buffer_name}` is published, and reserved on another thread",
        "use one buffer for what the tensor has, and another for what is computed: both may "
        "lie in the same tensor",
        "published on a data movement thread",
        Label(site.span, "reserved on the compute thread"),
    )  # fmt: skip


def two_ends(site: Site, title: str, others: Iterable[tuple[Site, str]]) -> Diagnostic:
    acquired = "reserved" if site.end.value == "reserve" else "waited for"
    return problem(
        site, codes.BLOCK_THREADS, f"`{site.buffer_name}` is {acquired} on two threads",
        "use one buffer for each of them", f"{acquired} on {title}",
        *(Label(other.span, f"{acquired} on {where}") for other, where in others),
    )  # fmt: skip


def no_users(site: Site) -> Diagnostic:
    return problem(
        site, codes.BLOCK_THREADS, f"no statement uses the block of `{site.buffer_name}`",
        "use the block: copy it, store into it, or compute with it",
        "which thread acquires it is not known",
    )  # fmt: skip


def no_thread(unit: Unit) -> Diagnostic:
    return problem(
        unit, codes.BLOCK_THREADS,
        "which thread this runs on is not known: no statement uses blocks of the buffer",
        "use the buffer: reserve or wait for its blocks",
    )  # fmt: skip


def pipe_ends(net: str, send: Unit, receive: Unit, site: Site | None) -> Diagnostic:
    return problem(
        send, codes.BLOCK_THREADS,
        f"sends and receives through `{net}` stand on different threads, and these use one block",
        "load into one buffer and send from it, and receive into another; a pipe whose "
        "range contains its source gives the source a block of its own",
        "this sends",
        Label(receive.span, "this receives"),
        *([Label(site.span, "the block")] if site is not None else []),
    )  # fmt: skip


def needed_elsewhere(unit: Unit, title: str, source: Unit, its_title: str) -> Diagnostic:
    """`source` gave a value that is known on its own thread only."""
    return problem(
        unit, codes.NEEDED_ELSEWHERE, f"{title} would need a value that only {its_title} knows",
        "hand it over through a dataflow buffer: write it into a block there, wait for the "
        "block here",
        f"needed on {title}",
        Label(source.span, f"made on {its_title}"),
    )  # fmt: skip


def skipped_elsewhere(
    unit: Unit, title: str, jump: Unit, source: Unit, its_title: str
) -> Diagnostic:
    return problem(
        unit, codes.NEEDED_ELSEWHERE, f"only {its_title} knows whether {title} comes to this",
        "decide it by what is known before the kernels run, or put a condition around what "
        f"{its_title} does, instead of the `{as_text(jump.node).split()[0]}`",
        f"needed on {title}",
        Label(jump.span, "this may skip it"), Label(source.span, f"made on {its_title}"),
    )  # fmt: skip


def made_in_loop(unit: Unit) -> Diagnostic:
    return problem(
        unit, codes.COMPOSITION if unit.expansion is not None else codes.OUTSIDE_OPERATION,
        "dataflow buffers, pipe nets and semaphores are made once, before the kernels run",
        "make it before the loop, from tensors, constants and grid_size()",
        "this is made in a loop, or depends on the node",
    )  # fmt: skip


def not_known_before(unit: Unit) -> Diagnostic:
    return problem(
        unit, codes.COMPOSITION,
        f"which one is given for `{unit.argument}` is not known before the kernels run",
        "write one call for each buffer, net or tensor",
    )  # fmt: skip


def name_used_again(unit: Unit, name: str, other: Unit) -> Diagnostic:
    return problem(
        unit, codes.WRONG_DECLARATION,
        f"`{name}` stands for a buffer, net or semaphore, and later for something else",
        "give the other one a name of its own", "", Label(other.span, "here"),
    )  # fmt: skip


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


def _named(name: str, tile: tuple[int, ...] = ()) -> str:
    return f"tile{f' {tile}' if tile else ''} of `{name or 'a tensor'}`"


def read_back_between_nodes(
    write: NodeAccess, read: NodeAccess, tile: tuple[int, ...], name: str
) -> Diagnostic:
    return problem(
        write.unit, codes.RACE,
        f"race: {_named(name, tile)} is written on node {write.node} and read on "
        f"node {read.node}, in no order",
        SPLIT, f"node {write.node} writes it here",
        Label(read.unit.span, f"node {read.node} reads it here"),
        tensor=name, nodes=(write.node, read.node),
    )  # fmt: skip


def touched_while_copied(
    first: NodeAccess, second: NodeAccess, tile: tuple[int, ...], name: str
) -> Diagnostic:
    return problem(
        first.unit, codes.RACE,
        f"race: {_named(name, tile)} is copied on node {first.node}, and again "
        "before that copy is waited for",
        "wait() for the first copy before the second starts", "copied here",
        Label(second.unit.span, "touched again here"),
        tensor=name, nodes=(first.node,),
    )  # fmt: skip


def perhaps_read_back(write: Unit, read: Unit, name: str) -> Diagnostic:
    return problem(
        write, codes.RACE,
        f"race: `{name or 'a tensor'}` is written and read, and data decides which tiles: one node "
        "may read what another writes, in no order",
        SPLIT, "written here", Label(read.span, "read here"), tensor=name,
    )  # fmt: skip


def not_on_one_thread(one: Unit, other: Unit) -> Diagnostic:
    """The two belong to one thread because of a tensor, and to two because of a pipe."""
    return problem(
        one, codes.RACE, "race: these touch the same tiles of a tensor, in no order",
        "write to another tensor than the one read, or make two operations: sends and receives "
        "through a pipe are on different threads, so these cannot be on one",
        "touched here", Label(other.span, "and here"),
    )  # fmt: skip
