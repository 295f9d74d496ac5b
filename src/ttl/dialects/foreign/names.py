"""The kept operations, attributes and types of other tools, by their full names."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def _tables() -> dict[str, frozenset[str]]:
    """Read names.txt: `operations` and `attributes`."""
    found: dict[str, set[str]] = {"operations": set(), "attributes": set()}
    kind = dialect = ""
    for line in files(__package__).joinpath("names.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            found[kind].update(f"{dialect}.{word}" for word in line.split())
        elif not line.startswith("#"):
            kind, dialect = line.split()
    return {kind: frozenset(names) for kind, names in found.items()}


def is_operation(name: str) -> bool:
    return name in _tables()["operations"]


def is_attribute(name: str) -> bool:
    """Is it an attribute or a type? Some names are both."""
    return name in _tables()["attributes"]
