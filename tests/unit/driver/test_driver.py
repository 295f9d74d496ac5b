"""What the driver compiles again, what it keeps, and where it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ttl
from golden.example_programs import TARGET, load_file
from ttl import ttnn
from ttl.artifact import CompiledOperation
from ttl.config import Config
from ttl.diagnostics import CompileError, InternalError, UsageError
from ttl.driver import Driver
from ttl.driver.launch import OperationCall
from ttl.driver.signature import CallSignature, signature_of
from ttl.language import Operation
from ttl.language.operation import Program

DEVICE = ttnn.open_device(device_id=0)

PROGRAM = """import ttl

FACTOR = 2.0


def make(offset, helper=None, name="scale"):
    def scale(a, y, extra=0):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk * ttl.math.fill(FACTOR) + ttl.math.fill(offset))

        @ttl.datamovement()
        def read():
            helper
            with a_dfb.reserve() as a_blk:
                ttl.copy(a[0, extra], a_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    scale.__name__ = name
    return ttl.operation(grid=(1, 1))(scale)
"""


def compiled_by(driver: Driver, program: Program) -> CompiledOperation:
    call = OperationCall(driver, program.operation, Config())
    return call.artifact(program, signature_of(program, TARGET, Config()), TARGET, Config())


@pytest.fixture
def program(tmp_path: Path) -> Any:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return load_file(path)


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was really compiled; compilation itself is not what these tests test."""
    compiled: list[str] = []

    def compile_operation(program: Any, target: Any, config: Config, report: Any) -> Any:
        compiled.append(program.operation.__name__)
        return object()

    monkeypatch.setattr("ttl.driver.compile.compile_operation", compile_operation)
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    return compiled


def call(driver: Driver, operation: Operation, *args: Any, dtype: Any = ttnn.bfloat16) -> None:
    tensors = [
        ttnn.zeros((32, 64), dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in range(2)
    ]
    driver.launch(operation, (*tensors, *args), {})


def test_the_same_program_is_compiled_once(program: Any, count: list[str]) -> None:
    driver, operation = Driver(), program.make(1.0)
    for _ in range(3):
        call(driver, operation)
    call(driver, program.make(1.0))  # another function object with the same code and constants
    assert count == ["scale"]


def test_another_driver_knows_nothing(program: Any, count: list[str]) -> None:
    for _ in range(2):
        call(Driver(), program.make(1.0))
    assert len(count) == 2


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(lambda p, d: call(d, p.make(3.0)), id="captured constant"),
        pytest.param(lambda p, d: call(d, p.make(True)), id="type of a captured constant"),
        pytest.param(lambda p, d: call(d, p.make(1.0, name="other")), id="name"),
        pytest.param(lambda p, d: call(d, p.make(1.0), 1), id="argument"),
        pytest.param(lambda p, d: call(d, p.make(1.0), dtype=ttnn.float32), id="element type"),
        pytest.param(lambda p, d: call(d, p.make(1.0, helper=len)), id="captured function"),
    ],
)
def test_what_compiles_again(program: Any, count: list[str], second: Any) -> None:
    driver = Driver()
    call(driver, program.make(1.0))
    second(program, driver)
    assert len(count) == 2


def test_a_changed_global_compiles_again(program: Any, count: list[str]) -> None:
    driver, operation = Driver(), program.make(1.0)
    for factor, compiled in ((2.0, 1), (5.0, 2), (2.0, 2)):
        program.FACTOR = factor
        call(driver, operation)
        assert len(count) == compiled


