"""The errors of the embedded ttnn: each points at the call in the user's program."""

from __future__ import annotations

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span


def wrong(message: str, help_text: str = "") -> UsageError:
    """A call was given something it cannot use; the help says what to write instead."""
    helps = (help_text,) if help_text else ()
    return UsageError(RuleBroken(codes.WRONG_ARGUMENT, message, helps=helps).at(calling_span()))


def wrong_type(name: str, value: object, wanted: str, help_text: str = "") -> UsageError:
    return wrong(f"{name}={_shown(value)}: not {wanted}", help_text)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"<{type(value).__name__}>"
