"""The releases and waits that are supplied, in words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ttl.diagnostics import Diagnostic, Label, UsageError, codes

from .implicit_sync import CodePoints

if TYPE_CHECKING:
    from .supplies import Supply


def supplied_note(operation: str, found: Iterable[CodePoints]) -> Diagnostic | None:
    """One note for an operation: what was supplied, and where."""
    labels = sorted((label for label, _ in _labels(found)), key=lambda label: label.span)
    if not labels:
        return None
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
    for label, supply in sorted(_labels(found), key=lambda each: each[0].span):
        broken = codes.LEFT_OUT.broken(
            f"{_handle(supply)} is not {_finished(supply)}{_where_only(supply)}", _advice(supply)
        )
        diagnostics.append(broken.at(label.span, f"without --strict: {label.text}"))
    if diagnostics:
        raise UsageError(*diagnostics)


def _labels(found: Iterable[CodePoints]) -> Iterator[tuple[Label, Supply]]:
    """One for each acquire and copy, with all places at which it is finished."""
    for points in found:
        by_site: dict[tuple[ast.expr, bool], list[Supply]] = {}
        for supply in points.supplies:
            by_site.setdefault((supply.site, supply.is_wait), []).append(supply)
        for (site, _), several in by_site.items():
            places = dict.fromkeys(_place(supply) for supply in several)
            text = f"{_finished(several[0])} {' or '.join(places)}"
            yield Label(points.span(site), text), several[0]


def _place(supply: Supply) -> str:
    if supply.is_at_once:
        return "at once"
    statement = supply.place.statement
    if supply.place.where == "else":
        return f"in an `else` of the `if` in line {statement.lineno}"
    if supply.place.where == "before":
        return f"before line {statement.lineno}"
    return f"after line {statement.end_lineno}"



def _finished(supply: Supply) -> str:
    if supply.is_wait:
        return "waited for"
    return {"reserve": "pushed", "wait": "popped"}.get(_method(supply), "released")


def _method(supply: Supply) -> str:
    called = supply.site.func if isinstance(supply.site, ast.Call) else None
    return called.attr if isinstance(called, ast.Attribute) else ""


def _handle(supply: Supply) -> str:
    kind = "transfer" if supply.is_wait else "block"
    return f"the {kind} `{_name(supply)}`" if supply.names else f"this {kind}"


def _name(supply: Supply) -> str:
    return min((name.removeprefix(".") for name in supply.names), default="")


def _where_only(supply: Supply) -> str:
    return " on every path" if supply.place.where == "else" else ""


def _advice(supply: Supply) -> str:
    name = _name(supply)
    if supply.is_wait:
        return f"call {name}.wait()" if name else "write ttl.copy(...).wait()"
    release = {"reserve": "push", "wait": "pop"}.get(_method(supply), "release")
    if name:
        return f"call {name}.{release}(), or acquire the block in a `with`"
    return f"give the block a name and call {release}(), or acquire it in a `with`"
