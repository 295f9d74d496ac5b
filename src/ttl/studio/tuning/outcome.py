"""Outcomes of configurations, and the comparison of their results."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

from ttl.studio.sweep import CRASHED

from .sketch import Sketch, find_difference, find_size_difference

Values: TypeAlias = dict[str, Any]  # JSON
NOTHING_LEFT_OUT = 0.9  # of the elements that others change; some keep their value by chance


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """Microseconds of a configuration, or the reason why it is left out."""

    best: float = 0.0
    typical: float = 0.0
    worst: float = 0.0
    is_measured: bool = False  # on a device
    problem: str = ""
    code: str = ""  # the problem's diagnostic code
    results: list[Sketch] = field(default_factory=list)
    elements: str = ""  # a digest of the tensors; results on other values cannot be compared

    @property
    def is_left_out(self) -> bool:
        return bool(self.problem)

    def as_values(self) -> Values:
        return asdict(self)

    @classmethod
    def of_values(cls, values: Values) -> TrialOutcome:
        if CRASHED in values:
            return cls(problem=values[CRASHED])
        return cls(**values)


def is_mixed(outcomes: list[TrialOutcome]) -> bool:
    """Are there results for different elements?"""
    return len({each.elements for each in outcomes if each.elements}) > 1


def reject_wrong_results(outcomes: list[TrialOutcome], tolerance: float) -> list[TrialOutcome]:
    """Give a problem to outcomes that solve another problem size, or whose results differ from the
    first outcome that writes all elements.
    """
    usable = [each for each in outcomes if not each.is_left_out]
    if not usable:
        return outcomes
    right = _find_trusted(usable)
    name = "the first" if right is usable[0] else "the others"
    return [
        each
        if each.is_left_out or not (found := _problem(right, each, tolerance, name))
        else replace(each, problem=found)
        for each in outcomes
    ]


def _problem(right: TrialOutcome, other: TrialOutcome, tolerance: float, name: str) -> str:
    if found := find_size_difference(right.results, other.results, name):
        return f"another problem size: {found}"
    found = find_difference(right.results, other.results, tolerance, name)
    return found and f"wrong result: {found}"


def _find_trusted(outcomes: list[TrialOutcome]) -> TrialOutcome:
    """Return the first outcome that writes the tensors that most others write, and about as many
    elements.
    """
    counts = Counter(_find_written(each) for each in outcomes if each.results)
    if not counts:
        return outcomes[0]
    usual = max(counts, key=lambda written: (counts[written], len(written)))
    alike = [each for each in outcomes if _find_written(each) == usual]
    enough = NOTHING_LEFT_OUT * max(_count_changed(each) for each in alike)
    return next(each for each in alike if _count_changed(each) >= enough)


def _find_written(outcome: TrialOutcome) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the tensors that an outcome writes, with their shapes."""
    return tuple((each["name"], tuple(each["shape"])) for each in outcome.results)


def _count_changed(outcome: TrialOutcome) -> int:
    return sum(each["changed"] for each in outcome.results)


def drop_results(outcome: TrialOutcome) -> TrialOutcome:
    """Drop the results, which are no longer needed after the comparison."""
    return replace(outcome, results=[])
