"""Commands of an installation. They are outside the package `ttl`, so that they can report when
another distribution has overwritten or removed files of that package.
"""

from __future__ import annotations

import sys
from importlib import import_module


def ttl() -> int:
    return _run("main")


def simulator() -> int:
    return _run("simulator_main")


def stats() -> int:
    return _run("stats_main")


def opt() -> int:
    return _run("opt_main")


def setup() -> int:
    return _run("setup_main")


def _run(name: str) -> int:
    try:
        status: int = getattr(import_module("ttl.cli"), name)()
    except (AttributeError, ImportError) as error:
        from _pyttlang_installation import damage  # reads the installed distributions: 20 ms

        found = damage()
        if not found:
            raise
        print(f"ttl cannot start: {error}\n{found}", file=sys.stderr)
        return 1
    return status
