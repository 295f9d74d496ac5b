"""The chips' data: one schema, and what the rest of the tree takes from it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import ttl
from ttl.target import TARGETS, Target, load, of_all_chips

SOURCES = Path(ttl.__file__).parent


@pytest.mark.parametrize("name", TARGETS)
def test_every_chip_has_every_field(name: str) -> None:
    target = load(name)
    assert target.name == name
    for field in dataclasses.fields(Target):
        assert getattr(target, field.name) is not None
    assert (len(target.noc_columns), len(target.noc_rows)) == target.grid
    assert all(n <= most for n, most in zip(target.default_grid, target.grid, strict=True))


def test_what_fits_every_chip() -> None:
    assert of_all_chips("dram_alignment_bytes") == 64
    assert of_all_chips("dram_bytes", min) == 12 * 2**30


@pytest.mark.parametrize("field", ["l1_bytes", "dataflow_buffer_budget_bytes", "noc_burst_bytes"])
def test_numbers_of_the_chips_are_typed_once(field: str) -> None:
    numbers = {str(getattr(load(name), field)) for name in TARGETS}
    written = re.compile(rf"\b({'|'.join(numbers)})\b")
    for path in SOURCES.rglob("*"):
        if path.suffix in (".py", ".h", ".cpp"):
            assert not written.search(path.read_text(encoding="utf-8")), path
