"""The exceptions that cross the border to the user's program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType

from .diagnostic import Diagnostic
from .render import render_all


class TTLError(Exception):
    """One or more diagnostics that stop the program."""

    def __init__(self, *diagnostics: Diagnostic):
        assert diagnostics
        super().__init__(*diagnostics)
        self.diagnostics: Sequence[Diagnostic] = diagnostics

    def __str__(self) -> str:
        return render_all(self.diagnostics)


class UsageError(TTLError):
    """The language, the tools or the environment were used wrongly."""


class CompileError(TTLError):
    """The operation cannot be compiled."""


class KernelFault(TTLError):
    """A running kernel did something illegal, or no kernel can go on."""


class InternalError(TTLError):
    """A fault in pyttl itself."""


def install_exception_hook() -> None:
    """Let an uncaught TTLError end the program with its text instead of a traceback."""
    if getattr(sys.excepthook, "shows_ttl_errors", False):
        return
    previous = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, TTLError):
            print(error, file=sys.stderr)
        else:
            previous(kind, error, traceback)

    hook.shows_ttl_errors = True  # type: ignore[attr-defined]
    sys.excepthook = hook
