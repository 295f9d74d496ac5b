"""Results of tuning a call: every configuration, the fastest first, and those left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ttl.diagnostics import UsageError, codes
from ttl.diagnostics.span import Span
from ttl.language import Config
from ttl.loading.forks import computed_once

from .outcome import TrialOutcome, Values

MOST_REASONS = 8
Tried = tuple[Config, TrialOutcome]


@dataclass(frozen=True)
class TuningResult:
    operation: str
    call: str  # the tuned call's arguments, in words
    tried: tuple[Tried, ...]
    seconds: float  # duration of the sweep
    from_disk: int = 0  # number of results that were already known
    chip: str = ""
    span: Span | None = None

    @computed_once
    def ranked(self) -> tuple[Tried, ...]:
        """Usable configurations, the fastest first; equally fast ones in the order written."""
        usable = [each for each in self.tried if not each[1].is_left_out]
        return tuple(sorted(usable, key=lambda each: each[1].typical))

    @property
    def left_out(self) -> tuple[Tried, ...]:
        return tuple(each for each in self.tried if each[1].is_left_out)

    @property
    def best(self) -> Config:
        """Fastest configuration; raises UsageError if none can be used."""
        if self.ranked:
            return self.ranked[0][0]
        reasons = [f"{config}: {found.problem}" for config, found in self.left_out]
        if len(reasons) > MOST_REASONS:
            reasons[MOST_REASONS:] = [f"and {len(reasons) - MOST_REASONS} more"]
        what = f"none of the {len(self.tried)} configurations of `{self.operation}` can be used"
        if len(self.tried) == 1:
            what = f"the only configuration of `{self.operation}` cannot be used"
        help_text = "the notes tell why; smaller blocks, or fewer of them, need less L1"
        broken = codes.NO_CONFIGURATION.broken(what, help_text, notes=tuple(reasons))
        raise UsageError(broken.at(self.span))

    @property
    def first_microseconds(self) -> float | None:
        """Time of the configuration whose results the others were compared with."""
        usable = (found.typical for _, found in self.tried if not found.is_left_out)
        return next(usable, None)

    @property
    def is_measured(self) -> bool:
        return any(found.is_measured for _, found in self.tried)

    @property
    def headline(self) -> str:
        times = "measured" if self.is_measured else f"estimated for {self.chip}"
        known = f", {self.from_disk} known from before" if self.from_disk else ""
        sweep = f"{len(self.tried)} trials in {self.seconds:.1f} s{known}"
        called = f"({self.call})" if self.call else ""
        return f"{self.operation}{called}: {sweep}, times {times}"

    def __str__(self) -> str:
        return "\n".join([self.headline, *self.rows()])

    def rows(self) -> Iterator[str]:
        for config, found in self.ranked:
            span = f"{found.typical:8.1f} us ({found.best:.1f} to {found.worst:.1f})"
            yield f"{span:34} {config}"
        for config, found in self.left_out:
            code = f"[{found.code}] " if found.code else ""
            yield f"{'left out':34} {config}: {code}{found.problem}"

    def as_values(self) -> list[Values]:
        """Return the table for JSON, row by row."""
        return [_values_of(config, found) for config, found in (*self.ranked, *self.left_out)]


def _values_of(config: Config, found: TrialOutcome) -> Values:
    values = {name: _plain(value) for name, value in config.items()}
    if found.is_left_out:
        return {"values": values, "problem": found.problem, "code": found.code}
    times = {"best": found.best, "typical": found.typical, "worst": found.worst}
    return {"values": values, "microseconds": times, "is_measured": found.is_measured}


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
