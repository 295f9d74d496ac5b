"""The part of docs/reference/operators.md about special values and the chip's rounding.

Its tables are what the meanings of the op table give; tests/differential/test_special_values.py
compares them with compiled kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from op_samples import numbers_of
from special_values import MINUS_NAN
from ttl.semantics.ops import BLOCK_OPS, BlockOp, Domain
from ttl.semantics.ops.special_values import clear_nan_signs

HEAD = """
## Special values

What NaN, infinities, denormal numbers, zeros and the largest number give, on simulator and
executor: the rules are those of the device headers, and the tables are made from the op table.
`tests/differential/test_special_values.py` runs every operation in every element type on all
pairs of such values on both: bit for bit, signs of zeros and NaN included, or within the bound.

- Order: the vector unit compares signs and magnitudes (SFPSWAP), and so do maxima inside a tile
  (GMPOOL). So -0 is less than +0, and a NaN is beyond the infinity of its sign: `max(nan, 1)` is
  NaN, `min(nan, 1)` is 1, `clamp(nan, -1, 1)` is 1. `nan` below has no sign, `-nan` has one.
  Comparisons with a NaN are false, but for `!=`.
- The sign of a NaN: what is computed and is NaN has none, sums of rows and products included.
  What is moved or chosen keeps its own (copies, `transpose`, `broadcast`, `where`, masks, maxima,
  limits, casts), `neg` changes it and `abs` takes it away. On the chip a computed NaN may have
  either sign.
- Zeros: a product in 16-bit registers is +0 where a factor is 0, also of an infinity or NaN, and
  where it is too small. `round`, `//`, minima and reductions inside a tile give no -0, but where
  they are multiplied by a negative scaler; with `exact_f32` a sum of nothing but -0 is -0. A -0 of
  16 bits that is read in a kernel with 32-bit registers is +0 (block floats have no -0). Other
  signs of zeros are as in IEEE 754.
- Denormal numbers are kept by what is exact and flushed to 0 by `exp` and `exp2`. The chip's
  units take all denormal numbers for 0, so a result may differ there by 1.2e-38. Block floats
  have none.
- Integers: `//` and `%` by a 0 that comes with the data are TTL2006 on both, at the operator.
- A NaN that is cast to an integer is 0, a number that is too large the largest one. In block
  floats an infinity or a NaN leaves 0 of the others in its group of 16.

"""

CHIP = """
## The chip's rounding

`ttl run --rounding chip` (`TTL_ROUNDING=chip`), for comparisons with hardware bit by bit.
Simulator and executor then round as measured on the chip's simulators and documented by
Tenstorrent:

"""

UNITS = (
    ("what", "language", "`chip`"),
    ("---", "---", "---"),
    (
        "the matrix unit to 16-bit registers (`+ - *` with a bfloat16 block, reductions)",
        "ties to even",
        "ties away from zero",
    ),
    ("the packer, f32 registers to bfloat16; casts", "ties to even", "ties away from zero"),
    (
        "the vector unit to 16-bit registers (@CUT@)",
        "rounded",
        "cut off; other functions round to even",
    ),
    (
        "f32 in the matrix unit (`@`, reductions inside a tile)",
        "all digits; TF32 compiled",
        "TF32; in source A without its last digit",
    ),
    (
        "`*` of bfloat16 blocks",
        "one product",
        "up to four phases, each of which rounds to 16-bit registers",
    ),
    ("`@` in HiFi3, HiFi2, LoFi", "all digits", "those that the phases take"),
)

AGREED = """
In this mode simulator and executor agree bit for bit on `+`, `-`, `*`, copies, stores and casts,
and on `@` of small integers (`tests/differential/test_chip_rounding.py`). Not on: products whose
left operand is a broadcast (in 32-bit registers: either operand), and values that are used twice,
which the compiler may keep in a buffer of its own (in 32-bit registers it is read back as TF32): a
unit in the last place. Sums of `@` and reductions are added up in any order, functions keep their
bounds. Not modelled: that the chip flushes denormal numbers, takes infinities for numbers in the
matrix unit and packs NaN as infinity, the polynomials of its functions, and float16, which no
device has. The simulator asks the compiler for the phases, so a program that is not compiled has
four.
"""

SHOWN: tuple[Any, ...] = (
    0.0,
    -0.0,
    1e-40,
    float("inf"),
    float("-inf"),
    float("nan"),
    MINUS_NAN,
    3e38,
    -88.0,
    2.5,
)
PAIRS: tuple[tuple[Any, Any], ...] = (
    (0.0, -0.0),
    (-0.0, -0.0),
    (-2.0, 0.0),
    (1.0, 0.0),
    (0.0, float("inf")),
    (float("inf"), float("-inf")),
    (float("inf"), 2.0),
    (float("nan"), 1.0),
    (MINUS_NAN, 1.0),
    (1.0, float("nan")),
)


def special_values() -> str:
    ops = [BLOCK_OPS[name] for name in sorted(BLOCK_OPS)]
    ops = [op for op in ops if op.elementwise and op.domain is not Domain.INTEGERS]
    ops = [op for op in ops if not any(each.kind.decides_types for each in op.parameters)]
    one = [op for op in ops if op.operands == 1]
    two = [op for op in ops if op.operands == 2]
    tables = [_table("x", SHOWN, one), _table("a, b", PAIRS, two)]
    cut = ", ".join(f"`{op.name}`" for op in ops if op.is_cut_off)
    units = "\n".join(f"| {' | '.join(cells)} |" for cells in UNITS).replace("@CUT@", cut)
    return HEAD + "\n".join(tables) + CHIP + units + "\n" + AGREED


def _table(heading: str, shown: Sequence[Any], ops: list[BlockOp]) -> str:
    values = [each if isinstance(each, tuple) else (each,) for each in shown]
    columns = [", ".join(map(_text, each)) for each in values]
    lines = [f"| {heading} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for op in ops:
        lines += [f"| {_name(op)} | {' | '.join(_result(op, each) for each in values)} |"]
        if op.in_16_bits is not None:
            cells = " | ".join(_result(op, each, op.in_16_bits) for each in values)
            lines += [f"| {_name(op)} in 16 bits | {cells} |"]
    return "\n".join(lines) + "\n"


def _name(op: BlockOp) -> str:
    """With the parameters that it is given."""
    if op.operator and op.operands == 2:
        return f"`a {op.operator} b`".replace("|", chr(92) + "|")
    numbers = [f"{value:.4g}" for value in numbers_of(op).values()]
    return f"`{op.name}({', '.join((*op.names, *numbers))})`"


def _result(op: BlockOp, values: tuple[Any, ...], meaning: Any = None) -> str:
    operands = [np.array([value], np.float32) for value in values]
    numbers = {
        name: np.float32(value) if isinstance(value, float) else value
        for name, value in numbers_of(op).items()
    }
    with np.errstate(all="ignore"):
        found = np.asarray((meaning or op.meaning)(*operands, **numbers))
        found = clear_nan_signs(found) if op.computes else found
    return _text(found.astype(np.float32)[0])


def _text(value: Any) -> str:
    if np.isnan(value):
        return "-nan" if np.signbit(value) else "nan"
    return f"{value:.3g}"
