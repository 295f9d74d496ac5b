"""What a first call loads: nothing that it does not use, so that programs start quickly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ttl, ttnn

@ttl.operation(grid=(1, 1))
def copy(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

    @ttl.compute()
    def compute():
        pass

    @ttl.datamovement()
    def read():
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[0, 0], x_blk).wait()

    @ttl.datamovement()
    def write():
        with x_dfb.wait() as x_blk:
            ttl.copy(x_blk, y[0, 0]).wait()

device = ttnn.open_device(device_id=0)
copy(*[ttnn.ones((32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device) for _ in "xy"])

import json, sys
print(json.dumps(sorted(sys.modules)))
"""
NEVER = {
    "argparse",
    "asyncio",
    "concurrent.futures",
    "dask",
    "hashlib",
    "jax",
    "rich",
    "shlex",
    "subprocess",
    "torch",
}
OTHERS = {"pykernel", "ttgraph", "ttl.device", "ttl.host", "ttl.studio"}
COMPILER = {"ttl.artifact", "ttl.codegen", "ttl.dialects", "ttl.frontend", "ttl.passes", "xdsl"}
KEPT = {
    "ttl.driver.artifacts",
    "ttl.driver.check",
    "ttl.driver.fast",
    "ttl.driver.signature",
    "ttl.driver.views",
}
NOT_SIMULATED = {*NEVER, *OTHERS, *COMPILER, *KEPT, "difflib"}
NOT_COMPILED = {
    *NEVER - {"hashlib"},
    *OTHERS,
    "difflib",
    "ttl.sim",
    "xdsl.dialects.linalg",
    "xdsl.dialects.tensor",
    "xdsl.interpreter",
}


def loaded(folder: Path, **variables: str) -> list[str]:
    """The modules of a process that makes one call."""
    file = folder / "program.py"
    file.write_text(PROGRAM)
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-P", str(file)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "variables, unused",
    [({}, NOT_SIMULATED), ({"TTLANG_COMPILE_ONLY": "1"}, NOT_COMPILED)],
    ids=["simulated", "compiled"],
)
def test_a_call_loads_what_it_uses(
    tmp_path: Path, variables: dict[str, str], unused: set[str]
) -> None:
    found = [
        each
        for each in loaded(tmp_path, **variables)
        if any(each == name or each.startswith(f"{name}.") for name in unused)
    ]
    assert found == []


DEFINITION = """
import sys
import ttl

before = "ttl.driver" in sys.modules

@ttl.operation(grid=(1, 1))
def nothing():
    pass

print(before, *(name in sys.modules for name in ("ttl.driver", "ttl.sim", "xdsl")))
"""


@pytest.mark.parametrize(
    "backend, loaded", [("sim", "False True True False"), ("host", "False True False False")]
)
def test_a_definition_loads_the_simulator(tmp_path: Path, backend: str, loaded: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(DEFINITION)
    environment = {**os.environ, "TTL_BACKEND": backend}
    command = [sys.executable, "-P", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == loaded, done.stderr
