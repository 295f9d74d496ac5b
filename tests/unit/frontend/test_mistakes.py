"""What the compiler refuses, and the exact place it shows for it.

Each case is one line of a kernel; `[[...]]` marks what the diagnostic must point at.
"""

from __future__ import annotations

import linecache
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from golden.example_programs import TARGET, load_file
from ttl import ttnn
from ttl.diagnostics import CompileError, Diagnostic
from ttl.dialects.locations import span_of
from ttl.frontend import build_module

DEVICE = ttnn.open_device(device_id=0)

TEMPLATE = """import math

import numpy
import ttl

SIZE = 2
NUMBERS = [1, 2]
NET = ttl.PipeNet([ttl.Pipe((0, 0), (0, 1))])


def helper(block):
    return block + block


@ttl.operation(grid=(1, 2))
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
NOT_IN_KERNELS = "{}: not part of the language of kernels"
CASES = {
    "try": Case(
        "TTL7003",
        "`try`",
        read="[[try:\n                pass\n            finally:\n                pass]]",
    ),
    "import": Case(
        "TTL5002",
        "kernel `read` raised ModuleNotFoundError: No module named 'nowhere'",
        read="[[import nowhere]]",
    ),
    "del": Case("TTL7003", "`del` of an attribute", read="[[del a_dfb.name]]"),
    "deleted": Case("TTL5002", "`row` has no value here", read="del row\n            x = [[row]]"),
    "raise": Case("TTL5002", "kernel `read` raised ValueError", read="[[raise ValueError]]"),
    "match": Case(
        "TTL7003",
        "a `case` with the rest of a dict, places in a class or names in one of several patterns",
        read="[[match row:\n                case int(n):\n                    pass]]",
    ),
    "class": Case("TTL7003", "`class`", read="[[class Inner:\n                pass]]"),
    "block without a name": Case(
        "TTL7001",
        "a block or transfer without a name has a value on some paths only",
        read="for i in range(8):\n                i < 4 and [[ttl.copy(a[0, 0], a_blk)]]",
    ),
    "comprehension": Case(
        "TTL1042", "a block cannot be iterated over", "x = [[[i for i in a_blk]]]"
    ),
    "key of a dict": Case(
        "TTL7003", "a key that is known only at run time", read="x = [[{row: 1}]]"
    ),
    "list that a loop changes": Case(
        "TTL7001",
        "a loop that changes the length of `x`, a list made before it",
        read="x = []\n            [[for i in range(1000):\n                x.append(i)]]",
    ),
    "list that a condition changes at the end of a loop": Case(
        "TTL7001",
        "a list, dict or set that a condition changes",
        read="x = []\n            while count < 1000 * row:\n                count += 1\n"
        "                [[if count == 2:\n                    x.append(count)]]",
    ),
    "list of the operation": Case(
        "TTL1016",
        "this list is not one that the kernel made",
        read="x = NUMBERS\n            [[x.append(1)]]",
    ),
    "item of a tuple": Case(
        "TTL5002",
        "kernel `read` raised TypeError: 'tuple' object does not support item assignment",
        read="x = (1, 2)\n            [[x[0] = 3]]",
    ),
    "missing item": Case(
        "TTL5002", "kernel `read` raised KeyError: 'two'", read="x = [[{'one': 1}['two']]]"
    ),
    "yield from a while": Case(
        "TTL5004", "a loop without end", read="[[while SIZE:\n                pass]]"
    ),
    "waits in a loop without end": Case(
        "TTL5001",
        "a loop without end waits for more than ever comes",
        read="[[while SIZE:\n                with a_dfb.reserve():\n                    pass]]",
    ),
    "for over a number": Case(
        "TTL5002",
        "kernel `read` raised TypeError: 'int' object is not iterable",
        read="[[for _ in row:\n                pass]]",
    ),
    "step of zero": Case(
        "TTL5002",
        "kernel `read` raised ValueError: range() arg 3 must not be zero",
        read="for i in [[range(1, 2, 0)]]:\n                pass",
    ),
    "truth of a range": Case(
        "TTL7003", "the truth of a range", read="[[if range(row):\n                pass]]"
    ),
    "kernel that returns": Case("TTL1043", "kernel `read` returns a value", read="[[return row]]"),
    "condition on a block": Case(
        "TTL1042",
        "a block has as many truth values as elements, not one",
        "[[if a_blk:\n                pass]]",
    ),
    "with over a number": Case(
        "TTL5002",
        "kernel `read` raised TypeError: 'int' object does not support the context manager "
        "protocol",
        read="[[with row:\n                pass]]",
    ),
    "value on no path": Case(
        "TTL5002",
        "`half` has no value here",
        read="if row > 1:\n                half = row\n            other = [[half]] + 1",
    ),
    "value on some paths": Case(
        "TTL5002",
        "`half` has no value here",
        read="if row > 0:\n                half = row\n            other = [[half]] + 1",
    ),
    "value of a loop that may not run": Case(
        "TTL7001",
        "`last` has a value on some paths only",
        read="for i in range(row):\n                last = i\n            other = [[last]] + 1",
    ),
    "before its value": Case(
        "TTL5002", "`late` has no value here", read="x = [[late]]\n            late = 1"
    ),
    "kind that a long loop decides": Case(
        "TTL7001",
        "a loop that changes `kind`, which is None at its start",
        read="kind = None\n            for i in range(3000):\n                "
        'kind = "a" if (i + row) % 2 else 3\n            other = 1 if [[kind]] is None else 2',
    ),
    "kind that a loop in a loop decides": Case(
        "TTL7001",
        "a loop that changes `kind`, which is the str 'a' at its start",
        read='kind = "a"\n            for i in range(row):\n                for j in range(row):\n'
        '                    kind = "b" if [[kind]] == "a" else "a"\n'
        '            other = 1 if kind == "a" else 2',
    ),
    "kind that a branch in a loop decides": Case(
        "TTL7001",
        "a loop that changes `kind`, which is the str 'a' at its start",
        read='kind = "a"\n            for i in range(row + 3):\n                if i > row:\n'
        '                    kind = "b"\n            other = 1 if [[kind]] == "a" else 2',
    ),
    "int becomes float": Case(
        "TTL7003",
        "`count` is a tuple before the loop and a float in it",
        read="count = (0, 1)\n            [[for _ in range(row):\n                "
        "count = count[0] + 0.5]]",
    ),
    "one block or another in a loop": Case(
        "TTL7001",
        "a loop that changes `blk`, which is a block at its start",
        read="blk = a_blk\n            for i in range(row):\n                [[blk]].push()\n"
        "                blk = a_dfb.reserve()\n                if i > 3:\n"
        "                    break",
    ),
    "store into a block with another name": Case(
        "TTL7001",
        "a store into a block that a condition or a loop gives another name",
        "n = ttl.node(1)\n            t = a_blk\n            for i in range(1 + n):\n"
        "                t = t + a_blk\n            [[a_blk.store(t)]]\n"
        "            y_blk.store(a_blk)",
    ),
    "arguments of the language": Case(
        "TTL1003",
        "ttl.node() has no argument `dim`",
        read="x = [[ttl.node(dim=2)]]",
    ),
    "recursion": Case(
        "TTL7003",
        "a function that calls itself more than 32 times, or without end",
        read="def inner(n):\n                return [[inner(n - 1)]]\n            inner(2)",
    ),
    "arguments of a helper": Case(
        "TTL5002", "helper(): missing a required argument: 'block'", read="[[helper()]]"
    ),
    "false assertion": Case(
        "TTL5002", "kernel `read` raised AssertionError", read="[[assert SIZE == 3]]"
    ),
    "false assertion with a text": Case(
        "TTL5002",
        "kernel `read` raised AssertionError: it is 2",
        read='[[assert SIZE == 3, f"it is {SIZE}"]]',
    ),
    "arguments of a method": Case(
        "TTL1003", "Block.store() takes 1 argument, not 2", compute="[[y_blk.store(a_blk, 1)]]"
    ),
    "arguments of a method that are missing": Case(
        "TTL1003", "PipeNet.if_src() needs `function`", read="[[NET.if_src()]]"
    ),
    "a function of Python for a block": Case(
        "TTL1042",
        "a block has as many truth values as elements, not one",
        compute="y_blk.store([[max(a_blk, 1)]])",
    ),
    "a function of a library for a block": Case(
        "TTL1042", "`exp()` of a block", compute="y_blk.store([[math.exp(a_blk)]])"
    ),
    "a function of a library that is Python": Case(
        "TTL7003", "a call of 'ones'", compute="x = [[numpy.ones((32, 32))]]"
    ),
    "an item of a block": Case(
        "TTL1041", "a block cannot be indexed", compute="y_blk.store([[a_blk[0]]])"
    ),
    "number too large": Case(
        "TTL7003",
        "4294967296 does not fit in the 32 bits that kernels calculate integers with",
        read="x = [[row + 2**32]]",
    ),
    "builtin": Case("TTL7003", "a call of 'input'", "[[input(1)]]"),
    "text beside a block": Case(
        "TTL1003",
        "operator + works on blocks and block expressions, not on 'one'",
        "y_blk.store([[a_blk + 'one']])",
    ),
    # Which the simulator refuses too: no help to run it there.
    "a number of the run where a block is needed": Case(
        "TTL1003",
        "Block.store() works on blocks and block expressions, not on a run-time value",
        "[[y_blk.store(ttl.node(1))]]",
    ),
    "a number of the run for a function of blocks": Case(
        "TTL1003",
        "ttl.math.exp() works on blocks and block expressions, not on a run-time value",
        "y_blk.store([[ttl.math.exp(ttl.node(1))]])",
    ),
    "blocks in order": Case(
        "TTL1042",
        "a block has as many truth values as elements, not one",
        "[[sorted([a_blk, a_blk])]]",
    ),
    "a signpost named by a number of the run": Case(
        "TTL1003",
        "a signpost is named by a string, not by a run-time value",
        "with [[ttl.signpost(ttl.node(1))]]: pass",
    ),
    "broadcast without a shape in a loop": Case(
        "TTL7001",
        "a broadcast without a shape that a loop or branch carries",
        "x = ttl.math.broadcast(ttl.math.reduce_sum(a_blk, dims=[-1]), dims=[-1])\n"
        "            for i in range(2):\n"
        "                x = x * 2.0\n"
        "            [[y_blk.store(x)]]",
    ),
    "xor": Case(
        "TTL2006",
        "operator ^ has no meaning for bfloat16; it works on int32, uint32, uint16 and uint8",
        "y_blk.store([[a_blk ^ a_blk]])",
    ),
    "wrong call": Case(
        "TTL1003",
        "ttl.math.exp() takes 1 argument, not 2",
        "y_blk.store([[ttl.math.exp(a_blk, 2)]])",
    ),
    "extent at run time": Case(
        "TTL7001",
        "slices whose extent is not a constant",
        read="ttl.copy([[a[0:row, 0]]], a_blk).wait()",
    ),
    "division by zero": Case(
        "TTL5002",
        "kernel `read` raised ZeroDivisionError: integer division or modulo by zero",
        read="half = [[row // 0]]",
    ),
    "assignment to an attribute": Case("TTL1004", "a block has no `x`", "[[a_blk.x]] = 1"),
    "slice in a compute kernel": Case(
        "TTL1002", "a tensor slice is not allowed in a compute kernel", "x = [[a[0, 0]]]"
    ),
    "copy in a compute kernel": Case(
        "TTL1002",
        "ttl.copy() is not allowed in a compute kernel",
        "[[ttl.copy(a_blk, y_blk)]].wait()",
    ),
    "math in a data movement kernel": Case(
        "TTL1002",
        "operator + is not allowed in a datamovement kernel",
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
    "block for a number": Case(
        "TTL1003",
        "ttl.math.fill() takes a number as `value`, not a block",
        "y_blk.store([[ttl.math.fill(a_blk, a_blk)]])",
    ),
    "number of indices": Case(
        "TTL2004",
        "1 index for tensor `a` of 2 dimensions",
        read="ttl.copy([[a[0]]], a_blk).wait()",
    ),
    "constant out of range": Case(
        "TTL2004",
        "slice 2 of dimension 0 of tensor `a` does not lie in 0:2 (in tiles)",
        read="ttl.copy([[a[2, 0]]], a_blk).wait()",
    ),
    "negative constant": Case(
        "TTL2004",
        "slice -1 of dimension 1 of tensor `a` does not lie in 0:2 (in tiles)",
        read="ttl.copy([[a[0, -1]]], a_blk).wait()",
    ),
    "stop before start": Case(
        "TTL2004",
        "slice 1:0 of dimension 0 of tensor `a` does not lie in 0:2 (in tiles)",
        read="ttl.copy([[a[1:0, 0]]], a_blk).wait()",
    ),
    "more than there is": Case(
        "TTL2004",
        "a slice of 3 tiles of tensor `a` is not in 0:2",
        read="ttl.copy([[a[row : row + 3, 0]]], a_blk).wait()",
    ),
    "slice with a step": Case(
        "TTL2004",
        "a slice of tensor `a` has no step",
        read="ttl.copy([[a[0:2:2, 0]]], a_blk).wait()",
    ),
    "number of targets": Case(
        "TTL5002",
        "kernel `read` raised ValueError: not enough values to unpack (expected 3, got 2)",
        read="[[one, two, three = ttl.node(dims=2)]]",
    ),
    "arithmetic of constants": Case(
        "TTL5002",
        "kernel `compute` raised ZeroDivisionError: integer division or modulo by zero",
        "x = [[SIZE // 0]]",
    ),
}


def compile_text(text: str, tmp_path: Path) -> tuple[Diagnostic, ...]:
    path = tmp_path / "program.py"
    path.write_text(text)
    tensors = tuple(
        ttnn.zeros((64, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "ay"
    )
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
    texts = {"TTL7001": NOT_YET, "TTL7003": NOT_IN_KERNELS}
    is_value = " value " in case.message or " bits " in case.message  # these are whole
    expected = case.message if is_value else texts.get(case.code, "{}").format(case.message)
    if sys.version_info >= (3, 14):
        expected = expected.replace("integer division or modulo", "division")
    assert (diagnostic.code.code, diagnostic.message) == (case.code, expected)
    assert [place(diagnostic)] == places


def test_every_mistake_is_reported_and_none_that_only_follows(tmp_path: Path) -> None:
    compute = """x = [[id(a_blk)]]
            z = x + a_blk
            [[class Inner: pass]]
            y_blk.store([[a_blk + w_blk]])
            x = a_blk
            y_blk.store([[id(x)]])"""
    read = "ttl.copy([[a[0]]], a_blk).wait()"
    text, places = without_marks(TEMPLATE.replace("COMPUTE", compute).replace("READ", read))
    found = compile_text(text, tmp_path)
    codes = ["TTL7003", "TTL7003", "TTL2001", "TTL7003", "TTL2004"]
    assert [diagnostic.code.code for diagnostic in found] == codes
    assert [place(diagnostic) for diagnostic in found] == places


def test_the_end_of_the_process_is_not_for_the_simulator_either(tmp_path: Path) -> None:
    read = f"import sys; sys.exit(); {COPY}"
    text = TEMPLATE.replace("COMPUTE", STORE).replace("READ", read)
    found = compile_text(text, tmp_path)
    assert [each.helps for each in found if "Exit" in each.message] == [
        ("a kernel ends where its function does: use `return`, or raise an exception",)
    ]


def test_columns_count_characters(tmp_path: Path) -> None:
    """Python counts bytes; people and editors do not."""
    text, places = without_marks(
        TEMPLATE.replace("COMPUTE", "é = 'äöü'; y_blk.store([[id(a_blk)]])").replace("READ", COPY)
    )
    (diagnostic,) = compile_text(text, tmp_path)
    assert [place(diagnostic)] == places


def test_source_that_is_nowhere() -> None:
    """A kernel made by exec has no file."""
    text = TEMPLATE.replace("COMPUTE", STORE).replace("READ", COPY)
    namespace: dict[str, object] = {}
    exec(compile(text, "<nowhere>", "exec"), namespace)
    tensors = tuple(
        ttnn.zeros((64, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "ay"
    )
    program = namespace["operation"].program(tensors, {}, TARGET.default_grid)  # type: ignore[attr-defined]
    with pytest.raises(CompileError, match="TTL7002"):
        build_module(program, TARGET)


def test_a_mistake_in_a_helper_is_shown_with_its_calls(tmp_path: Path) -> None:
    read = "def inner(x):\n                send(x)\n\n            inner(row)"
    text = TEMPLATE.replace("COMPUTE", STORE).replace("READ", read)
    text = text.replace("def helper", "def send(x):\n    return x.missing\n\n\ndef helper")
    (diagnostic,) = compile_text(text, tmp_path)
    lines = text.splitlines()
    shown = [(lines[label.span.line - 1].strip(), label.text) for label in diagnostic.secondary]
    assert place(diagnostic)[0] == lines.index("    return x.missing") + 1
    assert shown == [("send(x)", "called here"), ("inner(row)", "called here")]


def test_a_mistake_in_a_helper_that_is_called_twice_is_one_mistake(tmp_path: Path) -> None:
    read = "def f(x):\n                [[raise x]]\n\n            f(1)\n            f(2)"
    text, places = without_marks(TEMPLATE.replace("COMPUTE", STORE).replace("READ", read))
    found = compile_text(text, tmp_path)
    assert [place(diagnostic) for diagnostic in found] == places


INDENTED = {
    "spaces": "    ",
    "tabs": "\t",
}


@pytest.mark.parametrize("indent", INDENTED)
def test_every_operation_has_the_span_of_its_source(indent: str, tmp_path: Path) -> None:
    """Column-exact, after tabs and text that is not ASCII, in helpers and nested functions."""
    text = SPANS.replace("    ", INDENTED[indent])
    path = tmp_path / "program.py"
    path.write_text(text, encoding="utf-8")
    tensors = tuple(
        ttnn.zeros((64, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "ay"
    )
    program = load_file(path).operation.program(tensors, {}, TARGET.default_grid)
    module = build_module(program, TARGET)
    lines = text.splitlines()
    seen = set()
    for op in module.walk():
        span = span_of(op.location)
        if span is not None and span.line == span.end_line:
            seen.add((op.name, lines[span.line - 1][span.column - 1 : span.end_column - 1]))
    assert seen >= SPANS_EXPECTED


SPANS = """import ttl

