"""ttnn.generic_op: kernels that were written by hand run on the executor."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from ttl import ttnn
from ttl.artifact import read_folder, write_folder
from ttl.diagnostics import CompileError, KernelFault, UsageError
from ttl.driver.generic_programs import compiled_program

DEVICE = ttnn.open_device(device_id=0)
SOURCE_CODE = ttnn.KernelDescriptor.SourceType.SOURCE_CODE

# A guard and a macro of the same name stand in the kernel that writes, too.
READ = """
#ifndef GUARD
#define GUARD
#define TILES get_arg_val<uint32_t>(0)
void kernel_main() {
  constexpr auto a_args = TensorAccessorArgs<0>();
  constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  const auto a = TensorAccessor(a_args, get_common_arg_val<uint32_t>(0));
  const auto b = TensorAccessor(b_args, get_common_arg_val<uint32_t>(1));
  const uint32_t first = get_arg_val<uint32_t>(1);
  for (uint32_t page = first; page < first + TILES; ++page) {
    cb_reserve_back(0, 1);
    cb_reserve_back(1, 1);
    noc_async_read_page(page, a, get_write_ptr(0));
    noc_async_read_page(page, b, get_write_ptr(1));
    noc_async_read_barrier();
    cb_push_back(0, 1);
    cb_push_back(1, 1);
  }
}
#endif
"""
COMPUTE = """
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/pack.h"

