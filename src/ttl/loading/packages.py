"""The packages of this distribution, each of which may import those before it."""

from __future__ import annotations

import os

SOURCES = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
PACKAGES = ("ttl", "pykernel", "ttgraph", "tt_torch")
FOLDERS = tuple(os.path.join(SOURCES, name) for name in PACKAGES)


def is_ours(module: str) -> bool:
    """Return whether a module, given by its full name, is in one of the packages."""
    return module.partition(".")[0] in PACKAGES
