"""Programs around a compute kernel, run on the simulator and, compiled, on the host.

`a` and `b` are streams of blocks of one shape, `w` is a stream of square blocks that fit after a
product; the compute kernel writes a stream of blocks `y`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest

import ttl
from golden.example_programs import load_file
from ttl import ttnn
from ttl.semantics.dtypes import TF32_STEP

DEVICE = ttnn.open_device(device_id=0)

TEMPLATE = """import ttl
import ttnn


@ttl.operation(grid=(1, 1){options})
def operation(a, b, w, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=({rows}, {columns}), block_count=1)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=({rows}, {columns}), block_count=1)
{declare_w}
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=({rows}, {columns}), block_count=1)

    @ttl.compute()
    def compute():
{body}

    @ttl.datamovement()
    def read():
        for i in range({steps}):
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk{reserve_w}:
                ttl.copy(a[i * {rows} : i * {rows} + {rows}, 0:{columns}], a_blk).wait()
                ttl.copy(b[i * {rows} : i * {rows} + {rows}, 0:{columns}], b_blk).wait()
{copy_w}

    @ttl.datamovement()
    def write():
        for i in range({count}):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[i * {rows} : i * {rows} + {rows}, 0:{columns}]).wait()
"""
# Without a product the third buffer is left out: the DST registers may have 16 bits then.
W_PARTS = {
    "declare_w": "    shape = ({columns}, {columns})\n"
    "    w_dfb = ttl.make_dataflow_buffer_like(w, shape=shape, block_count=1)",
    "reserve_w": ", w_dfb.reserve() as w_blk",
    "copy_w": "                ttl.copy(w[0:{columns}, 0:{columns}], w_blk).wait()",
}


@dataclass(frozen=True)
class ComputeProgram:
    """`body` is the text of the compute kernel; ROWS and COLUMNS in it are the block's."""

    body: str
    shape: tuple[int, int] = (1, 1)
    steps: int = 1  # blocks of a, b and w
    count: int = 1  # blocks of y
    options: str = ""
    dtype: Any = ttnn.bfloat16
    out_dtype: Any = None
    b_dtype: Any = None  # of w, too
    values: tuple[float, float] = (-2.0, 2.0)
    b_values: tuple[float, float] | None = None

    def text(self) -> str:
        rows, columns = self.shape
        parts = {
            name: text.format(columns=columns) if "w_dfb" in self.body else ""
            for name, text in W_PARTS.items()
        }
        body = self.body.replace("ROWS", str(rows)).replace("COLUMNS", str(columns))
        return TEMPLATE.format(
            rows=rows,
            columns=columns,
            body=indent(body.strip("\n"), " " * 8),
            steps=self.steps,
            count=self.count,
            options=self.options,
            **parts,
        )

    def arrays(self) -> list[np.ndarray]:
        rows, columns = (size * 32 for size in self.shape)
        generator = np.random.default_rng(7)
        streams = (rows * self.steps, columns)
        shapes = [(streams, self.values), (streams, self.b_values or self.values)]
        shapes.append(((columns, columns), self.values))
        if not self.dtype.is_float:
            return [generator.integers(*values, shape, np.int64) for shape, values in shapes]
        return [generator.uniform(*values, shape).astype(np.float32) for shape, values in shapes]

    def inputs(self) -> list[np.ndarray]:
        """As they are in the tensors."""
        return [_numbers(tensor) for tensor in self._tensors()[:3]]

    def _tensors(self) -> list[ttnn.Tensor]:
        dtypes = (self.dtype, *[self.b_dtype or self.dtype] * 2)
        tensors = [
            ttl.from_numpy(x, dtype=dtype, device=DEVICE)
            for x, dtype in zip(self.arrays(), dtypes, strict=True)
        ]
        output = (self.shape[0] * 32 * self.count, self.shape[1] * 32)
        return [
            *tensors,
            ttnn.full(
                output, 77.0, self.out_dtype or self.dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE
            ),
        ]

    def run(self, backend: str) -> list[np.ndarray]:
        """The blocks of y."""
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(self.text())
        tensors = self._tensors()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TTL_BACKEND", backend)
            load_file(Path(file.name)).operation(*tensors)
        Path(file.name).unlink()
        return np.split(_numbers(tensors[3]), self.count)

    def both(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The blocks of y, as simulated and as computed by the compiled program."""
        return list(zip(self.run("sim"), self.run("host"), strict=True))


def _numbers(tensor: ttnn.Tensor) -> np.ndarray:
    return ttl.to_numpy(tensor).astype(tensor.dtype.carrier)


def stores(expressions: list[str], uses_w: bool = False) -> str:
    """A kernel body that stores each expression of a_blk, b_blk and w_blk."""
    third = ", w_dfb.wait() as w_blk" if uses_w else ""
    lines = [f"with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk{third}:"]
    for expression in expressions:
        lines += ["    with y_dfb.reserve() as y_blk:", f"        y_blk.store({expression})"]
    return "\n".join(lines)


def assert_equal(program: ComputeProgram) -> None:
    """Number for number; the vector unit's zero products have no sign."""
    for simulated, compiled in program.both():
        assert_kept(program, simulated, compiled)


def assert_kept(
    program: ComputeProgram, simulated: np.ndarray, compiled: np.ndarray, name: str = ""
) -> None:
    """Number for number. But where all buffers have 16 bits and the registers 32, the values that
    the compiler keeps are read as TF32 (docs/decisions/0005). What is cut off of one, at most the
    product of two inputs, may be left, and move a stored number by a unit, or by two where it was
    computed from stored ones."""
    is_narrow = program.dtype.is_float and program.dtype != ttnn.float32
    if not is_narrow or "fp32_dest_acc_en=True" not in program.options:
        np.testing.assert_array_equal(compiled, simulated, name)
        return
    lost = TF32_STEP * max(map(abs, program.values)) ** 2
    np.testing.assert_allclose(compiled, simulated, rtol=2.0**-6, atol=lost, err_msg=name)


def assert_close(program: ComputeProgram, tolerance: float = 2.0**-7) -> None:
    """Sums of products may be added up in any order."""
    for simulated, compiled in program.both():
        scale = np.abs(simulated).max()
        assert scale > 0
        np.testing.assert_allclose(compiled, simulated, rtol=tolerance, atol=tolerance * scale)
