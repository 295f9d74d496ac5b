"""Random block expressions through the compiler: simulator = host, number for number.

Only operations that the op table calls exact; ten expressions a program, which share
subexpressions, and more of them than the DST registers hold. The examples are the same every time.
"""

from __future__ import annotations

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from differential.compute_programs import ComputeProgram, stores
from ttl import ttnn
from ttl.semantics.ops import BLOCK_OPS

BINARY = ("{} + {}", "{} - {}", "{} * {}", "ttl.math.max({}, {})", "ttl.math.min({}, {})",
          "({} < {})", "({} >= {})", "({} == {})", "ttl.math.rsub({}, {})")  # fmt: skip
UNARY = ("ttl.math.relu({})", "abs({})", "-{}", "ttl.math.floor({})", "ttl.math.frac({})",
         "ttl.math.sign({})", "ttl.math.clamp({}, -0.5, 1.25)", "ttl.math.relu_max({}, 0.75)",
         "{} * 0.5", "2 - {}", "ttl.math.square({})")  # fmt: skip
SELECTIONS = ("ttl.math.where({}, {}, {})", "ttl.math.mask({0}, ({1} < {2}))",
              "ttl.math.where(({} != {}), {}, 0.5 * b_blk)",
              "ttl.math.threshold({} - {}, 0.3, 1.75) * {}",
              "({} % 0.75) + {} * ({} > 0)")  # fmt: skip
WHOLE_BINARY = ("{} + {}", "{} - {}", "{} * {}", "({} ^ {})", "ttl.math.max({}, {})",
                "ttl.math.min({}, {})", "({} <= {})", "({} != {})", "ttl.math.rsub({}, {})",
                "ttl.math.where(({0} > b_blk), {0}, {1})",
                "ttl.math.mask({0}, ({1} < a_blk))")  # fmt: skip
WHOLE_UNARY = ("ttl.math.relu({})", "abs({})", "-{}", "ttl.math.sign({})", "ttl.math.square({})",
               "ttl.math.clamp({}, 3, 200)", "{} // 7", "{} % 11", "({}) ** 3", "9 - {}",
               "ttl.math.threshold({}, 130, 2)", "ttl.math.signbit({})")  # fmt: skip
LEAVES = ("a_blk", "b_blk", "ttl.math.fill(0.25, shape=(ROWS, COLUMNS))")


@st.composite
def expressions(draw: st.DrawFn, earlier: tuple[str, ...], depth: int = 4) -> str:
    """`earlier` are parts that may occur again."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from((*LEAVES[:2], *earlier)))
    part = expressions(earlier, depth - 1)
    kind = draw(st.integers(0, 6))
    if kind < 2:
        return f"({draw(st.sampled_from(UNARY)).format(draw(part))})"
    if kind == 2:
        return f"({draw(st.sampled_from(SELECTIONS)).format(draw(part), draw(part), draw(part))})"
    left, right = draw(part), draw(part | st.sampled_from(LEAVES))
    return f"({draw(st.sampled_from(BINARY)).format(left, right)})"


@st.composite
def programs(draw: st.DrawFn) -> ComputeProgram:
    common = tuple(draw(expressions((), 2)) for _ in range(2))
    texts = [draw(expressions(common)) for _ in range(10)]
    shape = draw(st.sampled_from([(1, 1), (2, 2), (1, 5), (5, 5), (3, 7)]))
    dtype, options = draw(
        st.sampled_from(
            [
                (ttnn.bfloat16, ""),
                (ttnn.bfloat16, ", fp32_dest_acc_en=True"),
                (ttnn.float32, ""),
                (ttnn.bfloat16, ", dst_full_sync_en=True"),
            ]
        )
    )
    # Both blocks must be read.
    return ComputeProgram(
        stores([*texts, "a_blk + b_blk"]), shape, 1, len(texts) + 1, options, dtype
    )


@st.composite
def whole_expressions(draw: st.DrawFn, depth: int = 4) -> str:
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(LEAVES[:2]))
    part = whole_expressions(depth - 1)
    if draw(st.integers(0, 2)) == 0:
        return f"({draw(st.sampled_from(WHOLE_UNARY)).format(draw(part))})"
    return f"({draw(st.sampled_from(WHOLE_BINARY)).format(draw(part), draw(part))})"


@st.composite
def whole_programs(draw: st.DrawFn) -> ComputeProgram:
    texts = [draw(whole_expressions()) for _ in range(10)]
    shape = draw(st.sampled_from([(1, 1), (2, 2), (3, 7)]))
    dtype, values = draw(
        st.sampled_from(
            [
                (ttnn.int32, (-(2**31), 2**31)),
                (ttnn.int32, (-1000, 1000)),
                (ttnn.uint32, (0, 2**32)),
                (ttnn.uint16, (0, 2**16)),
                (ttnn.uint8, (0, 2**8)),
            ]
        )
    )
    return ComputeProgram(
        stores([*texts, "a_blk + b_blk"]), shape, 1, len(texts) + 1, dtype=dtype, values=values
    )


@settings(max_examples=10, phases=[Phase.generate], derandomize=True, deadline=None)
@given(program=whole_programs())
def test_integer_expressions(program: ComputeProgram) -> None:
    for position, (simulated, compiled) in enumerate(program.both()):
        np.testing.assert_array_equal(
            compiled, simulated, f"expression {position} of\n{program.text()}"
        )


@settings(max_examples=10, phases=[Phase.generate], derandomize=True, deadline=None)
@given(program=programs())
def test_a_hundred_expressions(program: ComputeProgram) -> None:
    for position, (simulated, compiled) in enumerate(program.both()):
        np.testing.assert_array_equal(
            compiled, simulated, f"expression {position} of\n{program.text()}"
        )


def test_the_operations_are_exact() -> None:
    names = ("add", "sub", "mul", "max", "min", "lt", "ge", "eq", "rsub", "relu", "abs", "neg",
             "floor", "frac", "sign", "clamp", "relu_max", "square", "where", "mask",
             "threshold", "ne", "gt")  # fmt: skip
    assert all(BLOCK_OPS[name].bound is None for name in names)
