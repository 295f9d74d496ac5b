"""Names that do not exist: the nearest that do, and what is written here for other languages'."""

from __future__ import annotations

import pytest
import ttnn

import ttl
from ttl.diagnostics.names import OTHER_LANGUAGES

CASES = {
    "program_id": (ttl, "ttl.node("),
    "sum": (ttl.math, "ttl.math.reduce_sum(x, dims=[-1])"),
    "mean": (ttl, "ttl.math.reduce_mean("),
    "reshape": (ttl.math, "ttl.math.squeeze()"),
    "load": (ttl, "ttl.copy(tensor[row, column], block)"),
    "store": (ttl, "block.store(expression)"),
    "exp": (ttl.block, "write ttl.math.exp()"),
    "reduce_summ": (ttl, "`reduce_sum`"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_meant(name: str) -> None:
    space, wanted = CASES[name]
    with pytest.raises(ttl.TTLError) as caught:
        getattr(space, name)
    assert wanted in caught.value.diagnostics[0].helps[0]


@pytest.mark.parametrize(("name", "lists_names"), [("program_id", False), ("nodes", True)])
def test_names_are_listed_where_it_is_not_known_what_to_write(name: str, lists_names: bool) -> None:
    with pytest.raises(ttl.TTLError) as caught:
        getattr(ttl, name)
    notes = caught.value.diagnostics[0].notes
    assert any(note.startswith("it has: ") for note in notes) is lists_names


def test_names_of_other_languages_are_not_those_of_this_one() -> None:
    assert OTHER_LANGUAGES.keys().isdisjoint(ttl.__all__)


def test_names_of_other_languages_are_not_those_of_ttnn() -> None:
    with pytest.raises(ttl.TTLError) as caught:
        ttnn.program_id  # noqa: B018
    assert "ttl.node" not in str(caught.value)


@pytest.mark.parametrize("name", ["__test__", "_mock_name"])
def test_what_tools_look_for_is_compared_with_no_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ttl.diagnostics.names.near_names", None)
    assert not hasattr(ttl, name)
