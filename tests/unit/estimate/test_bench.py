"""ttl.testing.bench"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ttl.testing
from timed_operations import exponential, zeros


def test_without_a_device_it_is_the_estimate() -> None:
    x, y = zeros(32, 64), zeros(32, 64)
    before = np.array(y.storage.elements)
    found = ttl.testing.bench(exponential((1, 1), 2), x, y)
    assert found.estimate is not None and not found.is_measured
    assert 0 < found.best <= found.microseconds <= found.worst
    assert np.array_equal(y.storage.elements, before)


def test_what_is_no_operation_is_refused() -> None:
    with pytest.raises(ttl.UsageError, match="bench\\(\\) takes an operation, not a function"):
        ttl.testing.bench(lambda: None)  # type: ignore[arg-type]


def test_on_a_device_it_is_the_time_of_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    tensor = SimpleNamespace(dtype="real", device=lambda: "device")
    module = SimpleNamespace(synchronize_device=lambda device: calls.append(f"wait {device}"))
    monkeypatch.setattr(ttl.testing, "find_dtype", lambda value: value)
    monkeypatch.setattr(ttl.testing, "module_of", lambda value: module)
    operation: Any = lambda x: calls.append("call")  # noqa: E731
    found = ttl.testing.bench(operation, tensor, warm_ups=1, repeats=2)
    assert calls == ["wait device", "call", "wait device"] * 3
    assert found.is_measured and found.best <= found.microseconds <= found.worst
