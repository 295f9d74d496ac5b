"""Columns are counted in characters, exactly, and frames are the user's."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ttl.diagnostics import Diagnostic, Label, Span, codes, render_text
from ttl.diagnostics.frames import calling_span, is_user_file, traceback_spans

SOURCE = """\
def plain():
    x = 1 + fail()

def after_umlauts():
    größe = "äöü→" ; x = fail() + 1

def over_lines():
    return [
        1,
        fail(
            2
        ),
    ]
"""


def span_of_failure(tmp_path: Path, function: str) -> tuple[Span, str]:
    file = tmp_path / "program.py"
    file.write_text(SOURCE)

    def fail(*_: object) -> None:
        raise ValueError

    names: dict[str, object] = {"fail": fail}
    exec(compile(SOURCE, str(file), "exec"), names)
    with pytest.raises(ValueError) as caught:
        names[function]()  # type: ignore[operator]
    span = next(s for s in traceback_spans(caught.value.__traceback__) if s.file == str(file))
    return span, str(file)


@pytest.mark.parametrize(
    ("function", "position"),
    [
        ("plain", (2, 13, 2, 19)),
        ("after_umlauts", (5, 26, 5, 32)),
        ("over_lines", (10, 9, 12, 10)),
    ],
)
def test_the_span_of_a_call(
    tmp_path: Path, function: str, position: tuple[int, int, int, int]
) -> None:
    span, file = span_of_failure(tmp_path, function)
    assert (span.line, span.column, span.end_line, span.end_column) == position
    assert span.file == file


def test_the_mark_stands_under_the_call_after_non_ascii_text(tmp_path: Path) -> None:
    span, _ = span_of_failure(tmp_path, "after_umlauts")
    text = render_text(Diagnostic(codes.KERNEL_EXCEPTION, "it failed", Label(span, "here")))
    source, marks = text.splitlines()[3:5]
    assert source == '5 |     größe = "äöü→" ; x = fail() + 1'
    assert source[marks.index("^") : marks.rindex("^") + 1] == "fail()"


def test_the_calling_span_is_the_callers() -> None:
    span = calling_span()
    assert span is not None
    line = sys._getframe().f_lineno - 2
    assert (span.file, span.line, span.column) == (__file__, line, 12)


def test_libraries_are_not_the_users_code() -> None:
    assert is_user_file(__file__)
    assert not is_user_file(os.path.join(os.path.dirname(sys.executable), "ttl"))
    for module in (json, np, contextlib, sys.modules["ttl.diagnostics"]):
        assert not is_user_file(str(module.__file__))


def test_spans_of_a_traceback_skip_libraries_innermost_first() -> None:
    def parse() -> None:
        json.loads("{")

    with pytest.raises(json.JSONDecodeError) as caught:
        parse()
    spans = traceback_spans(caught.value.__traceback__)
    assert [Path(span.file).name for span in spans] == ["test_spans.py", "test_spans.py"]
    assert spans[0].line < spans[1].line
