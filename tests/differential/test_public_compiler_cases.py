"""What the public compiler translates wrongly, aborts on or accepts in silence, by its names there.

More of its wrong code is in test_block_values.py (store_twice_mt, store_in_loop, nested_acc,
f_store_then_acc, coalesce), its pipes are with the pipes.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import ttl
from differential.compute_programs import ComputeProgram, assert_close, assert_equal, stores
from differential.shape_programs import ShapeProgram, check_close, check_equal
from golden.example_programs import load_file
from ttl import ttnn
from ttl.diagnostics import TTLError

DEVICE = ttnn.open_device(device_id=0)

# A product and what follows it, on blocks of several tiles; the last two end the process there.
EPILOGUES = {
    "mm_mul": "(a_blk @ w_blk) * b_blk",
    "mm_sub": "(a_blk @ w_blk) - b_blk",
    "sub_mm": "b_blk - a_blk @ w_blk",
    "mm_scaled_bias": "ttl.math.exp(a_blk @ w_blk * 0.01) + b_blk",
    "relu": "ttl.math.relu(a_blk @ w_blk + b_blk) * a_blk",
    "two products": "a_blk @ w_blk + b_blk @ w_blk",
    "product and function": "a_blk @ w_blk + ttl.math.exp(b_blk)",
}


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32], ids=str)
@pytest.mark.parametrize("shape", [(2, 2), (3, 4)], ids=str)
def test_epilogues_of_products(shape: tuple[int, int], dtype: Any) -> None:
    texts = list(EPILOGUES.values())
    program = ComputeProgram(stores(texts, True), shape, count=len(texts), dtype=dtype)
    assert_close(program, 2.0**-6 if dtype is ttnn.bfloat16 else 2.0**-18)


BODIES = {
    "f_reassign": """
        x = 0
        for i in range(3):
            x = x + 1
        with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk * x + b_blk)
    """,
    "block_out_then_in": """
        with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk + b_blk)
            y_blk.store(y_blk * a_blk)
    """,
    "neg": """
        with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
            y_blk.store(-a_blk + b_blk)
    """,
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    assert_equal(ComputeProgram(dedent(BODIES[name]), (2, 2)))


def test_every_float32_buffer_is_unpacked_exactly() -> None:
    """There only buffer 0: the others lose digits."""
    texts = ["ttl.math.max(a_blk, b_blk)", "ttl.math.abs(b_blk) + a_blk * 0"]
    assert_equal(ComputeProgram(stores(texts), (1, 2), count=2, dtype=ttnn.float32))


def test_blocks_of_three_dimensions_have_their_size() -> None:
    """f_block3d"""
    results = [("x + z", (3, 2, 2)), ("ttl.math.exp(x) * 2.0", (3, 2, 2))]
    check_close(ShapeProgram({"x": (3, 2, 2), "z": (3, 2, 2)}, results), 2.0**-6)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_unsigned_tiles(dtype: str) -> None:
    """They end the process there, in exp too, which has no meaning for them."""
    element_type = getattr(ttnn, dtype)
    results = [("x * x + 3", (2, 2))]
    check_equal(ShapeProgram({"x": (2, 2)}, results, element_type, values=(0, 200)))
    program = ShapeProgram({"x": (2, 2)}, [("ttl.math.exp(x)", (2, 2))], element_type)
    with pytest.raises(TTLError, match=f"exp.* has no meaning for {dtype}"):
        program.run("host")


PROGRAM = """
import ttl


@ttl.operation(grid=(1, 1))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    {declared}

    @ttl.compute()
    def compute():
        {compute}

    @ttl.{kind}()
    def read():
        {read}

    @ttl.datamovement()
    def write():
        {write}
"""
RIGHT = {
    "declared": "",
    "kind": "datamovement",
    "compute": "with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk: y_blk.store(a_blk + a_blk)",
    "read": "with a_dfb.reserve() as blk: ttl.copy(a[0, 0], blk).wait()",
    "write": "with y_dfb.wait() as blk: ttl.copy(blk, y[0, 0]).wait()",
}
# What is different, and the diagnostic.
SILENT: dict[str, tuple[dict[str, str], str]] = {
    "e17 never written": (
        {"compute": "with a_dfb.wait() as x, y_dfb.reserve() as y_blk: z = x + x"},
        "TTL3001",
    ),
    "e19 double push": (
        {"read": "blk = a_dfb.reserve(); ttl.copy(a[0, 0], blk).wait(); blk.push(); blk.push()"},
        "TTL3001",
    ),
    "e33 extent": (
        {"read": "with a_dfb.reserve() as blk: ttl.copy(a[0:2, 0:1], blk).wait()"},
        "TTL2001",
    ),
    "e34 out of bounds": (
        {"read": "with a_dfb.reserve() as blk: ttl.copy(a[7, 0], blk).wait()"},
        "TTL2004",
    ),
    "e36 pop of a reserved block": (
        {"read": "blk = a_dfb.reserve(); ttl.copy(a[0, 0], blk).wait(); blk.pop()"},
        "TTL3001",
    ),
    "e36 push of a waited block": (
        {"write": "blk = y_dfb.wait(); ttl.copy(blk, y[0, 0]).wait(); blk.push()"},
        "TTL3001",
    ),
    "e37 use after pop": (
        {
            "write": "blk = y_dfb.wait(); ttl.copy(blk, y[0, 0]).wait(); blk.pop(); "
            "ttl.copy(blk, y[0, 0]).wait()"
        },
        "TTL3001",
    ),
    "e38 copy in compute": (
        {"compute": "with a_dfb.wait() as blk: ttl.copy(blk, y[0, 0]).wait()"},
        "TTL1002",
    ),
    "e39 math in data movement": (
        {"read": "with a_dfb.reserve() as blk: blk.store(ttl.math.fill(1))"},
        "TTL1002",
    ),
    "two compute kernels": ({"kind": "compute", "read": "pass"}, "TTL1006"),
}


def operation_of(folder: Path, changes: dict[str, str]) -> Any:
    path = folder / "program.py"
    path.write_text(PROGRAM.format(**{**RIGHT, **changes}), encoding="utf-8")
    return load_file(path).operation


def tensors(device: Any = DEVICE) -> list[Any]:
    return [
        ttnn.full((64, 64), value, ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        for value in (1.5, 0.0)
    ]


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("backend", ["sim", "host"])
def test_what_is_accepted_in_silence(
    name: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, code = SILENT[name]
    monkeypatch.setenv("TTL_BACKEND", backend)
    with pytest.raises(TTLError) as caught:
        operation_of(tmp_path, changes)(*tensors())
    assert code in [found.code.code for found in caught.value.diagnostics]


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_host_tensors(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """e40"""
    monkeypatch.setenv("TTL_BACKEND", backend)
    given = tensors(device=None)
    operation_of(tmp_path, {})(*given)
    assert (ttl.to_numpy(given[1])[:32, :32].astype(np.float32) == 3.0).all()


def test_an_unused_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There it fails at launch."""
    monkeypatch.setenv("TTL_BACKEND", "host")
    given = tensors()
    unused = {"declared": "unused_dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 2))"}
    operation_of(tmp_path, unused)(*given)
    assert (ttl.to_numpy(given[1])[:32, :32].astype(np.float32) == 3.0).all()
