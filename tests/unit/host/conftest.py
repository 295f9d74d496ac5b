"""Tiny operations: every test writes a kernel or two and runs them through `launch`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ttl.artifact import Buffer, CompiledOperation, ComputeConfig, Kernel, Operand, ThreadKind
from ttl.config import Config
from ttl.diagnostics import Span
from ttl.host import launch
from ttl.trace import Recorder

SAMPLES = Path(__file__).parents[2] / "headers" / "samples"
DTYPES = {
    "BFloat16": ml_dtypes.bfloat16,
    "Float32": np.float32,
    "Int32": np.int32,
    "UInt32": np.uint32,
    "UInt16": np.uint16,
    "UInt8": np.uint8,
}
INCLUDES = """#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"
"""
HEADER_LINES = INCLUDES.count("\n") + 1  # and `void kernel_main() {`


def to_tiles(matrix: np.ndarray) -> np.ndarray:
    """Pages in chip order: tiles row by row, each as four 16x16 faces."""
    rows, columns = matrix.shape
    split = matrix.reshape(rows // 32, 2, 16, columns // 32, 2, 16)
    return split.transpose(0, 3, 1, 4, 2, 5).reshape(-1, 1024)


def from_tiles(tiles: np.ndarray, rows: int, columns: int) -> np.ndarray:
    split = tiles.reshape(rows // 32, columns // 32, 2, 2, 16, 16)
    return split.transpose(0, 2, 4, 1, 3, 5).reshape(rows, columns)


@dataclass
class Tensor:
    """The least that a launcher needs of a tensor."""

    tiles: np.ndarray  # (pages, values)
    memory: str = "dram"
    writes: int = 0

    @property
    def page_bytes(self) -> int:
        return int(self.tiles[0].nbytes)

    def read_pages(self) -> np.ndarray:
        return self.tiles.view(np.uint8).reshape(len(self.tiles), -1).copy()

    def write_pages(self, pages: np.ndarray) -> None:
        self.writes += 1
        self.tiles = pages.reshape(-1).view(self.tiles.dtype).reshape(self.tiles.shape).copy()


def mapped(name: str, source: str) -> tuple[tuple[int, Span], ...]:
    """A source map that sends C++ line n to line n of a Python file called after the kernel."""
    return tuple(
        (line, Span(f"{name}.py", line, 1, line, 2)) for line in range(1, source.count("\n") + 2)
    )


def make_kernel(
    name: str,
    thread: ThreadKind,
    source: str,
    tensor_indices: tuple[int, ...] = (),
    config: ComputeConfig | None = None,
) -> Kernel:
    return Kernel(name, thread, source, tensor_indices, config, mapped(name, source))


def make_operation(
    kernels: Sequence[Kernel],
    buffers: Sequence[Buffer],
    operand_count: int,
    corner: tuple[int, int] = (0, 0),
    target: str = "wormhole_b0",
) -> CompiledOperation:
    operands = tuple(
        Operand(f"tensor{i}", (32, 32), "bfloat16", "tile") for i in range(operand_count)
    )
    return CompiledOperation(
        "tiny", target, "0.81", tuple(kernels), tuple(buffers), operands, ((0, 0), corner)
    )


def make_buffer(
    name: str,
    index: int,
    tiles: int,
    count: int = 1,
    data_format: str = "BFloat16",
    unpack_to_dest_fp32: bool = False,
) -> Buffer:
    return Buffer(
        name,
        index,
        data_format,
        tiles,
        count,
        unpack_to_dest_fp32,
        Span("buffers.py", index + 1, 1, index + 1, 4),
    )


def compute_source(body: str, headers: Sequence[str] = ()) -> str:
    more = "".join(f'#include "api/compute/{header}"\n' for header in headers)
    return f"{INCLUDES}{more}void kernel_main() {{\n{body}\n}}\n"


def _reader_source(counts: Sequence[int], tensor_count: int) -> str:
    lines = ['#include "api/dataflow/dataflow_api.h"', "void kernel_main() {"]
    for i, count in enumerate(counts):
        lines += [
            f"const auto t{i} = TensorAccessor(TensorAccessorArgs<{tensor_count + 2 * i}>(), "
            f"get_common_arg_val<uint32_t>({i}));",
            f"cb_reserve_back({i}, {count});",
            f"for (uint32_t p = 0; p < {count}; ++p)",
            f"  noc_async_read_page(p, t{i}, get_write_ptr({i}) + p * get_tile_size({i}));",
            "noc_async_read_barrier();",
            f"cb_push_back({i}, {count});",
        ]
    return "\n".join([*lines, "}"])


def _writer_source(output: int, count: int, tensor_count: int) -> str:
    return f"""#include "api/dataflow/dataflow_api.h"
