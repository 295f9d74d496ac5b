"""A second call of a compiled operation finds its artifact, and sees every value that changed."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import to_numpy as elements_of
from ttl import ttnn
from ttl.driver import Driver
from ttl.language.engine import LAUNCH_HOOK
from ttl.ttnn import add as add_tensors

DEVICE = ttnn.open_device(device_id=0)
OFFSET = 1.0


class Scale(float):
    extra = 0.0


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setenv("TTL_BACKEND", "host")
    monkeypatch.setattr(LAUNCH_HOOK, "launch", driver.launch)
    return driver


def tensor(value: float, **options: Any) -> ttnn.Tensor:
    given = {"dtype": ttnn.float32, "layout": ttnn.TILE_LAYOUT, "device": DEVICE, **options}
    return ttnn.full((32, 32), value, **given)


def operation_of(function: Callable[..., Any]) -> Callable[[float], float]:
    """The operation that applies it, as a function of numbers; it is compiled for float32."""

    @ttl.operation(grid=(1, 1))
    def operation(x, y, factor=1.0):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(function(x_blk) * factor)

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[0, 0], x_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    def call(value: float, *factor: Any, **options: Any) -> float:
        y = tensor(0.0, **options)
        operation(tensor(value, **options), y, *factor)
        return float(ttl.to_numpy(y)[0, 0])

    return call


def plus_offset(x: Any) -> Any:
    return x + OFFSET


def test_what_compiles_to_the_same_is_compiled_once(driver: Driver) -> None:
    call = operation_of(plus_offset)
    assert [call(value) for value in (1, 2, 3)] == [2, 3, 4]
    assert driver.artifacts.count == 1
    assert call(2, dtype=ttnn.bfloat16) == 3
    assert driver.artifacts.count == 2
    assert [call(2, 2.0), call(2, -0.0), call(2, 0.0)] == [6, 0, 0]
    assert np.signbit(call(2, -0.0)) and not np.signbit(call(2, 0.0))
    assert driver.artifacts.count == 5


def test_a_global_that_changes_is_seen(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    call = operation_of(plus_offset)
    assert [call(1), call(1)] == [2, 2]
    monkeypatch.setitem(globals(), "OFFSET", 5.0)
    assert call(1) == 6


def with_default(x: Any, k: float = 1.0) -> Any:
    return x + k


def with_named_default(x: Any, *, k: float = 1.0) -> Any:
    return x + k


def with_attribute(x: Any) -> Any:
    return x + getattr(with_attribute, "k", 1.0)


def change_attribute(function: Any, value: float) -> None:
    function.k = value


def change_default(function: Any, value: float) -> None:
    function.__defaults__ = (value,)


def change_named_default(function: Any, value: float) -> None:
    function.__kwdefaults__["k"] = value


@pytest.mark.parametrize(
    "function, change",
    [
        (with_default, change_default),
        (with_named_default, change_named_default),
        (with_attribute, change_attribute),
    ],
)
def test_what_a_function_holds_is_looked_at(
    driver: Driver, function: Any, change: Callable[[Any, float], None]
) -> None:
    call = operation_of(function)
    try:
        assert [call(1), call(1)] == [2, 2]
        change(function, 5.0)
        assert [call(1), call(1)] == [6, 6]
    finally:
        change(function, 1.0)


def test_what_has_attributes_is_no_constant(driver: Driver) -> None:
    scale = Scale(2.0)
    call = operation_of(lambda x: x + scale.extra)
    assert [call(1), call(1)] == [1, 1]
    scale.extra = 3.0
    assert call(1) == 4


def test_a_list_that_is_captured_is_looked_at(driver: Driver) -> None:
    offsets = [1.0]
    call = operation_of(lambda x: x + offsets[0])
    assert [call(1), call(1)] == [2, 2]
    offsets[0] = 2.0
    assert call(1) == 3


def calls_plus_offset(x: Any) -> Any:
    return plus_offset(x)


def test_a_function_without_a_module_is_looked_at(driver: Driver) -> None:
    values: dict[str, Any] = {"OFFSET": 1.0}
    values["plus_offset"] = FunctionType(plus_offset.__code__, values)
    assert values["plus_offset"].__module__ is None
    call = operation_of(FunctionType(calls_plus_offset.__code__, values))
    assert [call(1), call(1)] == [2, 2]
    values["OFFSET"] = 5.0
    assert call(1) == 6


def test_a_tensor_without_memory_is_refused(driver: Driver) -> None:
    @ttl.operation(grid=(1, 1))
    def nothing(x):
        @ttl.compute()
        def compute():
            pass

        @ttl.datamovement()
        def read():
            pass

        @ttl.datamovement()
        def write():
            pass

    gone = tensor(1.0)
    nothing(gone)
    nothing(gone)
    gone.deallocate()
    with pytest.raises(ttl.UsageError, match="deallocated"):
        nothing(gone)


def test_options_that_show_or_keep_something_run_the_body(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = operation_of(plus_offset)
    assert [call(1), call(1)] == [2, 2]
    monkeypatch.setenv("TTL_DRY_RUN", "1")
    assert call(1) == 0


def plus_default(x: Any, function: Callable[[Any], Any] = plus_offset) -> Any:
    return function(x)


IN_TUPLES = ((((plus_offset,),),),)


@pytest.mark.parametrize("function", [plus_default, lambda x: IN_TUPLES[0][0][0][0](x)])
def test_a_function_is_looked_at_wherever_it_is_named(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, function: Any
) -> None:
    call = operation_of(function)
    assert [call(1), call(1)] == [2, 2]
    monkeypatch.setitem(globals(), "OFFSET", 5.0)
    assert call(1) == 6


def two_named_defaults(x: Any, *, k: float = 1.0, other: float = 5.0) -> Any:
    return x + k


def test_defaults_that_change_places_are_seen(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = operation_of(two_named_defaults)
    assert [call(1), call(1)] == [2, 2]
    k, other = two_named_defaults.__kwdefaults__.values()
    monkeypatch.setattr(two_named_defaults, "__kwdefaults__", {"other": k, "k": other})
    assert call(1) == 6


class Choice(Enum):
    FIRST = (1.0,)

    def __init__(self, k: float):
        self.k = k


CHOICE = Choice.FIRST


def added_by_choice(x: ttnn.Tensor) -> float:
    return CHOICE.k


def added_by_elements(x: ttnn.Tensor) -> float:
    return float(elements_of(x)[0, 0])


def added_by_text(x: ttnn.Tensor) -> float:
    return float(repr(x).count("7."))


def added_by_operation(x: ttnn.Tensor) -> float:
    add_tensors(x, 1.0, output_tensor=x)
    return 0.0


def added_by_module(x: ttnn.Tensor) -> float:
    module = ttnn
    module.add(x, 1.0, output_tensor=x)
    return 0.0


@pytest.mark.parametrize(
    "added, seen",
    [
        (added_by_choice, [1.0] * 3),
        (added_by_elements, [1.0] * 3),
        (added_by_text, [0.0] * 3),
        (added_by_operation, [2.0, 3.0, 4.0]),
        (added_by_module, [2.0, 3.0, 4.0]),
    ],
)
def test_what_a_body_does_it_does_at_every_call(
    driver: Driver, added: Callable[[ttnn.Tensor], float], seen: list[float]
) -> None:
    found: list[float] = []

    @ttl.operation(grid=(1, 1))
    def operation(x):
        by = added(x)
        found.append(by or float(elements_of(x)[0, 0]))

        @ttl.compute()
        def compute():
            pass

        @ttl.datamovement()
        def read():
            pass

        @ttl.datamovement()
        def write():
            pass

    x = tensor(1.0)
    for _ in range(3):
        operation(x)
    assert found == [each or 1.0 for each in seen]
