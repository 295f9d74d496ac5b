"""What was found out about one configuration."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ttl.sweep import CRASHED

from .sketch import Sketch, difference


@dataclass(frozen=True, slots=True)
class Outcome:
    """Microseconds, or the reason why the configuration is left out."""

    best: float = 0.0
    typical: float = 0.0
    worst: float = 0.0
    is_measured: bool = False  # on a device
    problem: str = ""
    code: str = ""  # of the diagnostic that is the problem
    results: list[Sketch] = field(default_factory=list)

    @property
    def is_left_out(self) -> bool:
        return bool(self.problem)

    def as_values(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_values(cls, values: dict[str, Any]) -> Outcome:
        if CRASHED in values:
            return cls(problem=values[CRASHED])
        return cls(**values)


def without_wrong_results(outcomes: list[Outcome], tolerance: float) -> list[Outcome]:
    """Those whose results are not those of the first that could run have a problem."""
    first = next((each for each in outcomes if not each.is_left_out), None)
    if first is None:
        return outcomes
    return [
        each
        if each.is_left_out or not (found := difference(first.results, each.results, tolerance))
        else replace(each, problem=f"wrong result: {found}")
        for each in outcomes
    ]


def without_results(outcome: Outcome) -> Outcome:
    """What is left to tell when the results were compared."""
    return replace(outcome, results=[])