def hälfte(x): return x // 2 if x else -x

@ttl.operation(grid=(2, 2))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    @ttl.datamovement()
    def read():
        é = "äöü"; zeile, spalte = ttl.node(dims=2)
        for i in range(zeile, 2):
            if i > spalte: zeile += hälfte(i)
        with a_dfb.reserve() as block: ttl.copy(a[zeile % 2, 1], block).wait()
"""
SPANS_EXPECTED = {
    ("ttl.dataflow_buffer", "ttl.make_dataflow_buffer_like(a, shape=(1, 1))"),
    ("ttl.node_index", "ttl.node(dims=2)"),
    ("arith.cmpi", "i > spalte"),
    ("scf.if", "if i > spalte: zeile += hälfte(i)"),
    ("arith.divsi", "x // 2"),
    ("arith.subi", "-x"),
    ("arith.addi", "zeile += hälfte(i)"),
    ("ttl.dfb_reserve", "a_dfb.reserve()"),
    ("ttl.tensor_slice", "a[zeile % 2, 1]"),
    ("ttl.copy", "ttl.copy(a[zeile % 2, 1], block)"),
    ("ttl.wait", "ttl.copy(a[zeile % 2, 1], block).wait()"),
}


def test_spans_in_a_notebook() -> None:
    """Cells have no file: their text is found as Python's own tracebacks find it."""
    read = "x = 'ü'; y = [[row.missing]]"
    text, places = without_marks(TEMPLATE.replace("COMPUTE", STORE).replace("READ", read))
    name = "<ipython-input-7-0123456789ab>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    tensors = tuple(
        ttnn.zeros((64, 64), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE) for _ in "ay"
    )
    program = namespace["operation"].program(tensors, {}, TARGET.default_grid)
    with pytest.raises(CompileError) as caught:
        build_module(program, TARGET)
    (diagnostic,) = caught.value.diagnostics
    assert [place(diagnostic)] == places
    assert diagnostic.primary is not None and diagnostic.primary.span.file == name
