"""A ttnn that is not the embedded one."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from device.standins import Launches, Tensor, install, standin_module


@pytest.fixture
def launches() -> Iterator[Launches]:
    home = Tensor.__module__
    module = standin_module()
    yield install(module)
    del sys.modules[module.__name__]
    Tensor.__module__ = home
