"""Random examples that are used several at a time."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from sampling import sample_seed

Example = TypeVar("Example")


def drawn(
    strategy: st.SearchStrategy[Example], count: int, seed_number: int | None = None
) -> list[Example]:
    """Those that a seed gives, or the one at the head of the report."""
    found: list[Example] = []

    @seed(sample_seed() if seed_number is None else seed_number)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: Example) -> None:
        found.append(example)

    collect()
    assert len(found) == count
    return found
