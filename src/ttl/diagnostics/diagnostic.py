"""A diagnostic is data; how it looks is decided in render.py."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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


class Effect(Enum):
    """What a program that gets a code does on the chip; this decides the severity."""

    WRONG_DATA = "the chip would compute wrong data"
    RACE = "the result would depend on who is faster"
    HANG = "the chip would hang"
    REFUSED = "the chip or its tools refuse it"
    NO_MEANING = "it has no meaning in the language"
    NOT_RUN = "pyttl, or this machine, cannot run it"
    ASKED = "the program is right; --strict or -W error asked for more"
    HARMLESS = "the chip runs it rightly; it may be a mistake all the same"
    UNCERTAIN = "it may be right; what decides that is not known here"
    SIMULATED = "the simulator runs it; it does not compile"
    ACCEPTED = "what is meant is clear, and the chip runs it rightly"
    REMARK = "nothing is wrong as far as is known"

    @property
    def severity(self) -> Severity:
        if self in (Effect.HARMLESS, Effect.UNCERTAIN, Effect.SIMULATED):
            return Severity.WARNING
        return Severity.NOTE if self in (Effect.ACCEPTED, Effect.REMARK) else Severity.ERROR

    @property
    def may_be_error(self) -> bool:
        """Do --strict and -W error make it an error, where it is none?"""
        return self.severity is Severity.WARNING or self is Effect.ACCEPTED


@dataclass(frozen=True, slots=True)
class Code:
    """One entry of the catalogue."""

    code: str
    slug: str
    blame: Blame
    effect: Effect
    explanation: str
    milder: Effect | None = None  # where it does less harm, or it is not known whether it does any

    @property
    def severity(self) -> Severity:
        return self.effect.severity

    @property
    def mild(self) -> Code:
        """The same code where its effect is the milder one."""
        assert self.milder is not None
        return replace(self, effect=self.milder)

    @property
    def is_fault(self) -> bool:
        """Is something wrong with the program, or with what runs it?"""
        return self.severity is Severity.ERROR and self.effect is not Effect.ASKED


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
    is_made_error: bool = False  # by --strict or -W

    @property
    def severity(self) -> Severity:
        return Severity.ERROR if self.is_made_error else self.code.severity

    def as_error(self) -> Diagnostic:
        return replace(self, is_made_error=True)
