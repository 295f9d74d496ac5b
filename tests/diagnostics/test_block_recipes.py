"""The recipes for parts and neighbors of blocks (TTL1041) compute what they promise."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from diagnostics.test_pages import cases
from golden.example_programs import load_file
from ttl.config import process_variables
from ttl.diagnostics.pages import PAGES


def fold(tiles: Any) -> Any:
    return tiles[:1] + tiles[1:]


def blur(tiles: Any) -> Any:
    around = np.concatenate([tiles[:1], tiles, tiles[-1:]])
    return around[:-2] + around[1:-1] + around[2:]


def change(tiles: Any) -> Any:
    return tiles - np.concatenate([np.zeros_like(tiles[:1]), tiles[:-1]])


RECIPES = {"fold": fold, "blur": blur, "change": change}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_it_computes_what_the_page_says(
    recipe: Callable[[Any], Any], backend: str, tmp_path: Path
) -> None:
    (program,) = [
        each.right
        for each in cases(PAGES / "TTL1041.md")
        if each.right is not None and f"def {recipe.__name__}(" in each.right
    ]
    path = tmp_path / "program.py"
    path.write_text(program)
    linecache.clearcache()
    with process_variables({"TTL_BACKEND": backend, "TTL_STRICT": "1"}):
        made = load_file(path)
    values = made.values.astype(np.float32).reshape(-1, 32, 32)
    assert values.any()
    assert np.array_equal(ttl.to_numpy(made.y).reshape(-1, 32, 32), recipe(values))
