"""Errors of the embedded ttnn, which point at the call in the user's program.

Programs catch them like the real ttnn's: it raises a TypeError for a call that it does not
understand, an IndexError for an index that is out of range, and a RuntimeError for other checks of
its operations.
"""

from __future__ import annotations

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span


class RefusedError(UsageError, RuntimeError):
    """An operation cannot do this with its arguments."""


class WrongCallError(UsageError, TypeError):
    """There is no such call: an argument is missing, unknown or of the wrong type."""


class OutOfRangeError(UsageError, IndexError):
    """There is no element of this index; it also ends a loop over a tensor."""


def refused(broken: RuleBroken) -> RefusedError:
    return RefusedError(broken.at(calling_span()))


def wrong(message: str, help_text: str = "") -> RefusedError:
    """Make the error for a wrong argument; the help says what to write instead."""
    return refused(_broken(message, help_text))


def not_on_device(call: str) -> RefusedError:
    return wrong(
        f"{call} of a tensor in the memory of the host",
        "make it with device=, or move it with ttnn.to_device(tensor, device)",
    )


def wrong_call(message: str, help_text: str = "") -> WrongCallError:
    return WrongCallError(_broken(message, help_text).at(calling_span()))


def wrong_type(name: str, value: object, wanted: str, help_text: str = "") -> WrongCallError:
    return wrong_call(f"{name}={_shown(value)}: not {wanted}", help_text)


def out_of_range(message: str) -> OutOfRangeError:
    return OutOfRangeError(_broken(message, "").at(calling_span()))


def _broken(message: str, help_text: str) -> RuleBroken:
    return RuleBroken(codes.TTNN_ARGUMENT, message, helps=(help_text,) if help_text else ())


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"<{type(value).__name__}>"
