"""The 24 programs whose calls are counted, as text that this compiler and the public one take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

STEPS = 4  # blocks of the result, or of a sum
SIZES = (1, 2, 4, 8)  # tiles along each side of a block
FULL, ROW, COLUMN, ONE = "BLOCK, BLOCK", "1, BLOCK", "BLOCK, 1", "1, 1"


@dataclass(frozen=True)
class Counted:
    """`body` stands in a loop over the steps, with a block of each input and of the result.

    Inputs called `s` are read once, before it. `buffers` are in the program itself. A program that
    `sums` makes one block of the result.
    """

    body: str
    inputs: Mapping[str, str]
    result: str = FULL
    buffers: Mapping[str, str] = field(default_factory=dict)
    sums: bool = False
    dtype: str = "bfloat16"
    result_dtype: str = ""


def _reserved(body: str) -> str:
    return f"with y_dfb.reserve() as y_blk:\n    {body}"


def _stored(value: str) -> str:
    return _reserved(f"y_blk.store({value})")


CHAIN = "a_blk"
for _function in (
    "exp",
    "abs",
    "sqrt",
    "tanh",
    "sigmoid",
    "neg",
    "relu",
    "exp",
    "log",
    "abs",
    "sqrt",
    "tanh",
):
    CHAIN = f"ttl.math.{_function}({CHAIN})"

A, AB, ABC = {"a": FULL}, {"a": FULL, "b": FULL}, {"a": FULL, "b": FULL, "c": FULL}
SUM, MAX = (f"ttl.math.reduce_{name}({{}}, s_blk, dims={{}})" for name in ("sum", "max"))
SPREAD = "ttl.math.broadcast({}, {}, dims={})"

SOFTMAX = f"""with m_dfb.reserve() as m_blk:
    m_blk.store({MAX.format("a_blk", [1])})
with m_dfb.wait() as m_blk, e_dfb.reserve() as e_blk:
    e_blk.store(ttl.math.exp(a_blk - {SPREAD.format("m_blk", "e_blk", [1])}))
with e_dfb.wait() as e_blk:
    with t_dfb.reserve() as t_blk:
        t_blk.store({SUM.format("e_blk", [1])})
    with t_dfb.wait() as t_blk, y_dfb.reserve() as y_blk:
        y_blk.store(e_blk / {SPREAD.format("t_blk", "y_blk", [1])})
"""
LAYERNORM = f"""with m_dfb.reserve() as m_blk:
    m_blk.store({SUM.format("a_blk", [1])})
with m_dfb.wait() as m_blk, e_dfb.reserve() as e_blk:
    e_blk.store(a_blk - {SPREAD.format("m_blk", "e_blk", [1])})
with e_dfb.wait() as e_blk:
    with v_dfb.reserve() as v_blk:
        v_blk.store(e_blk * e_blk)
    with v_dfb.wait() as v_blk, t_dfb.reserve() as t_blk:
        t_blk.store({SUM.format("v_blk", [1])})
    with t_dfb.wait() as t_blk, r_dfb.reserve() as r_blk:
        r_blk.store(ttl.math.rsqrt(t_blk))
    with r_dfb.wait() as r_blk, y_dfb.reserve() as y_blk:
        y_blk.store(e_blk * {SPREAD.format("r_blk", "y_blk", [1])})
"""
TWO_STAGES = """with m_dfb.reserve() as m_blk:
    m_blk.store(ttl.math.exp(a_blk) + b_blk)
with m_dfb.wait() as m_blk, y_dfb.reserve() as y_blk:
    y_blk.store(m_blk * m_blk)