void kernel_main() {{
  const auto t = TensorAccessor(TensorAccessorArgs<{tensor_count + 2 * output}>(),
                                get_common_arg_val<uint32_t>(0));
  cb_wait_front({output}, {count});
  for (uint32_t p = 0; p < {count}; ++p)
    noc_async_write_page(p, t, get_read_ptr({output}) + p * get_tile_size({output}));
  noc_async_write_barrier();
  cb_pop_front({output}, {count});
}}
"""


ComputeRunner = Callable[..., np.ndarray]


@pytest.fixture(scope="session")
def cache_dir() -> Path:
    """That of all tests: the runtime in it is made once, kernels of the last run are there."""
    return Config.current().cache_dir


@pytest.fixture
def run_compute(cache_dir: Path) -> ComputeRunner:
    """Runs `body` with input i in buffer i and the output in the last buffer.

    Every input is a list of tiles; a tile is a number or 1024 values. The result is
    (output_tiles, 1024), float32 or integers. `headers` come after those of INCLUDES.
    """

    def run(
        body: str,
        inputs: Sequence[Sequence[float | np.ndarray]],
        output_tiles: int = 1,
        formats: Sequence[str] | None = None,
        output_format: str = "BFloat16",
        unpack_to_dest: bool = False,
        recorder: Recorder | None = None,
        headers: Sequence[str] = (),
        **config: bool,
    ) -> np.ndarray:
        formats = formats or ["BFloat16"] * len(inputs)
        tensors = [
            Tensor(np.array([np.broadcast_to(t, 1024) for t in tiles]).astype(DTYPES[name]))
            for tiles, name in zip(inputs, formats, strict=True)
        ]
        tensors.append(Tensor(np.zeros((output_tiles, 1024), DTYPES[output_format])))
        count, output = len(tensors), len(inputs)
        buffers = [
            make_buffer(f"in{i}", i, len(tiles), 1, formats[i], unpack_to_dest)
            for i, tiles in enumerate(inputs)
        ]
        buffers.append(make_buffer("out", output, output_tiles, 1, output_format))
        compute = make_kernel(
            "compute",
            ThreadKind.COMPUTE,
            compute_source(body, headers),
            (),
            ComputeConfig(**config),
        )
        reader = make_kernel(
            "read",
            ThreadKind.READER,
            _reader_source([len(t) for t in inputs], count),
            tuple(range(output)),
        )
        writer = make_kernel(
            "write", ThreadKind.WRITER, _writer_source(output, output_tiles, count), (output,)
        )
        operation = make_operation([compute, reader, writer], buffers, count)
        launch(operation, tensors, cache_dir=cache_dir, recorder=recorder)
        result = tensors[-1].tiles
        return result if result.dtype.kind in "iu" else result.astype(np.float32)

    return run


@pytest.fixture
def tiny():  # type: ignore[no-untyped-def]
    """The builders above, for tests that make whole operations."""
    import types

    return types.SimpleNamespace(
        Tensor=Tensor,
        make_kernel=make_kernel,
        make_buffer=make_buffer,
        make_operation=make_operation,
        compute_source=compute_source,
        samples=SAMPLES,
        to_tiles=to_tiles,
        from_tiles=from_tiles,
        header_lines=HEADER_LINES,
        mapped=mapped,
    )
