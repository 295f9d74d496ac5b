"""A rule that was raised stays as it was; whoever knows more raises a copy."""

from __future__ import annotations

from contextvars import copy_context

import pytest

from ttl.diagnostics import (
    OBSERVER,
    CompileError,
    Diagnostic,
    Label,
    RuleBroken,
    Span,
    codes,
)
from ttl.diagnostics.frames import traceback_spans

PLACE = Span("program.py", 1, 1, 1, 5)


def broken() -> RuleBroken:
    return RuleBroken(codes.WRONG_ARGUMENT, "ttl.math.f() is wrong", helps=("ttl.math.f(1)",), n=1)


@pytest.mark.parametrize(
    ("change", "field", "expected"),
    [
        (lambda b: b.with_labels(Label(PLACE)), "secondary", (Label(PLACE),)),
        (lambda b: b.with_notes("a", "b"), "notes", ("a", "b")),
        (lambda b: b.with_helps("more"), "helps", ("ttl.math.f(1)", "more")),
        (lambda b: b.with_place("here"), "place", "here"),
        (lambda b: b.respelled("math.f(", "block.f("), "message", "ttl.block.f() is wrong"),
        (lambda b: b.respelled("math.f(", "block.f("), "helps", ("ttl.block.f(1)",)),
    ],
)
def test_copies(change, field: str, expected: object) -> None:
    first = broken()
    before = dict(vars(first))
    other = change(first)
    assert getattr(other, field) == expected
    assert vars(first) == before
    assert (other.code, other.facts, other.origin) == (first.code, {"n": 1}, first)
    assert str(other) == other.message


def test_a_copy_was_raised_where_the_first_was() -> None:
    try:
        raise broken()
    except RuleBroken as first:
        spans = traceback_spans(first.__traceback__)
        assert spans and traceback_spans(first.with_notes("a").__traceback__) == spans


def test_observers_hear_of_the_rules_of_their_context() -> None:
    heard: list[RuleBroken] = []

    def observed() -> RuleBroken:
        OBSERVER.set(heard.append)
        return broken().with_notes("a")

    found = copy_context().run(observed)
    broken()
    assert heard == [found.origin, found]


def test_a_note_for_all_diagnostics() -> None:
    error = CompileError(*[Diagnostic(codes.INTERNAL, text) for text in ("a", "b")])
    noted = error.with_note("more")
    assert isinstance(noted, CompileError)
    assert [each.notes for each in noted.diagnostics] == [("more",)] * 2
    assert [each.notes for each in error.diagnostics] == [()] * 2
