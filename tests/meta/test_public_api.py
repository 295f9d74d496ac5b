"""What others rely on, beside the list of it that is checked in (docs/reference/compatibility.md).

A name that goes away, or a code that means something else, fails here: it needs the path that
docs/reference/compatibility.md describes. `pytest --update-golden tests/meta/test_public_api.py`
writes the list again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import ttl
from ttgraph.flatbuffer.schema import VERSION
from ttl.artifact import FORMAT_VERSIONS
from ttl.cli import module_of
from ttl.cli.verbs import VERBS
from ttl.config import VARIABLES
from ttl.diagnostics.catalogue import CATALOGUE
from ttl.semantics.ops import BLOCK_OPS
from ttl.trace import EventKind

# What the page calls each kind of line.
WORDS = {
    "name": "names: ",
    "function": "`ttl.math.*`",
    "command": "commands",
    "option": "options",
    "variable": "variables of the environment",
    "code": "codes of diagnostics",
    "artifact": "the artifact",
    "flatbuffer": "`.ttnn` files",
    "trace": "traces",
}
LIST = Path(__file__).with_name("public_api.txt")


def options_of(verb: str) -> Iterator[str]:
    parser = argparse.ArgumentParser(add_help=False)
    module_of(verb).add_arguments(parser)
    for action in parser._actions:
        yield from action.option_strings


def public() -> Iterator[str]:
    yield from (f"name ttl.{name}" for name in ttl.__all__)
    for module in ("tt_torch", "ttl.testing", "pykernel.d2m_api"):
        names = import_module(module).__all__
        yield from (f"name {module}.{name}" for name in names)
    yield from (f"function {name}" for name in BLOCK_OPS)
    for verb in VERBS:
        yield f"command ttl {verb}"
        yield from (f"option ttl {verb} {option}" for option in options_of(verb))
    yield from (f"variable {name}" for name in VARIABLES)
    yield from (f"code {code.code} {code.slug}" for code in CATALOGUE.values())
    yield from (f"artifact format {version}" for version in FORMAT_VERSIONS)
    yield "flatbuffer version {major}.{minor}.{patch}".format(**VERSION)
    yield from (f"trace event {kind.value}" for kind in EventKind)


def test_the_list_is_what_there_is(request: pytest.FixtureRequest) -> None:
    lines = sorted(set(public()))
    if request.config.getoption("--update-golden"):
        LIST.write_text("".join(f"{line}\n" for line in lines))
    listed = LIST.read_text().splitlines()
    gone = sorted({*listed} - {*lines})
    new = sorted({*lines} - {*listed})
    assert not gone, f"others rely on it: {gone}"
    assert not new, f"not in the list yet: {new}"


def test_the_page_names_what_is_listed() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/compatibility.md").read_text()
    kinds = {line.split()[0] for line in LIST.read_text().splitlines()}
    assert kinds == WORDS.keys()
    assert "tests/meta/public_api.txt" in page
    assert [word for word in WORDS.values() if word not in page] == []
