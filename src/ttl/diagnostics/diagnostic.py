"""A diagnostic is data; how it looks is decided in render.py. A broken rule becomes one."""

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
    """Whose move it is."""

    USER = "the program is wrong"
    UNDEFINED = "the language leaves this undefined"
    UNSUPPORTED = "not supported by choice; an alternative is named"
    NOT_YET = "not implemented yet"
    INTERNAL = "a fault in pyttlang"


class Effect(Enum):
    """What a program that gets a code does on the chip; this decides the severity."""

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

    def broken(self, message: str, *helps: str, **parts: Any) -> RuleBroken:
        """What is wrong, and what to do about it; `parts` are those of RuleBroken."""
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
    """A rule of the language is broken, by somebody who does not know where in the source.

    Whoever does know (the frontend at a syntax node, the simulator at a frame) makes it a
    Diagnostic with `at`. A BaseException: `except Exception` in a kernel does not keep it; what a
    bare `except` keeps, an engine has heard of through OBSERVER. One that was raised is not
    changed: whoever knows more raises another one, which the methods `with_...` make.
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
        self.subject = subject  # what the rule is about, for whoever knows its history
        self.place = place  # where it happened, if an engine knows it better than a traceback
        self.facts = facts
        self.origin: RuleBroken | None = None  # what it was made of
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
        """With another name for something, wherever it was named."""
        helps = tuple(text.replace(known, written) for text in self.helps)
        return self._with(message=self.message.replace(known, written), helps=helps)

    def _with(self, **changed: object) -> RuleBroken:
        """Raised where this one was, as far as a traceback tells."""
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


# Who wants to hear of every broken rule, for the calls of this context.
OBSERVER: ContextVar[Callable[[RuleBroken], None] | None] = ContextVar("ttl_observer", default=None)


def _tell(broken: RuleBroken) -> None:
    observer = OBSERVER.get()
    if observer is not None:
        observer(broken)