void kernel_main() {
  constexpr uint32_t out = get_named_compile_time_arg_val("out");
  const uint32_t tiles = get_arg_val<uint32_t>(0);
  compute_kernel_hw_startup(0, 1, out);
  for (uint32_t i = 0; i < tiles; ++i) {
    cb_wait_front(0, 1);
    cb_wait_front(1, 1);
    cb_reserve_back(out, 1);
    tile_regs_acquire();
    INIT(0, 1);
    CALL(0);
    relu_tile_init();
    relu_tile(0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, out);
    tile_regs_release();
    cb_pop_front(0, 1);
    cb_pop_front(1, 1);
    cb_push_back(out, 1);
  }
}
"""
WRITE = """
#include "api/dataflow/dataflow_api.h"
#ifndef GUARD
#define GUARD
#define TILES get_arg_val<uint32_t>(0)
void kernel_main() {
  constexpr auto y_args = TensorAccessorArgs<0>();
  const auto y = TensorAccessor(y_args, get_common_arg_val<uint32_t>(0));
  const uint32_t first = get_arg_val<uint32_t>(1);
  for (uint32_t page = first; page < first + TILES; ++page) {
    cb_wait_front(OUT, 1);
    noc_async_write_page(page, y, get_read_ptr(OUT));
    noc_async_write_barrier();
    cb_pop_front(OUT, 1);
  }
}
#endif
"""
DEFINES = [("INIT", "add_init"), ("CALL(dst)", "add_tiles(0, 1, 0, 0, dst)")]
OUT = 5


def tensor(values: np.ndarray) -> ttnn.Tensor:
    return ttnn.from_numpy(values, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)


def buffer(index: int, cores: ttnn.CoreRangeSet, pages: int = 2) -> ttnn.CBDescriptor:
    form = ttnn.CBFormatDescriptor(index, ttnn.bfloat16, 2048)
    return ttnn.CBDescriptor(pages * 2048, cores, [form])


def accessors(*tensors: ttnn.Tensor) -> list[int]:
    arguments = [ttnn.TensorAccessorArgs(each).get_compile_time_args() for each in tensors]
    return [word for words in arguments for word in words]


def addresses(*tensors: ttnn.Tensor) -> list[int]:
    return [each.buffer_address() for each in tensors]


def split(columns: int, tiles: int) -> tuple[ttnn.CoreRangeSet, ttnn.RuntimeArgs]:
    """The cores, and for each how many tiles and from which on."""
    _, cores, *groups, more, less = ttnn.split_work_to_cores(ttnn.CoreCoord(columns, 1), tiles)
    arguments, first = ttnn.RuntimeArgs(), 0
    for group, count in zip(groups, (more, less), strict=True):
        for core in ttnn.corerange_to_cores(group):
            arguments[core.x][core.y] = [count, first]
            first += count
    return cores, arguments


class Sum:
    """relu(a + b) on three cores, of which one has less to do."""

    def __init__(self) -> None:
        values = np.random.default_rng(7).standard_normal((3, 64, 160)).astype(np.float32)
        self.a, self.b, self.y = (tensor(each) for each in values)
        self.cores, arguments = split(3, 10)
        shared = {"core_ranges": self.cores, "source_type": SOURCE_CODE, "runtime_args": arguments}
        self.read = ttnn.KernelDescriptor(
            READ,
            **shared,
            compile_time_args=accessors(self.a, self.b),
            common_runtime_args=addresses(self.a, self.b),
            config=ttnn.ReaderConfigDescriptor(),
        )
        self.compute = ttnn.KernelDescriptor(
            COMPUTE,
            **shared,
            named_compile_time_args=[("out", OUT)],
            defines=DEFINES,
            config=ttnn.ComputeConfigDescriptor(),
        )
        self.write = ttnn.KernelDescriptor(
            WRITE,
            **shared,
            compile_time_args=accessors(self.y),
            defines=[("OUT", str(OUT))],
            common_runtime_args=addresses(self.y),
            config=ttnn.WriterConfigDescriptor(),
        )
        self.program = ttnn.ProgramDescriptor(
            kernels=[self.read, self.compute, self.write],
            cbs=[buffer(index, self.cores) for index in (0, 1, OUT)],
        )

    def run(self) -> ttnn.Tensor:
        return ttnn.generic_op([self.a, self.b, self.y], self.program)

    def check(self) -> None:
        a, b, y = (ttnn.to_numpy(each).astype(np.float32) for each in (self.a, self.b, self.y))
        assert np.array_equal(y, np.maximum((a + b).astype(bfloat16), 0).astype(np.float32))


def test_work_that_is_split_over_cores() -> None:
    program = Sum()
    assert program.run() is program.y
    program.check()


def test_a_descriptor_is_used_again_with_other_addresses() -> None:
    program = Sum()
    program.run()
    program.a, program.y = tensor(np.ones((64, 160), np.float32)), tensor(np.zeros((64, 160)))
    program.read.common_runtime_args = addresses(program.a, program.b)
    program.write.common_runtime_args = addresses(program.y)
    program.run()
    program.check()


def test_kernels_are_files(tmp_path: Path) -> None:
    program = Sum()
    for name, kernel in (("read_both", program.read), ("store", program.write)):
        (tmp_path / f"{name}.cpp").write_text(kernel.kernel_source)
        kernel.kernel_source = str(tmp_path / f"{name}.cpp")
        kernel.source_type = ttnn.KernelDescriptor.SourceType.FILE_PATH
    program.run()
    program.check()


def test_a_program_comes_back_from_its_folder(tmp_path: Path) -> None:
    """Kernels of two files with one name are two, and two indices of one memory stay that."""
    program = Sum()
    for folder, kernel in (("a", program.read), ("b", program.write)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kernel.cpp").write_text(kernel.kernel_source)
        kernel.kernel_source = str(tmp_path / folder / "kernel.cpp")
        kernel.source_type = ttnn.KernelDescriptor.SourceType.FILE_PATH
    formats = [ttnn.CBFormatDescriptor(index, ttnn.bfloat16, 2048) for index in (2, 3)]
    program.program.cbs = [*program.program.cbs, ttnn.CBDescriptor(2048, program.cores, formats)]
    tensors = [program.a, program.b, program.y]
    compiled = compiled_program(program.program, tensors, DEVICE.target)
    write_folder(compiled, tmp_path)
    assert read_folder(tmp_path) == compiled


# A sum that goes through a buffer which is the result's under another index.
PASS_ON = """
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/pack.h"
#include "api/compute/tile_move_copy.h"

