"""A diagnostic is data; how it looks is decided in render.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .span import Span


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Blame(Enum):
    """Whose move it is."""

    USER = "the program is wrong"
    UNDEFINED = "the language leaves this undefined"
    UNSUPPORTED = "not supported by choice; an alternative is named"
    NOT_YET = "not implemented yet"
    INTERNAL = "a fault in pyttl"


@dataclass(frozen=True, slots=True)
class Code:
    """One entry of the catalogue."""

    code: str
    slug: str
    severity: Severity
    blame: Blame
    explanation: str


@dataclass(frozen=True, slots=True)
class Label:
    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong, where, why, and what to do about it."""

    code: Code
    message: str
    primary: Label | None = None
    secondary: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        return self.code.severity
