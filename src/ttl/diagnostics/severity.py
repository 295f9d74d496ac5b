"""The option -W, which turns warnings into errors or hides them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .code_table import codes_of
from .diagnostic import Code, Severity

ERROR, IGNORE = "error", "ignore"
FORMS = "error, error=CODE or ignore=CODE"


@dataclass(frozen=True, slots=True)
class WarningOptions:
    """The choices of -W in order: `error` or `ignore`, and a code or None for all."""

    choices: tuple[tuple[str, str | None], ...] = ()

    @classmethod
    def read(cls, text: str) -> WarningOptions:
        """Parse `error,ignore=TTL3006`, with codes or slugs, or raise ValueError."""
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return cls(tuple([choice for part in parts for choice in _choices(part)]))

    def severity_of(self, code: Code, is_strict: bool = False) -> Severity | None:
        """Return the severity, None to hide; the last choice for the code wins over one for all."""
        named = [what for what, name in self.choices if name == code.code]
        if named and code.severity is not Severity.ERROR:
            return Severity.ERROR if named[-1] == ERROR else None
        is_error = code.effect.may_be_error and (is_strict or (ERROR, None) in self.choices)
        return Severity.ERROR if is_error else code.severity


def _choices(text: str) -> Iterator[tuple[str, str | None]]:
    what, is_named, name = text.partition("=")
    if not is_named and what == ERROR:
        yield ERROR, None
        return
    if not name or what not in (ERROR, IGNORE):
        raise ValueError(f"{text!r} is not {FORMS}")
    if not (found := codes_of(name)):
        raise ValueError(f"{text!r}: there is no code {name}")
    yield from (_choice(text, what, code) for code in found)


def _choice(text: str, what: str, code: Code) -> tuple[str, str]:
    if what == IGNORE and code.severity is Severity.ERROR and code.milder is None:
        raise ValueError(f"{text!r}: {code.code} is an error, which cannot be ignored")
    if what == ERROR and not code.effect.may_be_error and code.severity is not Severity.ERROR:
        raise ValueError(f"{text!r}: {code.code} is a note, which cannot be an error")
    return what, code.code
