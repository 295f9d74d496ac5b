"""Operations that are called again see everything that has changed since, on every backend."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.warm import MOST, PAIRS, SOURCES, check_warm, program


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(PAIRS), st.lists(st.integers(0, MOST), min_size=2, max_size=4))
def test_a_warm_call_sees_what_has_changed(pair: tuple[str, str], values: list[int]) -> None:
    assert not check_warm(program(*pair, values)).failure


@pytest.mark.parametrize("source", SOURCES)
def test_a_body_sees_what_has_changed(source: str) -> None:
    """Twice the same, so that the second call may skip the body, and then something else."""
    assert not check_warm(program(source, "body", [1, 1, 2, 0, 1])).failure


@pytest.mark.full
@pytest.mark.parametrize("source, place", [pair for pair in PAIRS if pair[1] != "body"])
def test_all_places_see_what_has_changed(source: str, place: str) -> None:
    assert not check_warm(program(source, place, [1, 1, 2, 1, 3, 0])).failure
