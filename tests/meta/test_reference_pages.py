"""The generated pages of docs/reference say what the sources say."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import (
    coming_page,
    counts_page,
    counts_table,
    flatbuffer_page,
    operators_page,
    report,
    severity_page,
    ttnn_page,
)
from conformance.compiled import EXCEPTIONS
from sampling import sample_seed
from ttl.host.counts import COLUMNS


def test_every_rule_has_a_test_and_every_test_a_rule() -> None:
    assert report.problems() == []


def test_the_conformance_page_is_up_to_date() -> None:
    assert report.is_up_to_date(), "run python tests/conformance/report.py"


def test_the_page_of_operators_is_up_to_date() -> None:
    assert operators_page.is_up_to_date(), "run python tests/conformance/operators_page.py"


def test_the_page_of_ttnn_is_up_to_date() -> None:
    assert ttnn_page.is_up_to_date(), "run python tests/conformance/ttnn_page.py"


def test_the_page_of_the_flatbuffer_is_up_to_date() -> None:
    assert flatbuffer_page.is_up_to_date(), "run python tests/conformance/flatbuffer_page.py"


def test_the_page_for_those_who_come_from_tt_lang_is_up_to_date() -> None:
    assert coming_page.is_up_to_date(), "run python tests/conformance/coming_page.py"


def test_the_page_of_counts_is_up_to_date() -> None:
    is_new = counts_page.is_up_to_date(sample_seed())
    assert is_new, "run python tests/conformance/counts_page.py"


def test_no_program_makes_more_calls_than_the_public_compiler_emits() -> None:
    """But for those that the page names, with the reason."""
    for name, size in counts_table.sampled_rows(sample_seed()):
        is_more = "**" in counts_table.line_of(name, size)
        assert not is_more or name in counts_table.MORE, f"{name} {size}"


def test_the_page_of_severities_is_up_to_date() -> None:
    assert severity_page.is_up_to_date(), "run python tests/conformance/severity_page.py"
    assert severity_page.unused_effects() == set()


@pytest.mark.parametrize("example", counts_page.PUBLIC)
def test_no_example_makes_more_calls_than_the_public_compiler_emits(example: str) -> None:
    public = counts_page.PUBLIC[example]
    _, counts = counts_page.measured(example)
    share = counts.result_pages / public.pages
    assert share > 0
    more = tuple(
        column
        for (column, count), theirs in zip(counts.columns.items(), public.calls, strict=True)
        if theirs is not None and count > theirs * share
    )
    assert more == public.more  # the page says why


def test_every_example_is_counted() -> None:
    examples = {path.stem for path in (counts_page.ROOT / "examples").glob("*.py")}
    assert examples - {"sample_inputs"} == set(counts_page.PUBLIC)
    unknown = {
        column
        for public in counts_page.PUBLIC.values()
        for column, theirs in zip(COLUMNS, public.calls, strict=True)
        if theirs is None
    }
    assert unknown <= {"barriers"}


def test_every_section_has_a_folder() -> None:
    sections = {rule.section for rule in report.rules()}
    folders = {path.parent.name for path in report.HERE.glob("*/test_*.py")}
    assert folders == sections


TESTS = """
import pytest

@pytest.mark.rule("known", "unknown")
def test_marked(): pass

def test_unmarked(): pass
"""


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[one]\nknown = "A."\nforgotten = "B."\n')
    (tmp_path / "test_it.py").write_text(TESTS)
    monkeypatch.setattr(report, "HERE", tmp_path)
    monkeypatch.setattr(report, "ROOT", tmp_path)
    assert report.problems() == [
        "rule `forgotten` has no test",
        "test_it.py::test_unmarked names no rule",
        "test_it.py::test_marked names `unknown`, which is not in rules.toml",
    ]
    monkeypatch.setattr(report, "PAGE", tmp_path / "page.md")
    assert not report.is_up_to_date()
    report.PAGE.write_text(report.page())
    assert report.is_up_to_date()
    (tmp_path / "rules.toml").write_text('[one]\nknown = "Another."\n')
    assert not report.is_up_to_date()


def test_what_is_not_compiled_is_a_conformance_test() -> None:
    known = {test.name for test in report.marked_tests()}
    assert {name.partition("[")[0] for name in EXCEPTIONS} <= known
