"""Programs whose blocks have different shapes, run on the simulator and, compiled, on the host."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest

import ttl
from golden.example_programs import load_file
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)
Shape = tuple[int, ...]

TEMPLATE = """import ttl
from ttl import ttnn


@ttl.operation(grid=(1, 1){options})
def operation({parameters}):
{buffers}

    @ttl.compute()
    def compute():
{body}

    @ttl.datamovement()
    def read():
{reads}

    @ttl.datamovement()
    def write():
{writes}
"""


@dataclass(frozen=True)
class ShapeProgram:
    """`results` are expressions of the blocks named in `blocks`, with the shapes they have.

    With a `body` of one's own, they are the stores into blocks y0, y1, ... that it makes. `dtypes`
    has the element types of those, read or stored, that have another one than `dtype`.
    """

    blocks: dict[str, Shape]
    results: list[tuple[str, Shape]]
    dtype: Any = ttnn.bfloat16
    options: str = ""
    values: tuple[float, float] = (-2.0, 2.0)
    body: str | None = None
    steps: int = 1  # how often the blocks are read
    dtypes: dict[str, Any] = field(default_factory=dict)

    def names(self) -> list[str]:
        return [*self.blocks, *(f"y{i}" for i in range(len(self.results)))]

    def shapes(self) -> list[Shape]:
        return [*self.blocks.values(), *(shape for _, shape in self.results)]

    def __post_init__(self) -> None:
        """Only the blocks that are read: a kernel may not leave one out."""
        text = self.body or " ".join(text for text, _ in self.results)
        used = {n: s for n, s in self.blocks.items() if re.search(rf"\b{n}(_dfb)?\b", text)}
        object.__setattr__(self, "blocks", used)

    def kernel(self) -> str:
        if self.body is not None:
            return self.body.strip("\n")
        waits = ", ".join(f"{name}_dfb.wait() as {name}" for name in self.blocks)
        lines = [f"with {waits}:"]
        for i, (text, _) in enumerate(self.results):
            lines += [f"    with y{i}_dfb.reserve() as y{i}:", f"        y{i}.store({text})"]
        return "\n".join(lines)

    def text(self) -> str:
        buffers, reads, writes = [], [f"for step in range({self.steps}):"], []
        make = "ttl.make_dataflow_buffer_like"
        for name, shape in zip(self.names(), self.shapes(), strict=True):
            declared = f"{name}, shape={shape}, block_count={self.steps}"
            buffers.append(f"{name}_dfb = {make}({declared})")
            place = ", ".join(f"0:{size}" for size in shape)
            if name in self.blocks:
                reads.append(f"    with {name}_dfb.reserve() as blk:")
                reads.append(f"        ttl.copy({name}[{place}], blk).wait()")
            else:
                writes.append(f"with {name}_dfb.wait() as blk:")
                writes.append(f"    ttl.copy(blk, {name}[{place}]).wait()")
        return TEMPLATE.format(
            options=self.options,
            parameters=", ".join(self.names()),
            buffers=indent("\n".join(buffers), " " * 4),
            body=indent(self.kernel(), " " * 8),
            reads=indent("\n".join(reads), " " * 8),
            writes=indent("\n".join(writes), " " * 8),
        )

    def tensors(self) -> list[Any]:
        generator = np.random.default_rng(11)
        made = []
        for name, shape in zip(self.names(), self.shapes(), strict=True):
            extent = (*shape[:-2], *(size * 32 for size in shape[-2:]))
            if self.dtype.is_float:
                numbers = generator.uniform(*self.values, extent).astype(np.float32)
            else:
                numbers = generator.integers(*map(int, self.values), extent, np.int64)
            if name not in self.blocks:
                numbers[...] = 77.0
            dtype = self.dtypes.get(name, self.dtype)
            made.append(ttl.from_numpy(numbers, dtype=dtype, device=DEVICE))
        return made

    def inputs(self) -> dict[str, np.ndarray]:
        """As they are in the tensors."""
        arrays = [_numbers(tensor) for tensor in self.tensors()]
        return dict(zip(self.blocks, arrays, strict=False))

    def run(self, backend: str) -> list[np.ndarray]:
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(self.text())
        tensors = self.tensors()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TTL_BACKEND", backend)
            load_file(Path(file.name)).operation(*tensors)
        Path(file.name).unlink()
        return [_numbers(tensor) for tensor in tensors[len(self.blocks) :]]

    def both(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The results, as simulated and as computed by the compiled program."""
        return list(zip(self.run("sim"), self.run("host"), strict=True))


def _numbers(tensor: Any) -> np.ndarray:
    return ttl.to_numpy(tensor).astype(tensor.dtype.carrier)


def check_close(program: ShapeProgram, tolerance: float) -> None:
    """Relative to the largest number of each result."""
    for (text, _), (simulated, compiled) in zip(program.results, program.both(), strict=True):
        scale = np.abs(simulated).max()
        assert np.isfinite(simulated).all() and scale > 0, text
        np.testing.assert_allclose(
            compiled, simulated, rtol=tolerance, atol=tolerance * scale, err_msg=text
        )


def check_equal(program: ShapeProgram) -> None:
    for (text, _), (simulated, compiled) in zip(program.results, program.both(), strict=True):
        np.testing.assert_array_equal(compiled, simulated, err_msg=text)
