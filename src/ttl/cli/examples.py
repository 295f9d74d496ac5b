"""ttl examples [-t FOLDER] [--force]"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import ttl
from ttl.diagnostics import codes, usage_error, writing

DEFAULT_FOLDER = "ttl-examples"
COPIED = (".py", ".ipynb")  # not Python's caches beside them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-t", "--target", metavar="FOLDER", default=DEFAULT_FOLDER, help="where to copy them to"
    )
    parser.add_argument("--force", action="store_true", help="overwrite files that are there")


def run(options: argparse.Namespace) -> int:
    source, target = find_examples(), Path(options.target)
    found = (file for file in sorted(source.rglob("*")) if file.suffix in COPIED)
    files = [file.relative_to(source) for file in found]
    present = [name for name in files if (target / name).exists()]
    if present and not options.force:
        raise usage_error(
            codes.WRONG_OPTION,
            f"{target / present[0]} is there already",
            "write --force to overwrite it, or -t FOLDER to copy elsewhere",
        )
    with writing(target):
        for name in files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)
    print(f"{len(files)} files copied to {target}; try: ttl run {target / 'elementwise.py'}")
    return 0


def find_examples() -> Path:
    """Find the examples in the installed package, or at the root of an editable install."""
    package = Path(ttl.__file__).parent
    installed = package / "examples"
    return installed if installed.is_dir() else package.parents[1] / "examples"
