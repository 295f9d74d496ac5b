"""ttl.Config, ttl.choice, ttl.powers_of_two: configurations and spaces of them."""

from __future__ import annotations

from typing import Any

import pytest

import ttl
from ttl.language.configs import MOST_CONFIGS, configs_of


def test_a_space_has_every_combination_the_last_name_changing_fastest() -> None:
    space = ttl.Config(BLOCK=ttl.powers_of_two(1, 4), count=ttl.choice(2, 3), mode="x")
    found = [tuple(config.values()) for config in configs_of(space)]
    assert found == [(b, c, "x") for b in (1, 2, 4) for c in (2, 3)]
    assert space.size == len(found)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (ttl.powers_of_two(3, 20), (4, 8, 16)),
        (ttl.powers_of_two(1, 1), (1,)),
        (ttl.choice(range(1, 4)), (1, 2, 3)),
        (ttl.choice([5, 6]), (5, 6)),
        (ttl.choice((1, 2)), ((1, 2),)),  # one value that is a tuple, such as a grid
    ],
)
def test_choices(given: Any, values: tuple[Any, ...]) -> None:
    assert given.values == values


def test_configurations_are_values_and_each_is_tried_once() -> None:
    one, same, other = ttl.Config(B=1), ttl.Config(B=1), ttl.Config(B=1.0)
    assert one == same and hash(one) == hash(same) and one != other
    assert configs_of([one, same, other]) == (one, other)
    assert ttl.Config({"B": 1}, C=2) == ttl.Config(B=1, C=2)
    assert str(ttl.Config(B=1, name="x")) == "B=1, name='x'"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ttl.Config(), "has no values"),
        (lambda: ttl.Config({}), "has no values"),
        (lambda: ttl.Config([1]), "ttl.Config([1]): no values by names"),
        (lambda: ttl.Config({1: 2}), "no values by names"),
        (lambda: ttl.choice(), "has no values"),
        (lambda: ttl.choice([]), "has no values"),
        (lambda: ttl.powers_of_two(5, 7), "powers_of_two(5, 7) has no values"),
        (lambda: ttl.powers_of_two(8, 4), "has no values"),
        (lambda: ttl.powers_of_two(0, 4), "has no values"),
        (lambda: ttl.powers_of_two(1.0, 4), "has no values"),
        (lambda: configs_of([]), "has no configuration"),
        (lambda: configs_of({"B": 1}), "no list of ttl.Config"),
        (lambda: configs_of(3), "no list of ttl.Config"),
        (lambda: configs_of([{"B": 1}]), "is no ttl.Config"),
        (lambda: configs_of([ttl.Config(A=1), ttl.Config(B=1)]), "the same names: A, B"),
        (lambda: configs_of(ttl.Config(A=ttl.choice(range(MOST_CONFIGS + 1)))), "more than"),
    ],
)
def test_what_is_no_space_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ttl.UsageError) as found:
        make()
    assert found.value.diagnostics[0].code.code == "TTL1030"
    assert message in found.value.diagnostics[0].message
