"""docs/reference/artifact.md against what is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from golden.example_programs import OPERATIONS, compile_example
from ttl.artifact import CompiledOperation
from ttl.artifact.manifest import FORMAT_VERSIONS, MLIR_NAMES, to_json
from ttl.semantics.dtypes import DTYPES
from ttl.target import TARGETS
from ttl.target.data_formats import PAGE_BYTES
from unit.artifact.everything import BY_HAND, EVERYTHING

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "artifact.md").read_text()
ROWS = re.findall(r"^\| `([\w.\[\]]+)` \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
TYPES = {key: kind for key, kind, _ in ROWS}
MEANINGS = {key: meaning for key, _, meaning in ROWS}
SPAN = [str, int, int, int, int]


def fits(value: Any, kind: str) -> bool:
    """Is the value of a type of the page?"""
    if kind == "int or null":
        return value is None or type(value) is int
    if kind == "span or null":
        return value is None or [type(part) for part in value] == SPAN
    if kind == "[[string, int]]":
        return all([type(part) for part in pair] == [str, int] for pair in value)
    if kind == "[[int, span]]":
        return all(
            type(line) is int and [type(part) for part in span] == SPAN for line, span in value
        )
    if kind.startswith("["):
        return isinstance(value, list) and all(fits(one, kind[1:-1]) for one in value)
    return type(value) is {"int": int, "string": str, "bool": bool, "null": type(None)}[kind]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every key with a value that is neither an object nor a list of objects."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for one in value:
            yield from leaves(one, f"{path}[]")
    else:
        yield path, value


def operations() -> list[CompiledOperation]:
    return [EVERYTHING, BY_HAND, *(compile_example(name) for name in OPERATIONS)]


def is_in_page(path: str, value: Any) -> bool:
    """An empty list of objects has no keys: those below it are in the page."""
    if path in TYPES:
        return fits(value, TYPES[path])
    return value == [] and any(key.startswith(f"{path}[].") for key in TYPES)


@pytest.mark.parametrize("version", FORMAT_VERSIONS)
def test_every_key_is_in_the_page_and_has_its_type(version: int) -> None:
    for compiled in operations():
        for path, value in leaves(to_json(compiled, version)):
            assert is_in_page(path, value), (compiled.name, path, value)


def test_every_key_of_the_page_is_written() -> None:
    written = (leaves(to_json(compiled)) for compiled in (EVERYTHING, BY_HAND))
    assert set(TYPES) <= {path for each in written for path, _ in each}


def test_version_2_differs_in_one_key() -> None:
    first, second = (to_json(EVERYTHING, version) for version in FORMAT_VERSIONS)
    assert first.keys() - second.keys() == {"num_pipe_nets"}
    assert second.keys() <= first.keys()
    assert (first["format_version"], second["format_version"]) == FORMAT_VERSIONS


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("cb_configs[].data_format", set(PAGE_BYTES)),
        ("operand_metadata.dtypes", {MLIR_NAMES.get(name, name) for name in DTYPES}),
        ("pyttl.target", set(TARGETS)),
    ],
)
def test_the_names_of_the_page_are_those_of_the_tables(key: str, names: set[str]) -> None:
    assert set(re.findall(r"`(\w+)`", MEANINGS[key])) == names


@pytest.mark.parametrize(
    ("value", "kind", "answer"),
    [
        (1, "int", True),
        (True, "int", False),
        ("a", "[string]", False),
        ([[1], [2]], "[[int]]", True),
        ([[1], ["a"]], "[[int]]", False),
        (None, "span or null", True),
        (["f", 1, 1, 1], "span or null", False),
        ([[3, ["f", 1, 1, 1, 2]]], "[[int, span]]", True),
        ([[3, ["f", 1, 1, 1, None]]], "[[int, span]]", False),
    ],
)
def test_types_are_told_apart(value: Any, kind: str, answer: bool) -> None:
    assert fits(value, kind) is answer
