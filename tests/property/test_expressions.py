"""Random block expressions through simulator, compiler and host executor.

Numbers are compared, so the sign of a zero is not: where the vector unit multiplies in 16-bit
registers, the vendor's code makes every zero positive.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

import ttl
from golden.example_programs import TARGET, load_file
from property.expressions import (
    KEPT,
    Store,
    evaluate_store,
    statements,
    stores,
    uses_matmul,
)
from ttl import host, sim, ttnn
from ttl.codegen import assemble
from ttl.config import Config
from ttl.diagnostics import CompileError
from ttl.dialects import make_context
from ttl.driver.compile import compile_operation
from ttl.frontend import build_module
from ttl.language.operation import Program
from ttl.passes import PIPELINE, find_pass, run_passes

DEVICE = ttnn.open_device(device_id=0)

Shape = tuple[int, int]
DTYPES = {"bfloat16": ttnn.bfloat16, "float32": ttnn.float32}

TEMPLATE = """
import ttl

@ttl.operation(grid=(1, 1))
def operation(a, b, w, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=({rows}, {columns}), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=({rows}, {columns}), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=({rows}, {columns}), block_count=2)
    {declare_w}

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk{wait_w}:
            {stores}

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
            a_copy = ttl.copy(a[0:{rows}, 0:{columns}], a_blk)
            b_copy = ttl.copy(b[0:{rows}, 0:{columns}], b_blk)
            a_copy.wait()
            b_copy.wait()
        {read_w}

    @ttl.datamovement()
    def write():
        for i in range({count}):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[i * {rows} : i * {rows} + {rows}, 0:{columns}]).wait()
