"""Random whole programs as Python text: loops, conditions, scalars, several buffers and stores.

Several of them are the parts of one operation, one after the other, because what takes time is
compiling the C++; each has functions, buffers and a place in y of its own. A program reads tiles of
x at places that scalars decide, computes with + and *, and writes every result block to y in order.
The number of blocks that each kernel handles is decided by the same statements in all three
kernels, so that no program deadlocks: the statements around the blocks are the same text, only what
is done with a block differs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

from hypothesis import strategies as st

NAMES = ("p", "q", "r")
ROWS = COLUMNS = 4
PART_ROWS = PART_COLUMNS = 8  # tiles of y that a program writes to

TEMPLATE = """\
import ttl

TABLE = (3, 1, 2)


def mix(first, second, limit=7):
    if first > limit:
        return first - limit
    return first + second


@ttl.operation(grid={grid})
def operation(x, y):
{parts}

    @ttl.compute()
    def compute():
{compute}

    @ttl.datamovement()
    def read():
{read}

    @ttl.datamovement()
    def write():
{write}
"""

BUFFERS = """\
a_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count={0})
b_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count={1})
y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count={2})
"""
HEAD = """\
here, _ = ttl.node(dims=2)
first_row = ttl.node(dims=1) * ROWS_OF_NODE + FIRST_ROW
place = 0
p, q, r = 1, here, 2
"""
COMPUTE = (
    "with a_dfb.wait() as a, b_dfb.wait() as b, y_dfb.reserve() as out:\n"
    "    t = a if {choice} else b\n"
    "    for k in range(2):\n"
    "        t = t + a\n"
    "    if {condition}:\n"
    "        out.store({first})\n"
    "    else:\n"
    "        out.store({second})"
)
READ = (
    "with a_dfb.reserve() as a, b_dfb.reserve() as b:\n"
    "    if {choice}:\n"
    "        one = ttl.copy(x[({row}) % 4, ({column}) % 4], a)\n"
    "    else:\n"
    "        one = ttl.copy(x[0, ({row}) % 4], a)\n"
    "    two = ttl.copy(x[({column}) % 4, ({row}) % 4], b)\n"
    "    {waits}"
)
WRITE = (
    "with y_dfb.wait() as out:\n"
    "    ttl.copy(out, y[first_row + place // 8, place % 8]).wait()\n"
    "place = (place + 1) % 64"
)
BLOCK_EXPRESSIONS = ("a + b", "a * b", "b - a + t", "a + b * t", "(a + b) * (a + t)")  # of both


@dataclass(frozen=True)
class Step:
    """A block of a, of b and of y, here."""

    row: str
    column: str
    choice: str
    condition: str
    first: str
    second: str
    waits: str


Statement = str | Step | tuple[str, list["Statement"], list["Statement"]]


def scalars(depth: int = 2) -> st.SearchStrategy[str]:
    """Integer expressions; divisors are never zero."""
    leaf = st.sampled_from((*NAMES, "0", "1", "3", "-2", "here"))
    if depth == 0:
        return leaf
    inner = scalars(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(("//", "%")), st.sampled_from(("2", "3", "-4", "5"))).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"mix({t[0]}, {t[1]})"),
        inner.map(lambda s: f"TABLE[abs({s}) % 3]"),
        st.tuples(inner, conditions(0), inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    )


def conditions(depth: int = 1) -> st.SearchStrategy[str]:
    signs = st.sampled_from(("<", "<=", "==", "!=", ">"))
    test = st.tuples(st.sampled_from(NAMES), signs, st.sampled_from((*NAMES, "1", "2")))
    leaf = test.map(lambda t: f"{t[0]} {t[1]} {t[2]}")
    if depth == 0:
        return leaf
    return st.one_of(
        leaf,
        st.tuples(leaf, st.sampled_from(("and", "or")), leaf).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        leaf.map(lambda c: f"not ({c})"),
    )


def assignments() -> st.SearchStrategy[str]:
    """Values stay small, so that 32 bits hold them."""
    name = st.sampled_from(NAMES)
    return st.one_of(
        st.tuples(name, scalars()).map(lambda t: f"{t[0]} = ({t[1]}) % 16"),
        st.tuples(name, scalars(1)).map(lambda t: f"{t[0]} += ({t[1]}) % 8 - 3"),
        st.tuples(name, name).map(lambda t: f"{t[0]}, {t[1]} = {t[1]}, {t[0]}"),
    )


def steps() -> st.SearchStrategy[Step]:
    expressions = st.sampled_from(BLOCK_EXPRESSIONS)
    group = "group = ttl.GroupTransfer(); group.add(two); group.add(one); group.wait_all()"
    waits = ("one.wait(); two.wait()", "two.wait(); one.wait()", group)
    return st.builds(
        Step,
        scalars(),
        scalars(),
        conditions(0),
        conditions(),
        expressions,
        expressions,
        st.sampled_from(waits),
    )


def statements(depth: int) -> st.SearchStrategy[list[Statement]]:
    simple = st.one_of(assignments(), steps())
    if depth == 0:
        return st.lists(simple, min_size=1, max_size=2)
    body, nothing = statements(depth - 1), st.just([])
    ranges = st.sampled_from(("2", "1, 4, 2", "3, 0, -2", "p % 3", "q % 3, -1, -2"))
    over = st.one_of(ranges.map("range({})".format), st.sampled_from(("TABLE", "[1, 5]")))
    loop = st.tuples(over.map(lambda o: f"for i{depth} in {o}:"), in_loop(body), nothing)
    branch = st.tuples(conditions().map(lambda c: f"if {c}:"), body, st.one_of(nothing, body))
    while_loop = st.tuples(st.just(f"while count{depth} > 0:"), in_loop(body), nothing)
    return st.lists(st.one_of(simple, loop, branch, while_loop), min_size=1, max_size=3)


def in_loop(body: st.SearchStrategy[list[Statement]]) -> st.SearchStrategy[list[Statement]]:
    """Some iterations end early."""
    words = st.sampled_from(("continue", "break"))
    jump = st.tuples(conditions(0), words).map(lambda t: [f"if {t[0]}:\n    {t[1]}"])
    return st.one_of(body, st.tuples(body, jump, body).map(lambda t: [*t[0], *t[1], *t[2]]))


@dataclass(frozen=True)
class Program:
    """One part of an operation: its statements, and the blocks of its three buffers."""

    body: list[Statement]
    counts: tuple[int, int, int]

    def text_of(self, template: str) -> str:
        return HEAD + "\n".join(_lines(self.body, template))


def programs() -> st.SearchStrategy[Program]:
    count = st.sampled_from((1, 2, 3))
    return st.builds(Program, statements(2), st.tuples(count, count, count))


def operation_text(parts: Sequence[Program], grid: tuple[int, int]) -> str:
    """The operation whose kernels do one program after the other, each in its own function."""
    kinds = {"compute": COMPUTE, "read": READ, "write": WRITE}
    defined = []
    for number, part in enumerate(parts):
        lines = [BUFFERS.format(*part.counts)]
        for kind, template in kinds.items():
            body = indent(part.text_of(template), " " * 4)
            lines.append(f"def {kind}_part():\n{body}\n")
        text = "\n".join(lines).replace("FIRST_ROW", str(PART_ROWS * number))
        defined.append(re.sub(r"\b(\w+)_(dfb|part)\b", rf"\g<1>_\g<2>{number}", text))
    calls = {
        kind: "\n".join(f"        {kind}_part{number}()" for number in range(len(parts)))
        for kind in kinds
    }
    text = TEMPLATE.format(grid=grid, parts=indent("\n".join(defined), " " * 4), **calls)
    return text.replace("ROWS_OF_NODE", str(PART_ROWS * len(parts)))


def _lines(body: list[Statement], template: str) -> list[str]:
    lines: list[str] = []
    for statement in body:
        if isinstance(statement, str):
            lines += statement.splitlines()
        elif isinstance(statement, Step):
            lines += template.format(**vars(statement)).splitlines()
        else:
            lines += _compound(*statement, template)
    return lines


def _compound(
    head: str, body: list[Statement], otherwise: list[Statement], template: str
) -> list[str]:
    inner = _lines(body, template)
    lines = [head, *(f"    {line}" for line in inner)]
    if head.startswith("while"):
        counter = head.split()[1]
        lines = [f"{counter} = (p + q) % 3", lines[0], f"    {counter} -= 1", *lines[1:]]
    if otherwise:
        lines += ["else:", *(f"    {line}" for line in _lines(otherwise, template))]
    return lines
