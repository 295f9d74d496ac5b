"""Mistakes in pykernel programs: diagnostics that are also Python's TypeError or ValueError."""

from __future__ import annotations

from ttl.diagnostics import Diagnostic, RuleBroken, Span, UsageError, codes
from ttl.diagnostics.diagnostic import Code


class WrongType(UsageError, TypeError):
    """Something of another type than is needed."""


class WrongValue(UsageError, ValueError):
    """A value that is not allowed."""


class NotImplementedYet(UsageError, NotImplementedError):
    """An argument that has a name and no meaning yet."""


def wrong_type(message: str, help_text: str, span: Span | None) -> WrongType:
    return WrongType(diagnostic(message, help_text, span))


def wrong_value(
    message: str, help_text: str, span: Span | None, code: Code = codes.WRONG_ARGUMENT
) -> WrongValue:
    return WrongValue(diagnostic(message, help_text, span, code))


def diagnostic(
    message: str, help_text: str, span: Span | None, code: Code = codes.WRONG_ARGUMENT
) -> Diagnostic:
    return RuleBroken(code, message, helps=(help_text,)).at(span)
