"""Methods of dataclasses that are made late are those that dataclasses make; what commands load."""

from __future__ import annotations

import dataclasses
import gc
import inspect
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ttl.diagnostics.span import Span
from ttl.loading.late_definitions import DelayedFormat
from ttl.loading.late_methods import Delayed

ARE_LATE = hasattr(dataclasses, "_create_fn")  # Python 3.11 and 3.12


def made(name: str = "ttl.example") -> type:
    """A class as a module of that name defines it, with every method that dataclasses write."""
    names = {"__module__": __name__, "__annotations__": {"a": "int", "b": "list[int]"},
             "b": field(default_factory=list)}  # fmt: skip
    original = globals()["__name__"]
    globals()["__name__"] = name  # what dataclasses take as the module of the class
    try:
        return dataclass(frozen=True, slots=True, order=True)(type("Made", (), names))
    finally:
        globals()["__name__"] = original


@pytest.mark.parametrize("name", ["ttl.example", "of_others"])
def test_a_class_behaves_as_ever(name: str) -> None:
    cls = made(name)
    one, two = cls(1), cls(a=2, b=[3])
    assert (one.b, two.b, one != two, one == cls(1), one < two) == ([], [3], True, True, True)
    assert repr(two) == "Made(a=2, b=[3])"
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.a = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.a
    with pytest.raises(TypeError, match=r"Made\.__init__\(\) missing 1 required positional"):
        cls()
    assert dataclasses.replace(one, a=5) == cls(5)
    assert str(inspect.signature(cls)) == "(a: 'int', b: 'list[int]' = <factory>) -> None"


def test_methods_are_made_at_the_first_look_only_for_these_packages() -> None:
    cls = made()
    assert isinstance(cls.__dict__["__eq__"], Delayed) is ARE_LATE
    _ = cls(1) == cls(1)
    assert inspect.isfunction(cls.__dict__["__eq__"])
    assert isinstance(cls.__dict__["__lt__"], Delayed) is ARE_LATE
    assert inspect.isfunction(made("of_others").__dict__["__eq__"])


def test_a_subclass_makes_the_method_of_its_base() -> None:
    class Inner(made()):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(7)

    assert Inner().a == 7


def test_frozen_values_are_pickled() -> None:
    span = Span("file.py", 1, 2, 1, 5)
    assert pickle.loads(pickle.dumps(span)) == span


def test_a_compilation_reads_no_assembly_format() -> None:
    program = """
from xdsl.irdl.declarative_assembly_format_parser import FormatParser
read = FormatParser.parse_format
FormatParser.parse_format = lambda self: print("read") or read(self)
from ttl.driver.compile import load_compiler
load_compiler()
print("loaded")
from xdsl.dialects.arith import AddiOp
from xdsl.dialects.test import TestOp
from xdsl.dialects.builtin import i32
one = TestOp(result_types=[i32]).results[0]
print(AddiOp(one, one))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-2], lines[-1]) == ("loaded", "read", "%0 = arith.addi %1, %1 : i32")


def test_a_format_is_read_once() -> None:
    read: list[int] = []

    class Program:
        def parse(self, parser: object, op_type: object) -> str:
            return "parsed"

    def program() -> Program:
        read.append(1)
        return Program()

    late = DelayedFormat(program)  # type: ignore[arg-type]
    assert [late.parse(None, None) for _ in range(2)] == ["parsed"] * 2  # type: ignore[arg-type]
    assert len(read) == 1


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