"""
# Without a product the third buffer is left out: the DST registers may have 16 bits then.
W_PARTS = {
    "declare_w": "w_dfb = ttl.make_dataflow_buffer_like(w, shape=({columns}, {columns}))",
    "wait_w": ", w_dfb.wait() as w_blk",
    "read_w": "with w_dfb.reserve() as w_blk:\n"
    "            ttl.copy(w[0:{columns}, 0:{columns}], w_blk).wait()",
}


@dataclass(frozen=True)
class Case:
    shape: Shape
    dtype: str
    out_dtype: str
    stored: tuple[Store, ...]

    @property
    def has_product(self) -> bool:
        return any(uses_matmul(e) for s in self.stored for e in (s.value, s.body))

    @property
    def dst(self) -> str:
        """The format of the DST registers."""
        if "float32" in (self.dtype, self.out_dtype):
            return "float32"
        return KEPT if self.has_product else "bfloat16"

    def text(self) -> str:
        lines = []
        for each in self.stored:
            lines.append("with y_dfb.reserve() as y_blk:")
            lines += [f"    {line}" for line in statements(each)]
        rows, columns = self.shape
        w_parts = {
            name: text.format(columns=columns) if self.has_product else ""
            for name, text in W_PARTS.items()
        }
        return TEMPLATE.format(
            rows=rows,
            columns=columns,
            count=len(self.stored),
            stores="\n            ".join(lines),
            **w_parts,
        )

    def tensors(self) -> list[ttnn.Tensor]:
        rows, columns = self.shape
        generator = np.random.default_rng(7)
        shapes = [(rows, columns), (rows, columns), (columns, columns)]
        tensors = [
            ttl.from_numpy(_values(generator, shape), dtype=DTYPES[self.dtype], device=DEVICE)
            for shape in shapes
        ]
        output = (rows * 32 * len(self.stored), columns * 32)
        return [
            *tensors,
            ttnn.full(output, 77.0, DTYPES[self.out_dtype], layout=ttnn.TILE_LAYOUT, device=DEVICE),
        ]

    def program(self, folder: Path, tensors: list[ttnn.Tensor]) -> Program:
        handle, path = tempfile.mkstemp(suffix=".py", dir=folder)  # linecache knows old names
        os.close(handle)
        Path(path).write_text(self.text())
        operation = load_file(Path(path)).operation
        program: Program = operation.program(tuple(tensors), {}, TARGET.default_grid)
        return program


def _values(generator: np.random.Generator, shape: Shape) -> Any:
    """Between -1 and 1, and some numbers that are often treated differently."""
    values = generator.uniform(-1, 1, (shape[0] * 32, shape[1] * 32))
    values.flat[:6] = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0]
    return values


@st.composite
def cases(draw: st.DrawFn, count: int) -> Case:
    products = draw(st.booleans())
    return Case(
        draw(st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 5), (3, 3)])),
        draw(st.sampled_from(sorted(DTYPES))),
        draw(st.sampled_from(sorted(DTYPES))),
        tuple(draw(st.lists(stores(products), min_size=count, max_size=count))),
    )


def compile_unchecked(program: Program) -> ModuleOp:
    """All of the compiler, without the header check that a compilation of a test gets."""
    module = build_module(program, TARGET)
    run_passes([find_pass(name)() for name in PIPELINE], make_context(), module)
    module.verify()
    assemble("operation", module, ())
    return module


# Stored last, so that all blocks are read: the language asks for that.
READS_ALL = {
    True: Store(("@", ("a",)), ("+", ("t",), ("b",)), 0),
    False: Store(("a",), ("*", ("t",), ("b",)), 0),
}


def is_refused(case: Case, *stored: Store, folder: Path) -> str | None:
    """What the compiler says it cannot translate, or None."""
    alone = replace(case, stored=stored)
    program = alone.program(folder, alone.tensors())
    try:
        compile_unchecked(program)
    except CompileError as error:
        for diagnostic in error.diagnostics:
            # TTL2005: a fill without a shape as an operand of @, the program's own mistake.
            assert diagnostic.code.code in ("TTL7001", "TTL2005"), diagnostic
            assert diagnostic.primary is not None and diagnostic.helps
        return error.diagnostics[0].message
    return None


@settings(max_examples=settings.default.max_examples // 2, phases=[Phase.generate])
@given(case=cases(1))
def test_every_expression_is_compiled_or_refused_with_a_reason(
    tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    folder = tmp_path_factory.getbasetemp()
    event(is_refused(case, *case.stored, folder=folder) or "compiled")


@settings(max_examples=settings.default.max_examples // 12, phases=[Phase.generate])
@given(case=cases(6))
def test_engines_agree(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    folder = tmp_path_factory.getbasetemp()
    last = READS_ALL[case.has_product]
    refused = {each: is_refused(case, each, last, folder=folder) for each in case.stored}
    event(f"compiled {list(refused.values()).count(None)} of {len(refused)} expressions")
    stored = tuple(each for each, reason in refused.items() if reason is None)
    compare(replace(case, stored=(*stored, last)), folder)


def compare(case: Case, folder: Path) -> None:
    simulated, executed = case.tensors(), case.tensors()
    sim.run(case.program(folder, simulated), target=TARGET)
    program = case.program(folder, executed)
    compiled = compile_operation(program, TARGET, Config())
    storages = [tensor.storage for tensor in program.tensors.values()]
    host.launch(compiled, storages, cache_dir=Config.from_environment().cache_dir)
    results = [ttl.to_numpy(tensors[3]) for tensors in (simulated, executed)]
    inputs = {name: ttl.to_numpy(x) for name, x in zip("abw", simulated, strict=False)}
    dst = case.dst
    rows = case.shape[0] * 32
    for position, store in enumerate(case.stored):
        expected = evaluate_store(store, inputs, dst).rounded(case.out_dtype)
        part = slice(position * rows, (position + 1) * rows)
        for engine, result in zip(("simulator", "host"), results, strict=True):
            with np.errstate(invalid="ignore"):
                off = np.abs(result[part].astype(np.float64) - expected.values)
            off[np.isinf(expected.error)] = 0
            worst = np.unravel_index(np.argmax(off - expected.error), off.shape)
            assert (off <= expected.error).all(), (
                f"{engine}: {statements(store)} {case.dtype} -> {case.out_dtype} in {dst} DST, "
                f"blocks {case.shape}: {result[part][worst]} for {expected.values[worst]} "
                f"+- {expected.error[worst]} at {worst}, {(off > expected.error).sum()} elements"
            )
