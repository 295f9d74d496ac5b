"""The releases and waits that are supplied, and those that are missing on some paths, in words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ttl.diagnostics import Diagnostic, Label, RuleBroken, Span, UsageError, codes
from ttl.semantics.function_source import Definition

from .implicit_sync import CodePoints, Leak, Repair, RepairKind


def supplied_note(operation: str, found: Iterable[CodePoints]) -> Diagnostic | None:
    """One note for an operation: what was supplied, and where."""
    labels = [_repair_label(points, repair) for points in found for repair in points.points.repairs]
    if not labels:
        return None
    labels = sorted(labels, key=lambda label: label.span)
    calls = "1 call that was" if len(labels) == 1 else f"{len(labels)} calls that were"
    return Diagnostic(
        codes.SUPPLIED,
        f"`{operation}` leaves out {calls} supplied",
        labels[0],
        tuple(labels[1:]),
        helps=("write them where the marks say, or run with --strict to make each an error",),
    )


def refuse_repairs(found: Iterable[CodePoints]) -> None:
    """--strict: every repair is an error, all of them at once."""
    diagnostics = []
    for points in found:
        for repair in points.points.repairs:
            label = _repair_label(points, repair)
            broken = RuleBroken(
                codes.LEFT_OUT,
                f"{_handle(repair)} is not {_finished(repair)}",
                helps=(_advice(repair),),
            )
            diagnostics.append(broken.at(label.span, f"without --strict: {label.text}"))
    if diagnostics:
        raise UsageError(*sorted(diagnostics, key=_primary_span))


def _primary_span(diagnostic: Diagnostic) -> Span:
    assert diagnostic.primary is not None
    return diagnostic.primary.span


def refuse_leaks(found: Iterable[CodePoints]) -> None:
    """A handle that is released or waited for on some paths only is an error, always."""
    leaks = [_leak(points, leak) for points in found for leak in points.points.leaks]
    if leaks:
        raise UsageError(*leaks)


def _leak(points: CodePoints, leak: Leak) -> Diagnostic:
    finished = "waited for" if leak.is_transfer else "released"
    broken = RuleBroken(
        codes.RELEASED_ON_SOME_PATHS,
        f"`{leak.name}` is {finished} on some paths only",
        helps=(
            f"make every path from here reach its own {'wait' if leak.is_transfer else 'release'},"
            " or leave it out everywhere and let it be supplied",
            *(("give each of them a name of its own",) if leak.rebound is not None else ()),
        ),
        secondary=tuple(_leak_labels(points, leak, finished)),
    )
    what = "this transfer" if leak.is_transfer else "this block"
    return broken.at(points.span(leak.site), f"there is a path on which {what} is not {finished}")


def _leak_labels(points: CodePoints, leak: Leak, finished: str) -> Iterator[Label]:
    if leak.rebound is not None:
        yield Label(points.span(leak.rebound), f"`{leak.name}` is another one from here on")
    yield Label(points.span(leak.finish), f"{finished} here")


def _repair_label(points: CodePoints, repair: Repair) -> Label:
    return Label(points.span(repair.site), f"{_finished(repair)} {_place(repair)}")


def _place(repair: Repair) -> str:
    if repair.kind is RepairKind.WAIT_AT_ONCE:
        return "at once"
    body = repair.body
    if isinstance(body, Definition):
        return f"at the end of `{body.name}`"
    return f"at the end of the body of the loop in line {body.lineno}"


def _finished(repair: Repair) -> str:
    if repair.kind is not RepairKind.RELEASE:
        return "waited for"
    return "pushed" if _acquire(repair) == "reserve" else "popped"


def _acquire(repair: Repair) -> str:
    assert isinstance(repair.site.func, ast.Attribute)
    return repair.site.func.attr


def _handle(repair: Repair) -> str:
    if repair.kind is RepairKind.WAIT_AT_ONCE:
        return "this transfer"
    return f"the {'block' if repair.kind is RepairKind.RELEASE else 'transfer'} `{repair.name}`"


def _advice(repair: Repair) -> str:
    if repair.kind is RepairKind.WAIT_AT_ONCE:
        return "write ttl.copy(...).wait()"
    if repair.kind is RepairKind.WAIT:
        return f"call {repair.name}.wait()"
    release = "push" if _acquire(repair) == "reserve" else "pop"
    return f"call {repair.name}.{release}(), or acquire the block in a `with`"