void kernel_main() {
  compute_kernel_hw_startup(0, 1, 2);
  cb_wait_front(0, 1);
  cb_wait_front(1, 1);
  cb_reserve_back(2, 1);
  tile_regs_acquire();
  add_init(0, 1);
  add_tiles(0, 1, 0, 0, 0);
  tile_regs_commit();
  tile_regs_wait();
  pack_tile(0, 2);
  tile_regs_release();
  cb_push_back(2, 1);
  cb_wait_front(2, 1);
  cb_reserve_back(3, 1);
  cb_push_back(3, 1);
  cb_pop_front(2, 1);
}
"""


def test_two_indices_of_one_memory() -> None:
    program = Sum()
    cores = ttnn.CoreRangeSet([ttnn.CoreRange((2, 3), (2, 3))])
    formats = [ttnn.CBFormatDescriptor(index, ttnn.bfloat16, 2048) for index in (2, 3)]
    program.program.cbs = [
        buffer(0, cores),
        buffer(1, cores),
        ttnn.CBDescriptor(2048, cores, formats),
    ]
    program.compute.kernel_source, program.compute.defines = PASS_ON, []
    program.write.defines = [("OUT", "3")]
    for kernel in program.program.kernels:
        kernel.core_ranges, kernel.runtime_args = cores, [(ttnn.CoreCoord(2, 3), [1, 4])]
    program.run()
    a, b, y = (ttnn.to_numpy(each)[:32, 128:] for each in (program.a, program.b, program.y))
    expected = (a.astype(np.float32) + b.astype(np.float32)).astype(bfloat16)
    assert np.array_equal(y.astype(np.float32), expected.astype(np.float32))


SEND = """
void kernel_main() {
  const auto x = TensorAccessor(TensorAccessorArgs<0>(), get_common_arg_val<uint32_t>(0));
  cb_reserve_back(0, 1);
  noc_async_read_page(0, x, get_write_ptr(0));
  noc_async_read_barrier();
  const uint32_t column = worker_logical_col_to_virtual_col[get_arg_val<uint32_t>(0)];
  const uint32_t row = worker_logical_row_to_virtual_row[get_arg_val<uint32_t>(1)];
  noc_async_write(get_write_ptr(0), get_noc_addr(column, row, get_write_ptr(0)), 2048);
  noc_async_write_barrier();
  noc_semaphore_inc(get_noc_addr(column, row, get_semaphore(3)), 1);
  noc_async_atomic_barrier();
}
"""
RECEIVE = """
void kernel_main() {
  const auto y = TensorAccessor(TensorAccessorArgs<0>(), get_common_arg_val<uint32_t>(0));
  cb_reserve_back(0, 1);
  noc_semaphore_wait(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(3)), 1);
  noc_async_write_page(1, y, get_write_ptr(0));
  noc_async_write_barrier();
}
"""


def on_two_cores(sender_config: Any, x: ttnn.Tensor, y: ttnn.Tensor) -> ttnn.ProgramDescriptor:
    """Two kernels for the same processor, on different cores."""
    one, other = (ttnn.CoreRangeSet([ttnn.CoreRange(core, core)]) for core in ((0, 0), (3, 1)))
    both = ttnn.CoreRangeSet([ttnn.CoreRange((0, 0), (0, 0)), ttnn.CoreRange((3, 1), (3, 1))])
    sends = ttnn.KernelDescriptor(
        SEND,
        SOURCE_CODE,
        one,
        compile_time_args=accessors(x),
        common_runtime_args=addresses(x),
        runtime_args=[(ttnn.CoreCoord(0, 0), [3, 1])],
        config=sender_config,
    )
    receives = ttnn.KernelDescriptor(
        RECEIVE,
        SOURCE_CODE,
        other,
        compile_time_args=accessors(y),
        common_runtime_args=addresses(y),
        config=ttnn.ReaderConfigDescriptor(),
    )
    semaphore = ttnn.SemaphoreDescriptor(id=3, core_ranges=both, initial_value=0)
    return ttnn.ProgramDescriptor([sends, receives], [semaphore], [buffer(0, both, 1)])


DATA_MOVEMENT = ttnn.DataMovementConfigDescriptor(
    processor=ttnn.DataMovementProcessor.RISCV_0, noc=ttnn.NOC.RISCV_0_default
)


@pytest.mark.parametrize("config", [ttnn.ReaderConfigDescriptor(), DATA_MOVEMENT])
def test_a_core_sends_to_another_one_with_another_kernel(config: Any) -> None:
    values = np.arange(32 * 64, dtype=np.float32).reshape(32, 64) % 256
    x, y = tensor(values), tensor(np.zeros((32, 64)))
    ttnn.generic_op([x, y], on_two_cores(config, x, y))
    assert np.array_equal(ttnn.to_numpy(y)[:, 32:], values[:, :32])


def test_a_deadlock_names_the_kernels() -> None:
    x, y = tensor(np.zeros((32, 64))), tensor(np.zeros((32, 64)))
    program = on_two_cores(ttnn.ReaderConfigDescriptor(), x, y)
    program.kernels = program.kernels[1:]
    with pytest.raises(KernelFault, match="semaphore 3 to be 1"):
        ttnn.generic_op([x, y], program)


@pytest.mark.wrong_kernel("a name that does not exist")
def test_the_compiler_rejects_a_kernel(tmp_path: Path) -> None:
    program = Sum()
    file = tmp_path / "broken.cpp"
    file.write_text(READ.replace("cb_push_back(1, 1)", "cb_push(1, 1)"))
    program.read.kernel_source = str(file)
    program.read.source_type = ttnn.KernelDescriptor.SourceType.FILE_PATH
    with pytest.raises(CompileError, match="rejected kernel `broken`") as caught:
        program.run()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.slug == "kernel-rejected"
    assert diagnostic.primary is not None
    span = diagnostic.primary.span
    assert (span.file, span.line) == (str(file), 18)


def test_a_fault_points_at_the_line_of_the_file(tmp_path: Path) -> None:
    program = Sum()
    file = tmp_path / "write.cpp"
    file.write_text(WRITE.replace("(page, y", "(page + 100, y"))
    program.write.kernel_source = str(file)
    program.write.source_type = ttnn.KernelDescriptor.SourceType.FILE_PATH
    with pytest.raises(KernelFault, match="page 100 of a tensor with 10 pages") as caught:
        program.run()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and (primary.span.file, primary.span.line) == (str(file), 12)


def change(kernel: str, **fields: Any) -> Callable[[Sum], None]:
    def apply(program: Sum) -> None:
        for name, value in fields.items():
            setattr(getattr(program, kernel), name, value)

    return apply


def core(x: int, y: int) -> ttnn.CoreRangeSet:
    return ttnn.CoreRangeSet([ttnn.CoreRange((x, y), (x, y))])


WRONG: Sequence[tuple[Callable[[Sum], Any], str]] = (
    (change("read", config=ttnn.WriterConfigDescriptor()), "the same processor of a core"),
    (change("read", common_runtime_args=[-1, 0]), "no number of 32 bits"),
    (change("read", core_ranges=core(40, 0), runtime_args=[]), r"core \(40, 0\) is not in"),
    (change("read", runtime_args=[(ttnn.CoreCoord(7, 7), [1])]), r"runtime_args for core \(7, 7\)"),
    (change("read", kernel_source="no_such.cpp", source_type=SOURCE_CODE.FILE_PATH), "no_such.cpp"),
    (change("read", core_ranges=None), "core_ranges=None: not a set of cores"),
    (change("read", config=3), "config=3: not the configuration of a kernel"),
    (change("program", kernels=[]), "a program without kernels"),
    (change("program", cbs=[buffer(99, core(0, 0))]), "99. are not numbers of"),
    (change("program", cbs=[buffer(0, core(0, 0)), buffer(0, core(0, 0))]), "buffers with index 0"),
    (change("program", semaphores=[ttnn.SemaphoreDescriptor(id=16)]), "has 16 semaphores"),
)


@pytest.mark.parametrize(("wrong", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_programs_point_at_the_call(wrong: Callable[[Sum], Any], message: str) -> None:
    program = Sum()
    wrong(program)
    with pytest.raises(UsageError, match=message) as caught:
        program.run()
    primary = caught.value.diagnostics[0].primary
    assert primary is not None and primary.span.file == __file__


def test_one_tensor_is_given_twice() -> None:
    with pytest.raises(UsageError, match="needs 2"):
        ttnn.generic_op([tensor(np.zeros((32, 32)))], ttnn.ProgramDescriptor())


def test_the_program_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[3] / "docs" / "howto" / "hand-written-kernels.md"
    _, program, rest = re.split(r"```(?:python)?\n", page.read_text())
    exec(compile(program, str(page), "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert f"It prints `{printed}`." in rest


def test_every_name_of_programs_is_one_of_ttnn() -> None:
    from ttl.ttnn import PROGRAMS, programs

    own = (
        name
        for name, value in vars(programs).items()
        if getattr(value, "__module__", "") == programs.__name__
    )
    assert {name for name in own if not name.startswith("_")} == set(PROGRAMS)
