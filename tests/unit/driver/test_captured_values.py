"""A kernel runs with the values that it captures at this call, and is compiled when they change."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.driver import Driver
from ttl.language.engine import LAUNCH_HOOK

DEVICE = ttnn.open_device(device_id=0)
SCALES: dict[str, Any] = {"one": 1.0}


@pytest.fixture(params=["sim", "host"])
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setenv("TTL_BACKEND", request.param)
    monkeypatch.setattr(LAUNCH_HOOK, "launch", driver.launch)
    return driver


def mapped(function: Callable[[Any], Any]) -> float:
    """What a kernel makes of 3.0 with this function."""

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(function(x_blk))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[0, 0], x_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    x = ttnn.full((32, 32), 3.0, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    y = ttnn.zeros((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation(x, y)
    return float(ttl.to_numpy(y)[0, 0])


def test_a_kernel_that_names_torch_is_compiled_once(driver: Driver) -> None:
    torch = pytest.importorskip("torch")
    assert [mapped(lambda x: ttl.math.typecast(x, torch.float32) + torch.inf) for _ in "ab"]
    assert driver.artifacts.count in (0, 1)


Pair = namedtuple("Pair", "first second")


def captured(value: float) -> Callable[[Any], Any]:
    return lambda x: x * value


def default(value: float) -> Callable[[Any], Any]:
    def scaled(x, k=value):
        return x * k

    return scaled


def keyword(value: float) -> Callable[[Any], Any]:
    def scaled(x, *, k=value):
        return x * k

    return scaled


def attribute(value: float) -> Callable[[Any], Any]:
    def scaled(x):
        return x * scaled.k

    scaled.k = value  # type: ignore[attr-defined]
    return scaled


@pytest.mark.parametrize("kind", [captured, default, keyword, attribute])
def test_functions_in_a_tuple(driver: Driver, kind: Callable[[float], Any]) -> None:
    def first(functions: tuple[Any, ...]) -> float:
        return mapped(lambda x: functions[0](x))

    assert [first((kind(value),)) for value in (2.0, 4.0, 2.0)] == [6.0, 12.0, 6.0]


def test_a_namedtuple_is_no_tuple(driver: Driver) -> None:
    def scaled(pair: tuple[float, float]) -> float:
        return mapped(lambda x: x * getattr(pair, "second", 5.0))

    assert [scaled(pair) for pair in ((1.0, 2.0), Pair(1.0, 2.0))] == [15.0, 6.0]


@pytest.mark.parametrize("base", [str, int, float])
def test_a_derived_text_or_number_is_more_than_its_value(driver: Driver, base: type) -> None:
    derived = type("Derived", (base,), {})

    def scaled(scale: float | None) -> float:
        value = base("1") if scale is None else derived("1")
        if scale is not None:
            value.scale = scale
        return mapped(lambda x: x * getattr(value, "scale", 2.0))

    assert [scaled(each) for each in (None, 5.0, 7.0, 5.0)] == [6.0, 15.0, 21.0, 15.0]


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: (value,), lambda v: {"a": v}])
def test_zero_has_a_sign(driver: Driver, wrap: Callable[[float], Any]) -> None:
    def product(zero: Any) -> float:
        def scaled(x):
            number = zero if isinstance(zero, float) else zero["a" if isinstance(zero, dict) else 0]
            return x * number

        return mapped(scaled)

    signs = [bool(np.signbit(product(wrap(zero)))) for zero in (0.0, -0.0, 0.0)]
    assert signs == [False, True, False]


def test_kinds_of_numbers_in_containers(driver: Driver) -> None:
    def kind(values: Any) -> float:
        def scaled(x):
            if isinstance(values[0], bool):
                return x * 2.0
            return x * (3.0 if isinstance(values[0], int) else 4.0)

        return mapped(scaled)

    found = [kind(values) for values in ((True,), (1,), (1.0,), [True], [1], [1.0])]
    assert found == [6.0, 9.0, 12.0] * 2


def test_a_global_dict_is_compiled_once_for_each_content(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scaled() -> float:
        return mapped(lambda x: x * SCALES["one"])

    found = []
    for value in (1.0, 1.0, 2.0, 2.0, 1.0):
        monkeypatch.setitem(SCALES, "one", value)
        found.append(scaled())
    assert found == [3.0, 3.0, 6.0, 6.0, 3.0]
    assert driver.artifacts.count == len(driver.artifacts) in (0, 2)  # 0: simulated


@pytest.mark.parametrize(
    "container",
    [[2.0], {"a": [2.0]}, {2.0}, [{"b": (2.0,)}], frozenset({2.0})],
    ids=lambda value: type(value).__name__,
)
def test_containers_are_compiled_once(driver: Driver, container: Any) -> None:
    for _ in range(3):
        mapped(lambda x: x * float(len(container)))
    assert driver.artifacts.count == len(driver.artifacts) in (0, 1)


class Stateful:
    """One of the user's that keeps its state where nobody sees it."""

    def __init__(self, scale: float):
        self.scales = iter([scale])
        self.scale = scale


def test_what_has_no_key_is_compiled_each_time_and_not_kept(driver: Driver) -> None:
    stateful = Stateful(2.0)
    for scale in (2.0, 5.0, 2.0):
        stateful.scale = scale
        assert mapped(lambda x: x * stateful.scale) == 3.0 * scale
    assert driver.artifacts.count in (0, 3)
    assert len(driver.artifacts) == 0


def test_few_artifacts_are_kept(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttl.driver.artifacts.MOST_KEPT", 2)
    few = Driver()
    monkeypatch.setattr(LAUNCH_HOOK, "launch", few.launch)
    for scale in (1.0, 2.0, 3.0, 3.0, 1.0):
        assert mapped(lambda x, scale=scale: x * scale) == 3.0 * scale
    assert (few.artifacts.count, len(few.artifacts)) in ((0, 0), (4, 2))
