"""The garbage collector is the program's; what commands put aside."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc

class Own:
    def __del__(self):
        print("finalized", self.name)

one, two = Own(), Own()
one.other, one.name, two.other, two.name = two, "one", one, "two"
lost = Own()
lost.self, lost.name = lost, "lost"
del lost
gc.collect()
print(gc.get_freeze_count() > 10_000)
"""


def test_a_command_puts_aside_what_it_loaded_and_nothing_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    command = [sys.executable, "-m", "ttl", "run", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["finalized lost", "True"], done.stderr
    assert sorted(lines[2:]) == ["finalized one", "finalized two"]


STATE = """
import gc, sys
kept = [[] for _ in range(5000)]
gc.collect()
gc.freeze()
if sys.argv[1] == "other":
    gc.disable()
    gc.set_threshold(123, 4, 5)
def state():
    return gc.isenabled(), gc.get_threshold()
before, frozen = state(), gc.get_freeze_count()
assert frozen > 5000
def has_changed():  # of what was put aside, little is freed
    return state() != before or not frozen - 100 <= gc.get_freeze_count() <= frozen
"""
RUN = """
import ttl, ttnn
assert not has_changed(), ("import", state(), gc.get_freeze_count())

@ttl.operation(grid=(1, 1))
def add(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + 1)

    @ttl.datamovement()
    def read():
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[0, 0], x_blk).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()

device = ttnn.open_device(device_id=0)
options = {"dtype": ttnn.float32, "layout": ttnn.TILE_LAYOUT, "device": device}
for _ in range(2):
    add(ttnn.ones((32, 32), **options), ttnn.zeros((32, 32), **options))
assert not has_changed(), ("call", state(), gc.get_freeze_count())
"""


@pytest.mark.parametrize("state", ["usual", "other"])
@pytest.mark.parametrize(
    "options", [{}, {"TTL_BACKEND": "host"}, {"TTL_STRICT": "1"}, {"TTL_CHECK": "1"}], ids=str
)
def test_the_collector_is_the_programs(tmp_path: Path, options: dict[str, str], state: str) -> None:
    """What it has put aside, whether it collects and how often, after an import and after calls."""
    file = tmp_path / "program.py"
    file.write_text(STATE + RUN)
    command = [sys.executable, str(file), state]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | options)
    assert done.returncode == 0, done.stderr


def test_thresholds_that_a_kernel_sets_stay() -> None:
    from ttl.sim.garbage import rare_collections

    before = gc.get_threshold()
    try:
        with rare_collections():
            gc.set_threshold(77, 8, 9)
        assert gc.get_threshold() == (77, 8, 9)
    finally:
        gc.set_threshold(*before)
