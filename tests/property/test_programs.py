"""Random whole programs: the compiled kernels write what the simulator writes."""

from __future__ import annotations

import linecache
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from property.programs import COLUMNS, ROWS, programs
from ttl import ttnn
from ttl.language import Operation

DEVICE = ttnn.open_device(device_id=0)
NUMBERS = count()


def load(text: str) -> Operation:
    """The operation of a program, whose source the compiler finds as it finds a notebook's."""
    name = f"<program {next(NUMBERS)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, object] = {}
    exec(compile(text, name, "exec"), namespace)
    operation = namespace["operation"]
    assert isinstance(operation, Operation)
    return operation


def run(text: str, backend: str) -> np.ndarray:
    values = np.random.default_rng(5).integers(-4, 5, (ROWS * 32, COLUMNS * 32))
    x = ttnn.from_numpy(values.astype(np.float32), dtype=ttnn.float32, device=DEVICE)
    y = ttnn.zeros((16 * 32, 8 * 32), dtype=ttnn.float32, device=DEVICE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        load(text)(x, y)
    return ttnn.to_numpy(y)


IS_FULL = settings.default.max_examples >= 1000


# Shrinking compiles thousands of programs; the text of the first one that fails is short enough.
@settings(
    max_examples=300 if IS_FULL else 100,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(programs())
def test_simulator_and_host_agree(text: str) -> None:
    np.testing.assert_array_equal(run(text, "host"), run(text, "sim"), err_msg=text)
