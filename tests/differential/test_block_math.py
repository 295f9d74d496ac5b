"""Every operation that has a tile column, at block sizes that do and do not fit in DST.

Bit for bit where the op table states no bound (numbers are compared: a zero may have lost its
sign), within the bound elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from differential.compute_programs import ComputeProgram, assert_close, assert_equal, stores
from ttl import ttnn
from ttl.semantics.ops import BLOCK_OPS, BlockOp

SHAPES = [(1, 1), (2, 2), (1, 5), (5, 5), (3, 7)]
DTYPES = {"bfloat16": ttnn.bfloat16, "float32": ttnn.float32}

# The numbers of each operation that takes some.
NUMBERS: dict[str, dict[str, float]] = {
    "pow": {"n": 3},
    "relu_max": {"upper": 1.7},
    "relu_min": {"lower": 0.7},
    "leaky_relu": {"slope": 0.3},
    "elu": {"slope": 1.1},
    "celu": {"alpha": 1.1, "alpha_recip": 0.9},
    "prelu": {"alpha": 0.3},
    "hardtanh": {"min": -0.3, "max": 1.7},
    "selu": {"scale": 1.05, "alpha": 1.67},
    "round": {"decimals": 1},
    "clamp": {"min": -0.3, "max": 1.7},
}
# Functions that have no value everywhere get the other block, of numbers between these.
SOMEWHERE = ("log", "logp1", "sqrt", "rsqrt", "recip", "asin", "acos", "atanh", "tan")
B_VALUES = (0.1, 0.95)
ELSEWHERE = {"acosh": (1.1, 4.0)}


def compiled_operations() -> list[BlockOp]:
    return [op for op in BLOCK_OPS.values() if op.tile and op.name != "matmul"]


def text_of(op: BlockOp) -> str:
    operands = ["a_blk", "b_blk"] if op.operands == 2 else [f"{block_of(op)}_blk"]
    if op.operator and op.operands == 2:
        return f" {op.operator} ".join(operands)
    numbers = [f"{name}={value}" for name, value in NUMBERS.get(op.name, {}).items()]
    return f"ttl.math.{op.name}({', '.join(operands + numbers)})"


def block_of(op: BlockOp) -> str:
    return "b" if op.name in SOMEWHERE else "a"


def batches() -> list[tuple[BlockOp, ...]]:
    """Many operations a program: what takes time is compiling the C++."""
    ops = [op for op in compiled_operations() if op.name not in ELSEWHERE]
    return [tuple(ops[i::2]) for i in range(2)]


def test_every_operation_with_numbers_is_given_some() -> None:
    assert {op.name for op in compiled_operations() if op.parameters} == set(NUMBERS)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("batch", batches(), ids=lambda batch: f"{batch[0].name}...")
def test_operations(batch: tuple[BlockOp, ...], shape: tuple[int, int], dtype: str) -> None:
    check_operations(batch, shape, dtype, values=(-4.0, 4.0), b_values=B_VALUES)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_operations_on_other_numbers(name: str) -> None:
    check_operations((BLOCK_OPS[name],), (1, 1), "float32", values=ELSEWHERE[name])


def check_operations(
    ops: tuple[BlockOp, ...], shape: tuple[int, int], dtype: str, **values: Any
) -> None:
    # Behind the operations a sum, because all blocks must be read.
    texts = [*(text_of(op) for op in ops), "a_blk + b_blk"]
    program = ComputeProgram(
        stores(texts), shape, count=len(texts), dtype=DTYPES[dtype], **values
    )
    inputs = dict(zip("ab", program.inputs(), strict=False))
    for op, (simulated, compiled) in zip(ops, program.both(), strict=False):
        if op.bound is None:
            np.testing.assert_array_equal(compiled, simulated, op.name)
            continue
        operands = [inputs["a"], inputs["b"]] if op.operands == 2 else [inputs[block_of(op)]]
        allowed = allowance(op, operands, dtype, simulated)
        assert (np.abs(compiled - simulated) <= allowed).all(), op.name


def allowance(op: BlockOp, operands: list[np.ndarray], dtype: str, result: np.ndarray) -> Any:
    """Each engine may be off by the bound, and then be rounded to the other side."""
    spacing = {"bfloat16": 2.0**-7, "float32": 2.0**-23}[dtype]
    bound: Callable[..., Any] | None = op.bound
    assert bound is not None
    numbers = {name: np.float32(v) if name not in ("n", "decimals") else v
               for name, v in NUMBERS.get(op.name, {}).items()}  # fmt: skip
    return 2 * bound(spacing, *operands, **numbers) + spacing * np.abs(result)


PRODUCTS = [
    "a_blk @ w_blk",
    "a_blk @ w_blk * b_blk",
    "b_blk - a_blk @ w_blk",
    "ttl.math.tanh(a_blk @ w_blk)",
    "a_blk @ w_blk + b_blk @ w_blk",
    "ttl.math.relu(a_blk @ w_blk + b_blk)",
    "a_blk @ w_blk + ttl.math.exp(b_blk)",
    "(a_blk @ w_blk) * 0.5 - b_blk",
    "(a_blk + b_blk) @ w_blk",
    "(a_blk @ w_blk) @ (w_blk * w_blk)",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_products_with_epilogues(shape: tuple[int, int], dtype: str) -> None:
    body = stores(PRODUCTS, uses_w=True)
    tolerance = {"bfloat16": 2.0**-7, "float32": 2.0**-15}[dtype]
    program = ComputeProgram(body, shape, count=len(PRODUCTS), dtype=DTYPES[dtype])
    assert_close(program, tolerance)


def test_a_product_in_16_bit_registers() -> None:
    body = stores(["a_blk @ w_blk + b_blk"], uses_w=True)
    options = ", fp32_dest_acc_en=False"
    assert_close(ComputeProgram(body, (3, 3), options=options), 2.0**-4)


# More values at once than there are registers.
DEEP = "\n".join(
    [
        "with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:",
        *(f"    x{i} = ttl.math.relu(a_blk * {i + 1} - b_blk)" for i in range(12)),
        *(f"    z{i} = ttl.math.max(x{i}, x{(i * 5 + 3) % 12}) - x{11 - i}" for i in range(12)),
        "    with y_dfb.reserve() as y_blk:",
        f"        y_blk.store({' + '.join(f'z{i} * x{(i * 7) % 12}' for i in range(12))})",
    ]
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_more_values_than_registers(dtype: str) -> None:
    assert_equal(ComputeProgram(DEEP, (3, 3), dtype=DTYPES[dtype]))
