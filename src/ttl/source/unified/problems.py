"""What can be wrong with a unified body, in words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from ttl.diagnostics import Code, Diagnostic, Label, UsageError, codes

from .units import Effect, Frame, Site, Unit


def problem(
    code: Code,
    frame: Frame,
    node: ast.AST,
    message: str,
    label: str = "",
    *,
    helps: tuple[str, ...] = (),
    labels: Sequence[Label] = (),
    notes: tuple[str, ...] = (),
) -> Diagnostic:
    """With the places where the operation is expanded."""
    secondary = (*labels, *frame.call_labels())
    broken = code.broken(message, *helps, secondary=secondary, notes=notes)
    return broken.at(frame.span(node), label)


def refused(
    code: Code, frame: Frame, node: ast.AST, message: str, label: str = "", **parts: Any
) -> UsageError:
    return UsageError(problem(code, frame, node, message, label, **parts))


def _of(code: Code, piece: Unit | Site, message: str, label: str = "", **parts: Any) -> Diagnostic:
    return problem(code, piece.frame, piece.node, message, label, **parts)


def unknown_call(frame: Frame, node: ast.Call) -> UsageError:
    return UsageError(unknown_called(frame, node))


def unknown_called(frame: Frame, node: ast.Call) -> Diagnostic:
    name = ast.unparse(node.func)
    return problem(
        codes.UNKNOWN_CALL,
        frame,
        node,
        f"no thread is known for the call of `{name}`",
        "neither the language's, nor a function or operation whose definition is found",
        helps=("call a function of your program or a unified operation, or compute what it gives "
               "before the operation is called",),
    )  # fmt: skip


def no_such_name(frame: Frame, node: ast.Attribute, module: ModuleType) -> UsageError:
    """The language itself tells which names are near."""
    try:
        getattr(module, node.attr)
    except UsageError as error:
        place = Label(frame.span(node))
        return UsageError(*(replace(each, primary=place) for each in error.diagnostics))
    raise AssertionError(f"{module.__name__} has {node.attr}")


def expand_only(frame: Frame, node: ast.AST, parameter: str) -> UsageError:
    return refused(
        codes.COMPOSITION,
        frame,
        node,
        f"`{parameter}` of `{frame.name}` is a tensor here, and its body wants a dataflow "
        "buffer or a pipe net",
        helps=(f"call `{frame.name}` as a statement in the body of another operation, which "
               f"gives it a buffer or a net for `{parameter}`",),
        notes=("an operation with buffers or nets as parameters is only expanded, not run",),
    )


def kernels_in_unified(frame: Frame, node: ast.AST) -> UsageError:
    return refused(
        codes.MIXED_FORMS,
        frame,
        node,
        f"`{frame.name}` has a kernel, and statements of kernels beside it",
        helps=("put all of the work into kernels, or none of it",),
    )


def mixed_forms(
    frame: Frame, kernel: ast.FunctionDef, place: ast.AST, statement: ast.AST
) -> UsageError:
    return refused(
        codes.MIXED_FORMS,
        frame,
        statement,
        f"`{frame.name}` has the kernel `{kernel.name}`, and this statement of a kernel "
        "beside it",
        "work outside of the kernels",
        labels=[Label(frame.span(place), f"`{kernel.name}` makes all of it a multi-kernel "
                                         "operation")],
        helps=("put the statement into a kernel, or take the kernels' decorators and "
               "functions away and leave their statements",),
    )


def not_here(frame: Frame, node: ast.AST, what: str) -> UsageError:
    return refused(
        codes.NOT_IN_KERNELS,
        frame,
        node,
        f"{what} in the body of a unified operation",
        helps=("use assignments, calls, `with`, `if`, `for` and `while`",),
    )


def returns_value(frame: Frame, node: ast.AST) -> UsageError:
    return refused(
        codes.WRONG_ARGUMENT,
        frame,
        node,
        f"{frame.name} returns a value",
        helps=("operations return nothing: write results into tensor arguments",),
    )


def composition(frame: Frame, node: ast.AST, message: str, help_text: str) -> UsageError:
    return refused(codes.COMPOSITION, frame, node, message, helps=(help_text,))


def defined_inside(frame: Frame, node: ast.FunctionDef) -> UsageError:
    return composition(
        frame,
        node,
        f"operation `{node.name}` is defined in the body of `{frame.name}`",
        "define it outside, also by a function that returns it, and call it here; or write a "
        "function without the decorator",
    )


def parameter_given(frame: Frame, node: ast.AST, name: str) -> UsageError:
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
    called = isinstance(unit.node, ast.Expr) and compute is unit.node
    help_text = (
        "make the function a unified operation, or two functions: one that moves, one that computes"
        if called
        else "store into a block of a dataflow buffer, and copy from there"
    )
    return problem(
        codes.MIXED_STATEMENT,
        unit.frame,
        move,
        "this statement computes and moves data",
        "this moves data",
        labels=labels,
        helps=(help_text,),
    )


def two_threads(site: Site, users: Iterable[tuple[Unit, str]]) -> Diagnostic:
    return _of(
        codes.BLOCK_THREADS,
        site,
        f"the block of `{site.buffer_name}` is used on two threads",
        "one thread acquires a block and uses it",
        labels=[Label(unit.span, f"used on {title}") for unit, title in users],
        helps=("give each thread its own end of a buffer: one reserves, stores or copies into the "
               "block and pushes it; the other waits for it",),
    )  # fmt: skip


def published_and_reserved(unit: Unit, site: Site) -> Diagnostic:
    place = Label(site.span, "reserved on the compute thread")
    return _of(
        codes.BLOCK_THREADS,
        unit,
        f"`{site.buffer_name}` is published, and reserved on another thread",
        "published on a data movement thread",
        labels=(place,),
        helps=("use one buffer for what the tensor has, and another for what is computed: both may "
               "lie in the same tensor",),
    )  # fmt: skip


def two_ends(site: Site, title: str, others: Iterable[tuple[Site, str]]) -> Diagnostic:
    labels = [
        Label(other.span, f"{_acquires(other)} on {where}")
        for other, where in others
    ]
    return _of(
        codes.BLOCK_THREADS,
        site,
        f"`{site.buffer_name}` is {_acquires(site)} on two threads",
        f"{_acquires(site)} on {title}",
        labels=labels,
        helps=("use one buffer for each of them",),
    )


def _acquires(site: Site) -> str:
    return "reserved" if site.end.value == "reserve" else "waited for"


def no_users(site: Site) -> Diagnostic:
    return _of(
        codes.BLOCK_THREADS,
        site,
        f"no statement uses the block of `{site.buffer_name}`",
        "which thread acquires it is not known",
        helps=("use the block: copy it, store into it, or compute with it",),
    )


def no_thread(unit: Unit) -> Diagnostic:
    return _of(
        codes.BLOCK_THREADS,
        unit,
        "which thread this runs on is not known: no statement uses blocks of the buffer",
        helps=("use the buffer: reserve or wait for its blocks",),
    )


def pipe_ends(net: str, send: Unit, receive: Unit, site: Site | None) -> Diagnostic:
    return _of(
        codes.BLOCK_THREADS,
        send,
        f"sends and receives through `{net}` stand on different threads, and these use one block",
        "this sends",
        labels=[
            Label(receive.span, "this receives"),
            *([Label(site.span, "the block")] if site is not None else []),
        ],
        helps=("load into one buffer and send from it, and receive into another; a pipe whose "
               "range contains its source gives the source a block of its own",),
    )  # fmt: skip


def needed_elsewhere(unit: Unit, title: str, source: Unit, its_title: str) -> Diagnostic:
    """`source` gave a value that is known on its own thread only."""
    return _of(
        codes.NEEDED_ELSEWHERE,
        unit,
        f"{title} would need a value that only {its_title} knows",
        f"needed on {title}",
        labels=[Label(source.span, f"made on {its_title}")],
        helps=("hand it over through a dataflow buffer: write it into a block there, wait for the "
               "block here",),
    )  # fmt: skip


def made_in_loop(unit: Unit) -> Diagnostic:
    return _of(
        codes.COMPOSITION if unit.expansion is not None else codes.OUTSIDE_OPERATION,
        unit,
        "dataflow buffers, pipe nets and semaphores are made once, before the kernels run",
        "this is made in a loop, or depends on the node",
        helps=("make it before the loop, from tensors, constants and grid_size()",),
    )


def not_known_before(unit: Unit) -> Diagnostic:
    return _of(
        codes.COMPOSITION,
        unit,
        f"which one is given for `{unit.argument}` is not known before the kernels run",
        helps=("write one call for each buffer, net or tensor",),
    )


def name_used_again(unit: Unit, name: str, other: Unit) -> Diagnostic:
    return _of(
        codes.WRONG_ARGUMENT,
        unit,
        f"`{name}` stands for a buffer, net or semaphore, and later for something else",
        labels=[Label(other.span, "here")],
        helps=("give the other one a name of its own",),
    )
