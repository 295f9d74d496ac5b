"""Finds the source of this installation, the command for its extras, and damage to it.

This module is outside of the package `ttl`: it must work when another distribution has overwritten
or removed files of that package.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import Distribution, PackagePath

COMMANDS = "_pyttlang_commands"  # no other distribution has commands from this module
PACKAGE_RECORD = "ttl/__init__.py,"  # start of a line in RECORD of a wheel with the package


def own_distribution() -> Distribution | None:
    """Find our installed distribution; None if only the sources are on the path."""
    for entry_point in metadata.entry_points(group="console_scripts", name="ttl"):
        if entry_point.module == COMMANDS:
            return entry_point.dist
    return None


def install_extra(extra: str) -> str:
    """Return the command that adds an extra to this installation."""
    return f"pip install '{_source(own_distribution())}[{extra}]'"


def _source(ours: Distribution | None) -> str:
    """Name the source for pip: `.` for a clone, else our name."""
    if ours is None or _origin(ours).get("dir_info") is not None:
        return "."
    return ours.name


def _origin(ours: Distribution) -> dict[str, Any]:
    """Read pip's note of a folder or a file; empty for an installation from an index."""
    origin: dict[str, object] = json.loads(ours.read_text("direct_url.json") or "{}")
    return origin


def reinstall() -> str:
    """Return the command that puts back all files of this installation."""
    ours = own_distribution()
    source = _source(ours)
    if ours is not None and source != ".":
        source = str(_origin(ours).get("url") or f"{ours.name}=={ours.version}")
    elif ours is not None and _origin(ours)["dir_info"].get("editable"):
        source = "--editable ."
    return f"pip install --force-reinstall --no-deps {source}"


def other_owners() -> list[Distribution]:
    """Find other installed distributions that have the package `ttl`."""
    ours = own_distribution()
    own_name = ours.name if ours is not None else ""
    return [
        each
        for each in metadata.distributions()
        if each.name != own_name and f"\n{PACKAGE_RECORD}" in f"\n{each.read_text('RECORD')}"
    ]


def lost_files() -> list[str]:
    """List our files that are missing, or that are not as we installed them; commands last."""
    ours = own_distribution()
    files = (ours.files if ours is not None else None) or []
    return [*sorted(_changed(files)), *_lost_commands(files)]


def _changed(files: list[PackagePath]) -> Iterator[str]:
    for file in files:
        if file.hash is None or file.suffix not in (".py", ".so", ".json"):
            continue
        path = Path(str(file.locate()))
        if not path.is_file() or _digest(path, file.hash.mode) != file.hash.value:
            yield str(file)


def _lost_commands(files: list[PackagePath]) -> list[str]:
    """Return missing commands if others of ours exist; a copy of site-packages has none."""
    commands = [file for file in files if file.parent.name == "bin"]
    gone = [str(file) for file in commands if not Path(str(file.locate())).is_file()]
    return sorted(gone) if len(gone) < len(commands) else []


def _digest(path: Path, algorithm: str) -> str:
    found = hashlib.new(algorithm, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode()


def damage() -> str:
    """Say who else has the package `ttl` and what to type; empty if nothing is damaged."""
    others, lost = other_owners(), lost_files()
    if not others and not lost:
        return ""
    ours = own_distribution()
    own_name = f"{ours.name} {ours.version}" if ours is not None else "this clone"
    names = [own_name, *(f"{each.name} {each.version}" for each in others)]
    lines = [f"the package `ttl` belongs to {' and '.join(names)}" if others else ""]
    if lost:
        shown = f"{lost[0]} and {len(lost) - 1} more" if len(lost) > 1 else lost[0]
        lines.append(f"files of {own_name} are missing or overwritten: {shown}")
    lines += [f"to keep {own_name}, type:", *(f"  {each}" for each in repair(others))]
    return "\n".join(each for each in lines if each)


def repair(others: list[Distribution]) -> list[str]:
    """List the commands that leave only our package."""
    return [*(f"pip uninstall --yes {each.name}" for each in others), reinstall()]
