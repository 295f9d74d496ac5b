"""The compiler is asked about kernels with signs of Python that it refuses, and about no others."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

import ttl
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import CompileError
from ttl.driver.check import Outside
from ttl.source.unusual import is_unusual

DEVICE = ttnn.open_device(device_id=0)


def usual_helper(number: int) -> int:
    return max(number, math.floor(2.5)) + len([1, 2]) + {"a": 1}["a"]


def tries(number: int) -> int:
    try:
        return number
    finally:
        number += 1


def usual() -> None:
    if usual_helper(3) < 0:
        raise ValueError("negative")
    print(ttl.node(dims=1), isinstance(3, int))


def calls_itself(count: int = 40) -> int:
    return calls_itself(count - 1) if count else 0


def without_source() -> Callable[[], None]:
    names: dict[str, Any] = {}
    exec("def kernel():\n    pass", names)
    kernel: Callable[[], None] = names["kernel"]
    return kernel


UNUSUAL: dict[str, Callable[[], object]] = {
    "try in a helper": lambda: tries(1),
    "a library": lambda: time.sleep(0),
    "a module's function": lambda: os.getpid(),
    "a builtin": lambda: eval("1"),
    "names itself": lambda: calls_itself(),
    "an attribute of numbers": lambda: ttl.node(dims=1).bit_length(),  # type: ignore[union-attr]
    "a key of the run": lambda: {ttl.node(dims=1): 1}[0],
}


def kernel_of(body: Callable[[], object]) -> Callable[[], None]:
    def kernel() -> None:
        body()

    return kernel


def test_kernels_in_the_language_are_usual() -> None:
    assert not is_unusual([usual])


@pytest.mark.parametrize("name", UNUSUAL)
def test_signs(name: str) -> None:
    assert is_unusual([kernel_of(UNUSUAL[name])])


def test_a_kernel_without_source_or_a_name() -> None:
    assert is_unusual([without_source()])
    assert is_unusual([lambda: None])


def run(body: Callable[[], object]) -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a: Any) -> None:
        ttl.datamovement()(kernel_of(body))

    a = ttnn.zeros((32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    with chosen_options(backend="sim"):
        operation(a)


@pytest.mark.parametrize("name", UNUSUAL)
def test_the_simulator_refuses_them(name: str) -> None:
    with pytest.raises(CompileError, match="TTL7003"):
        run(UNUSUAL[name])


@pytest.mark.unwatched("a debugger is not compiled")
def test_a_debugger_runs_on_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[int] = []
    monkeypatch.setattr("sys.breakpointhook", lambda: stops.append(1))
    run(lambda: breakpoint())
    assert stops == [1]


def test_nobody_asks_about_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outside, "refuse", lambda *call: pytest.fail("asked"))
    run(usual)