"""

PROGRAMS = {
    "add": Counted(_stored("a_blk + b_blk"), AB),
    "add_f32": Counted(_stored("a_blk + b_blk"), AB, dtype="float32"),
    "multiply_add": Counted(_stored("a_blk * b_blk + c_blk"), ABC),
    "multiply_add_exp": Counted(_stored("a_blk * b_blk + ttl.math.exp(c_blk)"), ABC),
    "chain_of_12": Counted(_stored(CHAIN), A),
    "gate": Counted(_stored("ttl.math.sigmoid(a_blk) * b_blk"), AB),
    "difference_relu": Counted(_stored("ttl.math.relu(a_blk - b_blk)"), AB),
    "quotient": Counted(_stored("a_blk / b_blk"), AB),
    "two_stages": Counted(TWO_STAGES, AB, buffers={"m": FULL}),
    "product": Counted(_stored("a_blk @ b_blk"), AB),
    "product_over_k": Counted("y_blk += a_blk @ b_blk", AB, sums=True),
    "product_bias": Counted(_stored("a_blk @ b_blk + c_blk"), ABC),
    "product_bias_relu": Counted(_stored("ttl.math.relu(a_blk @ b_blk + c_blk)"), ABC),
    "add_row": Counted(
        _stored(f"a_blk + {SPREAD.format('b_blk', 'y_blk', [0])}"), {"a": FULL, "b": ROW}
    ),
    "multiply_column": Counted(
        _stored(f"a_blk * {SPREAD.format('b_blk', 'y_blk', [1])}"), {"a": FULL, "b": COLUMN}
    ),
    "subtract_one": Counted(
        _stored(f"a_blk - {SPREAD.format('b_blk', 'y_blk', [0, 1])}"), {"a": FULL, "b": ONE}
    ),
    "row_sums": Counted(_stored(SUM.format("a_blk", [1])), {"s": ONE, "a": FULL}, COLUMN),
    "column_sums": Counted(_stored(SUM.format("a_blk", [0])), {"s": ONE, "a": FULL}, ROW),
    "row_maxima": Counted(_stored(MAX.format("a_blk", [1])), {"s": ONE, "a": FULL}, COLUMN),
    "sum_of_all": Counted(_stored(SUM.format("a_blk", [0, 1])), {"s": ONE, "a": FULL}, ONE),
    "transposed": Counted(_stored("ttl.transpose(a_blk)"), A),
    "typecast": Counted(
        _stored("ttl.math.typecast(a_blk, ttnn.float32)"), A, result_dtype="float32"
    ),
    "softmax": Counted(
        SOFTMAX, {"s": ONE, "a": FULL}, buffers={"m": COLUMN, "e": FULL, "t": COLUMN}
    ),
    "layernorm": Counted(
        LAYERNORM,
        {"s": ONE, "a": FULL},
        buffers={"m": COLUMN, "e": FULL, "v": FULL, "t": COLUMN, "r": COLUMN},
    ),
}


def text_of(name: str, block: int) -> str:
    """A module with the function that is the operation's body, and the sizes it has."""
    program = PROGRAMS[name]
    names = ", ".join([*program.inputs, "y"])
    lines = ["import ttl", "import ttnn", "", f"BLOCK, STEPS = {block}, {STEPS}", ""]
    lines += [f"def {name}({names}):"]
    shapes = {**program.inputs, "y": program.result}
    for each, shape in shapes.items():
        lines.append(f"    {each}_dfb = {_buffer(each, shape)}")
    for each, shape in program.buffers.items():
        lines.append(f"    {each}_dfb = {_buffer('a', shape)}")
    lines += ["", "    @ttl.compute()", "    def compute():", *_compute(program)]
    lines += ["", "    @ttl.datamovement()", "    def read():", *_read(program)]
    lines += ["", "    @ttl.datamovement()", "    def write():", *_write(program), ""]
    return "\n".join(lines)


def _buffer(tensor: str, shape: str) -> str:
    return f"ttl.make_dataflow_buffer_like({tensor}, shape=({shape}), block_count=2)"


def _compute(program: Counted) -> list[str]:
    lines, depth = [], 2
    if "s" in program.inputs:
        lines.append("        with s_dfb.wait() as s_blk:")
        depth += 1
    if program.sums:
        lines.append("    " * depth + "with y_dfb.reserve() as y_blk:")
        depth += 1
    lines.append("    " * depth + "for _ in range(STEPS):")
    waits = ", ".join(f"{each}_dfb.wait() as {each}_blk" for each in program.inputs if each != "s")
    lines.append("    " * (depth + 1) + f"with {waits}:")
    return lines + ["    " * (depth + 2) + line for line in program.body.splitlines()]


def _read(program: Counted) -> list[str]:
    lines = []
    if "s" in program.inputs:
        lines.append("        with s_dfb.reserve() as s_blk:")
        lines += _copied("s", "s[0, 0]", 3)
    lines.append("        for step in range(STEPS):")
    given = {each: shape for each, shape in program.inputs.items() if each != "s"}
    reserves = ", ".join(f"{each}_dfb.reserve() as {each}_blk" for each in given)
    lines.append(f"            with {reserves}:")
    for each, shape in given.items():
        lines += _copied(each, f"{each}[{_place(shape)}]", 4)
    return lines


def _copied(name: str, part: str, depth: int) -> list[str]:
    indent = "    " * depth
    return [f"{indent}{name}_copy = ttl.copy({part}, {name}_blk)", f"{indent}{name}_copy.wait()"]


def _place(shape: str) -> str:
    rows, columns = shape.split(", ")
    first = f"step * {rows} : (step + 1) * {rows}" if rows != "1" else "step : step + 1"
    return f"{first}, 0:{columns}"


def _write(program: Counted) -> list[str]:
    place = _place(program.result)
    head = ["        for step in range(STEPS):"]
    if program.sums:
        head = ["        for step in range(1):"]
    return [
        *head,
        "            with y_dfb.wait() as y_blk:",
        f"                y_copy = ttl.copy(y_blk, y[{place}])",
        "                y_copy.wait()",
    ]
