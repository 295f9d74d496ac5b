"""Operations whose calls are recorded, for estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ttl.config import chosen_options
from ttl.driver.launch import Driver
from ttl.driver.running import Recorded

Record = Callable[..., Recorded]


@pytest.fixture
def record() -> Iterator[Record]:
    """record(operation, *arguments): what its kernels call."""

    def recorded(operation: Any, *arguments: Any, target: str = "wormhole_b0") -> Recorded:
        driver = Driver()
        with chosen_options(estimate=True, target=target):
            driver.launch(operation, arguments, {})
        (found,) = driver.runs.recorded.values()
        return found

    yield recorded
