"""What the compiler refuses, and the exact place it shows for it.

Each case is one line of a kernel; `[[...]]` marks what the diagnostic must point at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from golden.example_programs import TARGET, load_file
from ttl import ttnn
from ttl.diagnostics import CompileError, Diagnostic
from ttl.frontend import build_module

DEVICE = ttnn.open_device(device_id=0)

TEMPLATE = """import ttl

SIZE = 2


def helper(block):
    return block + block


@ttl.operation(grid=(1, 1))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    w_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, w_dfb.wait() as w_blk, y_dfb.reserve() as y_blk:
            COMPUTE

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        count = 0
        with a_dfb.reserve() as a_blk:
            READ
"""
COPY = "ttl.copy(a[0, 0], a_blk).wait()"
STORE = "y_blk.store(a_blk)"


@dataclass(frozen=True)
class Case:
    code: str
    message: str
    compute: str = STORE
    read: str = COPY


NOT_YET = "the compiler does not translate {} yet"
CASES = {
    "if": Case("TTL7001", "`If` statements", "[[if SIZE:\n                pass]]"),
    "while": Case("TTL7001", "`While` statements", "[[while SIZE:\n                pass]]"),
    "return": Case("TTL7001", "`Return` statements", "[[return]]"),
    "list": Case("TTL7001", "`List` expressions", "x = [[[a_blk]]]"),
    "compare": Case("TTL7001", "`Compare` expressions", "x = [[SIZE < 3]]"),
    "for over a tuple": Case(
        "TTL7001",
        "`for` over anything but range(...)",
        "[[for _ in (1, 2):\n                y_blk.store(a_blk)]]",
    ),
    "scalar changed in a loop": Case(
        "TTL7001",
        "a loop that changes `count`: only block expressions are carried on",
        read="[[for _ in range(2):\n                count += 1]]",
    ),
    "helper call": Case("TTL7001", "calls of 'helper'", "y_blk.store([[helper(a_blk)]])"),
    "print": Case("TTL7001", "calls of 'print'", "[[print(1)]]"),
    "block times number": Case(
        "TTL7001", "the int 2 as an operand of a block operation", "y_blk.store([[a_blk * 2]])"
    ),
    "division of blocks": Case("TTL7001", "`/` on blocks", "y_blk.store([[a_blk / a_blk]])"),
    "function": Case(
        "TTL7001", "`ttl.math.tanh()`", "y_blk.store([[ttl.math.tanh(a_blk)]])"
    ),
    "function with parameters": Case(
        "TTL7001", "`ttl.math.clamp()`", "y_blk.store([[ttl.math.clamp(a_blk, 0, max=1)]])"
    ),
    "function of ttl.block": Case(
        "TTL7001",
        "`ttl.math.transpose()`",
        "y_blk.store([[ttl.block.transpose(a_blk)]])",
    ),
    "power": Case("TTL7001", "`**` on blocks", "y_blk.store([[a_blk**2]])"),
    "xor": Case("TTL7001", "`^` on blocks", "y_blk.store([[a_blk ^ a_blk]])"),
    "number first": Case(
        "TTL7001",
        "the float 0.5 as an operand of a block operation",
        "y_blk.store([[0.5 - a_blk]])",
    ),
    "fill of a block": Case(
        "TTL7001",
        "`ttl.math.fill()` of a block or of run-time values",
        "y_blk.store([[ttl.math.fill(y_blk, 1)]])",
    ),
    "wrong call": Case(
        "TTL1003",
        "ttl.math.exp() takes 1 argument, not 2",
        "y_blk.store([[ttl.math.exp(a_blk, 2)]])",
    ),
    "+= on a block": Case("TTL7001", "`+=` on a block", "[[a_blk += a_blk]]"),
    "minus a block": Case("TTL7001", "`USub` of a block", "y_blk.store([[-a_blk]])"),
    "fills alone": Case(
        "TTL7001",
        "expressions of fills alone",
        "y_blk.store([[ttl.math.fill(1) + ttl.math.fill(2)]])",
    ),
    "extent at run time": Case(
        "TTL7001",
        "slices whose extent is not a constant, as in `start : start + 2`",
        read="ttl.copy([[a[0:row, 0]]], a_blk).wait()",
    ),
    "division at run time": Case(
        "TTL7001", "`//` on run-time integers", read="half = [[row // 2]]"
    ),
    "one dimension of nodes": Case(
        "TTL7001",
        "ttl.node() with other than two dimensions",
        read="here = [[ttl.node(dims=1)]]",
    ),
    "assignment to an item": Case(
        "TTL7001", "assignment to anything but names", "[[a_blk.x = 1]]"
    ),
    "slice in a compute kernel": Case(
        "TTL1002", "slicing a tensor is not allowed in a compute kernel", "x = [[a[0, 0]]]"
    ),
    "copy in a compute kernel": Case(
        "TTL1002",
        "ttl.copy() is not allowed in a compute kernel",
        "[[ttl.copy(a_blk, y_blk)]].wait()",
    ),
    "math in a data movement kernel": Case(
        "TTL1002",
        "`+` on blocks is not allowed in a datamovement kernel",
        read="x = [[a_blk + a_blk]]",
    ),
    "store in a data movement kernel": Case(
        "TTL1002",
        "store() is not allowed in a datamovement kernel",
        read="[[a_blk.store(a_blk)]]",
    ),
    "unknown name": Case(
        "TTL1004", "`b_blk` is not defined in this kernel", "y_blk.store(a_blk + [[b_blk]])"
    ),
    "shapes of an operator": Case(
        "TTL2001",
        "operands have different shapes: (1, 1) bfloat16 (in tiles) and (1, 2) bfloat16 (in tiles)",
        "y_blk.store([[a_blk + w_blk]])",
    ),
    "shapes of a store": Case(
        "TTL2001",
        "a value of shape (1, 2) is stored into a block of shape (1, 1) (in tiles)",
        "[[y_blk.store(w_blk)]]",
    ),
    "shapes of a product": Case(
        "TTL2003",
        "(1, 2) bfloat16 (in tiles) @ (1, 1) bfloat16 (in tiles): the left block has 2 columns of "
        "tiles, the right one 1 rows",
        "y_blk.store([[w_blk @ a_blk]])",
    ),
    "shapes of a copy": Case(
        "TTL2001",
        "a copy connects a tensor slice of shape (2, 1) with a block of shape (1, 1) (in tiles)",
        read="[[ttl.copy(a[0:2, 0], a_blk)]].wait()",
    ),
    "number of indices": Case(
        "TTL2004",
        "1 indices for a tensor of 2 dimensions",
        read="ttl.copy([[a[0]]], a_blk).wait()",
    ),
    "constant out of range": Case(
        "TTL2004",
        "a slice of 1 tiles from 2 on is not in 0:2",
        read="ttl.copy([[a[2, 0]]], a_blk).wait()",
    ),
    "negative constant": Case(
        "TTL2004",
        "a slice of 1 tiles from -1 on is not in 0:2",
        read="ttl.copy([[a[0, -1]]], a_blk).wait()",
    ),
    "stop before start": Case(
        "TTL2004",
        "a slice of -1 tiles from 1 on is not in 0:2",
        read="ttl.copy([[a[1:0, 0]]], a_blk).wait()",
    ),
    "more than there is": Case(
        "TTL2004",
        "a slice of 3 tiles is not in 0:2",
        read="ttl.copy([[a[row : row + 3, 0]]], a_blk).wait()",
    ),
    "slice with a step": Case(
        "TTL2004",
        "a slice of a tensor has no step",
        read="ttl.copy([[a[0:2:2, 0]]], a_blk).wait()",
    ),
    "number of targets": Case(
        "TTL1003", "2 values for 3 names", read="[[one, two, three = ttl.node(dims=2)]]"
    ),
    "arithmetic of constants": Case(
        "TTL1003", "2 // 0: integer division or modulo by zero", "x = [[SIZE // 0]]"
    ),
}


def compile_text(text: str, tmp_path: Path) -> tuple[Diagnostic, ...]:
    path = tmp_path / "program.py"
    path.write_text(text)
    tensors = tuple(ttnn.zeros((64, 64), ttnn.bfloat16, device=DEVICE) for _ in "ay")
    program = load_file(path).operation.program(tensors, {}, TARGET.default_grid)
    with pytest.raises(CompileError) as caught:
        build_module(program, TARGET)
    return tuple(caught.value.diagnostics)


def without_marks(text: str) -> tuple[str, list[tuple[int, int, int, int]]]:
    """The text, and where the marks were: line, column, end line, end column, from 1."""
    places, pieces = [], re.split(r"(\[\[|\]\])(?!\])", text)
    plain, open_at = "", None

    def position() -> tuple[int, int]:
        return plain.count("\n") + 1, len(plain) - plain.rfind("\n")

    for piece in pieces:
        if piece == "[[":
            open_at = position()
        elif piece == "]]":
            assert open_at is not None
            places.append((*open_at, *position()))
        else:
            plain += piece
    return plain, places


def place(diagnostic: Diagnostic) -> tuple[int, int, int, int]:
    assert diagnostic.primary is not None
    span = diagnostic.primary.span
    return span.line, span.column, span.end_line, span.end_column


@pytest.mark.parametrize("name", CASES)
def test_mistake(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    marked = TEMPLATE.replace("COMPUTE", case.compute).replace("READ", case.read)
    text, places = without_marks(marked)
    (diagnostic,) = compile_text(text, tmp_path)
    expected = NOT_YET.format(case.message) if case.code == "TTL7001" else case.message
    assert (diagnostic.code.code, diagnostic.message) == (case.code, expected)
    assert [place(diagnostic)] == places


def test_every_mistake_is_reported_and_none_that_only_follows(tmp_path: Path) -> None:
    compute = """x = [[a_blk / a_blk]]
            z = x + a_blk
            [[if SIZE:
                pass]]
            y_blk.store([[a_blk + w_blk]])
            x = a_blk
            y_blk.store([[x * 3]])"""
    read = "ttl.copy([[a[0]]], a_blk).wait()"
    text, places = without_marks(TEMPLATE.replace("COMPUTE", compute).replace("READ", read))
    found = compile_text(text, tmp_path)
    codes = ["TTL7001", "TTL7001", "TTL2001", "TTL7001", "TTL2004"]
    assert [diagnostic.code.code for diagnostic in found] == codes
    assert [place(diagnostic) for diagnostic in found] == places


def test_columns_count_characters(tmp_path: Path) -> None:
    """Python counts bytes; people and editors do not."""
    text, places = without_marks(
        TEMPLATE.replace("COMPUTE", "é = 'äöü'; y_blk.store([[a_blk / a_blk]])").replace(
            "READ", COPY
        )
    )
    (diagnostic,) = compile_text(text, tmp_path)
    assert [place(diagnostic)] == places


def test_source_that_is_nowhere() -> None:
    """A kernel made by exec has no file."""
    text = TEMPLATE.replace("COMPUTE", STORE).replace("READ", COPY)
    namespace: dict[str, object] = {}
    exec(compile(text, "<nowhere>", "exec"), namespace)
    tensors = tuple(ttnn.zeros((64, 64), ttnn.bfloat16, device=DEVICE) for _ in "ay")
    program = namespace["operation"].program(tensors, {}, TARGET.default_grid)  # type: ignore[attr-defined]
    with pytest.raises(CompileError, match="TTL7002"):
        build_module(program, TARGET)