def test_another_chip_compiles_again(
    program: Any, count: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver()
    for target in ("wormhole_b0", "blackhole", "wormhole_b0"):
        monkeypatch.setenv("TTL_TARGET", target)
        call(driver, program.make(1.0))
    assert len(count) == 2


def test_what_cannot_be_compared_is_compiled_every_time(program: Any, count: list[str]) -> None:
    driver, operation = Driver(), program.make(1.0, helper=iter([]))
    for _ in range(2):
        call(driver, operation)
    assert len(count) == 2
    assert len(driver.artifacts) == 0  # nor kept


def test_without_a_wish_for_kernels_nothing_is_compiled(
    program: Any, count: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TTLANG_COMPILE_ONLY")
    call(Driver(), program.make(1.0))
    assert count == []


def test_folders_of_several_operations(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first goes into the folder itself; so does every program of its name."""
    monkeypatch.setenv("TTL_COMPILE_TO", str(tmp_path / "out"))
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    driver = Driver()
    call(driver, program.make(1.0))
    call(driver, program.make(1.0, name="other"))
    written = {str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("manifest.json")}
    assert written == {"out", "out/other"}


def test_a_constant_reaches_the_kernel(program: Any) -> None:
    driver = Driver()
    for offset in (1.0, 3.0):
        tensors = (
            ttnn.zeros((32, 64), layout=ttnn.TILE_LAYOUT, device=DEVICE),
            ttnn.zeros((32, 64), layout=ttnn.TILE_LAYOUT, device=DEVICE),
        )
        made = program.make(offset).program(tensors, {}, TARGET.default_grid)
        compute = compiled_by(driver, made).kernels[0].cpp_source
        assert f"{offset}f" in compute


def test_wrong_choices_are_usage_errors(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_TARGET", "greyhound")
    with pytest.raises(UsageError, match="TTL_TARGET=greyhound: not a target; there are"):
        call(Driver(), program.make(1.0))


def test_our_own_faults_are_internal_errors(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never the user's mistake; the user's mistakes are never internal."""
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    with monkeypatch.context() as patch, pytest.raises(InternalError, match="ZeroDivisionError"):
        patch.setattr("ttl.codegen.assemble", lambda *_: 1 // 0)
        call(Driver(), program.make(1.0))
    with pytest.raises(CompileError, match="TTL1003"):
        call(Driver(), program.make("text"))


def test_what_a_helper_uses_is_part_of_the_key() -> None:
    """A program is compiled again when a constant of a function it calls has changed."""

    def program(number: int) -> Program:
        def helper() -> int:
            return number

        @ttl.operation(grid=(1, 1))
        def operation(a):
            @ttl.datamovement()
            def read():
                helper()

        a = ttnn.zeros(
            (32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=ttnn.open_device(device_id=0)
        )
        return operation.program((a,), {}, (1, 1))

    one, same, other = (CallSignature.of(program(n), TARGET, Config()) for n in (1, 1, 2))
    assert one == same != other


def test_an_operation_with_pipes_and_semaphores_is_compiled_once() -> None:
    def operation_to(receiver: tuple[int, int], initial: int) -> Operation:
        @ttl.operation(grid=(3, 1))
        def operation(a):
            net = ttl.PipeNet([ttl.Pipe((0, 0), receiver)])
            done = ttl.Semaphore(initial=initial)
            to_first = done.get_remote((0, 0))
            dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

            @ttl.datamovement()
            def move():
                def send(pipe):
                    with dfb.reserve() as block:
                        ttl.copy(a[0, 0], block).wait()
                        ttl.copy(block, pipe).wait()
                    with dfb.wait() as block:
                        ttl.copy(block, a[0, 0]).wait()
                    done.wait_ge(initial + 1)

                def receive(pipe):
                    with dfb.reserve() as block:
                        ttl.copy(pipe, block).wait()
                    with dfb.wait() as block:
                        ttl.copy(block, a[0, 1]).wait()
                    to_first.inc(1)

                net.if_src(send)
                net.if_dst(receive)

        return operation

    driver = Driver()
    tensor = ttnn.ones((32, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    for number, (receiver, initial) in enumerate([((1, 0), 0), ((2, 0), 0), ((2, 0), 5)], 1):
        operation = operation_to(receiver, initial)
        for _ in range(2):
            compiled_by(driver, operation.program((tensor,), {}, (8, 8)))
        assert len(driver.artifacts) == number
