"""Diagnostics as data, which render.py shows; and broken rules, which become diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from .span import Span


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Blame(Enum):
    """The party that has to act on a diagnostic."""

    USER = "the program is wrong"
    UNDEFINED = "the language leaves this undefined"
    UNSUPPORTED = "not supported by choice; an alternative is named"
    NOT_YET = "not implemented yet"
    INTERNAL = "a fault in pyttlang"


class ChipEffect(Enum):
    """The effect on the chip of a program that gets a code, which decides the severity."""

    WRONG_DATA = "the chip would compute wrong data"
    RACE = "the result would depend on who is faster"
    HANG = "the chip would hang"
    REFUSED = "the chip or its tools refuse it"
    NO_MEANING = "it has no meaning in the language"
    NOT_RUN = "pyttlang, or this machine, cannot run it"
    ASKED = "the program is right; --strict or -W error asked for more"
    HARMLESS = "the chip runs it rightly; it may be a mistake all the same"
    UNCERTAIN = "it may be right; what decides that is not known here"
    SIMULATED = "the simulator runs it; it does not compile"
    ACCEPTED = "what is meant is clear, and the chip runs it rightly"
    REMARK = "nothing is wrong as far as is known"

    @property
    def severity(self) -> Severity:
        if self in (ChipEffect.HARMLESS, ChipEffect.UNCERTAIN, ChipEffect.SIMULATED):
            return Severity.WARNING
        return Severity.NOTE if self in (ChipEffect.ACCEPTED, ChipEffect.REMARK) else Severity.ERROR

    @property
    def may_be_error(self) -> bool:
        """Whether --strict and -W error turn it into an error."""
        return self.severity is Severity.WARNING or self is ChipEffect.ACCEPTED


@dataclass(frozen=True, slots=True)
class Code:
    """One entry of the catalogue."""

    code: str
    slug: str
    blame: Blame
    effect: ChipEffect
    explanation: str
    milder: ChipEffect | None = None  # if it does less harm there, or may do none

    @property
    def severity(self) -> Severity:
        return self.effect.severity

    @property
    def mild(self) -> Code:
        """Return this code with its milder effect."""
        assert self.milder is not None
        return replace(self, effect=self.milder)

    @property
    def is_fault(self) -> bool:
        """Whether something is wrong with the program or its environment."""
        return self.severity is Severity.ERROR and self.effect is not ChipEffect.ASKED

    def broken(self, message: str, *helps: str, **parts: Any) -> RuleBroken:
        """Make a RuleBroken of this code; `parts` are its other arguments."""
        return RuleBroken(self, message, helps=helps, **parts)


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


class RuleBroken(BaseException):
    """A broken rule of the language, raised by code that does not know the source position.

    Code that knows it (the frontend at a syntax node, the simulator at a frame) makes a Diagnostic
    with `at`. It is a BaseException so that `except Exception` in a kernel does not catch it; if a
    bare `except` does, OBSERVER has still told the engine. Code that knows more about a raised one
    does not change it, but raises another one, which the methods `with_...` make.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        helps: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
        secondary: tuple[Label, ...] = (),
        subject: object = None,
        place: Any = None,
        **facts: object,
    ):
        super().__init__(message)
        self.code = code
        self.message = message
        self.helps = helps
        self.notes = notes
        self.secondary = secondary
        self.subject = subject  # the object in question, for engines that know its history
        self.place = place  # where it happened, if an engine knows it better than a traceback
        self.facts = facts
        self.origin: RuleBroken | None = None  # the one that it was made from
        _tell(self)

    def with_labels(self, *labels: Label) -> RuleBroken:
        return self._with(secondary=(*self.secondary, *labels))

    def with_notes(self, *notes: str) -> RuleBroken:
        return self._with(notes=(*self.notes, *notes))

    def with_helps(self, *helps: str) -> RuleBroken:
        return self._with(helps=(*self.helps, *helps))

    def with_first_help(self, text: str) -> RuleBroken:
        return self._with(helps=(text, *self.helps[:1]))

    def with_place(self, place: Any) -> RuleBroken:
        return self._with(place=place)

    def respelled(self, known: str, written: str) -> RuleBroken:
        """Replace a name in the message and the helps."""
        helps = tuple(text.replace(known, written) for text in self.helps)
        return self._with(message=self.message.replace(known, written), helps=helps)

    def _with(self, **changed: object) -> RuleBroken:
        """Copy with changes, keeping the traceback."""
        other = type(self).__new__(type(self), changed.get("message", self.message))
        other.__dict__.update({**self.__dict__, **changed, "origin": self})
        _tell(other)
        return other.with_traceback(self.__traceback__)

    def at(self, span: Span | None, label: str = "", notes: tuple[str, ...] = ()) -> Diagnostic:
        primary = Label(span, label) if span is not None else None
        return Diagnostic(
            self.code,
            self.message,
            primary,
            self.secondary,
            self.notes + notes,
            self.helps,
            self.facts,
        )


# Called with every broken rule in this context.
OBSERVER: ContextVar[Callable[[RuleBroken], None] | None] = ContextVar("ttl_observer", default=None)


def _tell(broken: RuleBroken) -> None:
    observer = OBSERVER.get()
    if observer is not None:
        observer(broken)
