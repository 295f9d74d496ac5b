"""Kernels that calculate with captured values of every kind of Python and numpy: seed -> text.

Each result is a scalar, which a fill puts into a tile of its own. The reference is Python itself,
with the numbers of numpy taken for Python's. A program agrees on simulator, executor and reference,
or simulator and executor refuse it with one code.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

from fuzz.engines import Outcome, run
from fuzz.judging import Verdict

NODES, RESULTS, STEPS = 2, 6, 3
VALUES = {
    "COUNT": "7",
    "LESS": "-3",
    "ZERO": "0",
    "MANY": "100003",
    "YES": "True",
    "NO": "False",
    "HALF": "0.5",
    "NEGATIVE": "-2.75",
    "SMALL": "np.int8(100)",
    "LEAST": "np.int8(-128)",
    "BYTE": "np.uint8(250)",
    "SHORT": "np.int16(-30000)",
    "WORD16": "np.uint16(60000)",
    "WIDE": "np.int32(1 << 20)",
    "POSITIVE": "np.uint32(7)",
    "LONG": "np.int64(-5)",
    "LONGEST": "np.uint64(9)",
    "TENTH16": "np.float16(0.1)",
    "TENTH": "np.float32(0.1)",
    "THIRD": "np.float64(0.3)",
    "TRUTH": "np.bool_(True)",
    "LIE": "np.bool_(False)",
    "ALONE": "np.array(-100, np.int8)",
    "PAIR[0]": "",
    "PAIR[1]": "",
    "PAIR[2][1]": "",
    "TABLE[1]": "",
    "TABLE[-1]": "",
    "GRID[1, 0]": "",
    "GRID[0][1]": "",
    "LIST[0]": "",
    "NAMED['a']": "",
    "NAMED['b']": "",
    "Level.HIGH": "",
    "Level.LOW": "",
    "Color.RED.value": "",
    "Flags.BOTH": "",
    "CONFIG.size": "",
    "CONFIG.rate": "",
    "CONFIG.twice()": "",
    "CONFIG.share": "",
    "POINT.x": "",
    "POINT.y": "",
    "len(WORD)": "",
    "len(TABLE)": "",
    "sum(TABLE)": "",
    "max(TABLE)": "",
    "min(PAIR[:2])": "",
    "sum(LIST)": "",
    "node": "",
    "per_node": "",
    "narrow": "",
    "helper(SMALL)": "",
    "DOUBLE(BYTE)": "",
    "abs(LEAST)": "",
    "int(TENTH)": "",
    "np.int8(100)": "",
    "float(SMALL)": "",
    "round(THIRD)": "",
    "TABLE[node]": "",
    "PAIR[node]": "",
    "THIRDS": "",
    "PRICE": "",
}
ODD = ("THIRDS", "PRICE")  # what no kernel calculates with
HEAD = """\
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum, IntFlag
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import ttl

{values}
PAIR = (3, np.int8(100), (True, np.float32(2.5)))
TABLE = np.array([100, 100, 27], np.int8)
GRID = np.array([[60000, 2], [3, 4]], np.uint16)
LIST = [np.uint8(200), 100]
NAMED = {{"a": np.int16(30000), "b": -4}}
WORD, NOTHING = "wide", None
THIRDS, PRICE = Fraction(1, 3), Decimal("1.5")


class Level(IntEnum):
    LOW = 1
    HIGH = 100


class Color(Enum):
    RED = np.int8(90)
    BLUE = "blue"


class Flags(IntFlag):
    ONE = 1
    BOTH = 3


class Point(NamedTuple):
    x: int
    y: object


POINT = Point(4, np.int8(-100))


@dataclass
class Config:
    size: object = np.uint8(255)
    rate: float = 0.25

    def twice(self):
        return self.size * 2

    @property
    def share(self):
        return np.int8(9)


CONFIG = Config()
DOUBLE = lambda value: value + value


def helper(value, more=np.int8(27)):
    return value + value + more

"""
OPERATION = """
@ttl.operation(grid=({nodes}, 1))
def operation(y):
    node = ttl.node(dims=1)
    per_node, narrow = 3 * node - 1, np.int8(100 + node)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
{results}
    @ttl.datamovement()
    def write():
        for number in range({count}):
            with y_dfb.wait() as blk:
                ttl.copy(blk, y[number, node]).wait()


if __name__ == "__main__":
    import ttnn

    device = ttnn.open_device(device_id=0)
    shape = {shape}
    y = ttnn.zeros(shape, ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device)
    operation(y)
"""
STORE = "with y_dfb.reserve() as blk:\n    blk.store(ttl.math.fill({}, shape=(1, 1)))\n"
SIGNS = ("+", "-", "*", "//", "%", "/", "<<", ">>", "&", "|", "^", "**")
POWERS = ("2", "3", "POSITIVE", "YES", "HALF", "LESS", "node", "ZERO")  # others take for ever
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
CONDITIONS = (
    "WORD == 'wide'",
    "NOTHING is None",
    "WORD in ('wide', 'long')",
    "YES",
    "NO",
    "TRUTH",
    "LIE",
    "Color.RED is Color.BLUE",
    "Level.HIGH == 100",
    "not LIE",
    "'x' in WORD",
    "NOTHING or YES",
)
FORMS = (
    "value = {0}\n",
    "if {c}:\n    value = {0}\nelse:\n    value = {1}\n",
    "value = {0} if {c} else {1}\n",
    "value = 0\nfor i in range({n}):\n    value = value + {0}\n",
    "value = 0\nfor item in {items}:\n    value += item * 2\n",
    "value = {0}\nvalue {s}= {1}\n",
    "value = sum([{0}, {1}])\n",
    "value, other = {0}, {1}\nvalue = value + other\n",
)
COUNTS = ("3", "np.int8(3)", "POSITIVE - 4", "len(LIST)", "Level.LOW + 1", "1 + node", "YES + 1")
ITEMS = ("TABLE", "PAIR[:2]", "LIST", "NAMED.values()", "range(POSITIVE)", "GRID[0]", "POINT")


# Programs -----------------------------------------------------------------------------------------


def program(seed: int) -> str:
    random = Random(seed)
    names = reference_names()
    parts: list[str] = []
    while len(parts) < RESULTS:
        part = _part(random)
        is_odd = any(name in part for name in ODD)
        if is_odd and random.random() < 0.9:
            continue
        outcome = _outcome(part, names)
        if outcome == "fits" or (outcome == "raises" and random.random() < 0.02):
            parts.append(part)
    return text_of(parts)


def text_of(parts: list[str]) -> str:
    lines = "".join(part + STORE.format("value") for part in parts)
    results = "".join(f"        {line}\n" for line in lines.splitlines())
    shape = (32 * len(parts), 32 * NODES)
    values = "\n".join(f"{name} = {text}" for name, text in VALUES.items() if text)
    head = HEAD.format(values=values)
    return head + OPERATION.format(nodes=NODES, count=len(parts), results=results, shape=shape)


def _part(random: Random) -> str:
    def expression(depth: int = 2) -> str:
        if depth == 0 or random.random() < 0.25:
            return random.choice([*VALUES, *VALUES, "i", "2", "-1", "1.5"])
        if random.random() < 0.15:
            return f"(-{expression(depth - 1)})"
        if random.random() < 0.15:
            sign = random.choice(COMPARISONS)
            return f"({expression(depth - 1)} {sign} {expression(depth - 1)})"
        sign = random.choice(SIGNS)
        right = random.choice(POWERS) if sign == "**" else expression(depth - 1)
        return f"({expression(depth - 1)} {sign} {right})"

    form = random.choice(FORMS)
    part = form.format(
        expression(),
        expression(),
        c=random.choice(CONDITIONS),
        n=random.choice(COUNTS),
        items=random.choice(ITEMS),
        s=random.choice(SIGNS[:-1]),
    )
    return part if "for i" in part else re.sub(r"\bi\b", "3", part)


def _outcome(part: str, names: dict[str, Any]) -> str:
    """Does Python compute it on all nodes, within 32 bits, in all its expressions?"""
    kinds = set()
    for node in range(NODES):
        around = {**names, **_of_node(node)}
        seen: list[Any] = []
        try:
            own = {"note": partial(_note, seen), "shift": partial(_shift, seen)}
            exec(_instrumented(part), around, own)
        except Exception:
            return "raises"
        if not all(map(_is_known, seen)):
            return "other"
        kinds |= {type(value) for value in seen[-1:]}
    return "fits" if kinds <= {int, bool, float} or kinds & _odd_kinds(names) else "other"


def _note(seen: list[Any], value: Any) -> Any:
    seen.append(value)
    return value


def _shift(seen: list[Any], count: Any) -> Any:
    """Kernels shift to the left by less than 31, also zeros."""
    seen.append(1 << 31 if count > 30 else 0)
    return count


def _odd_kinds(names: dict[str, Any]) -> set[type]:
    return {type(names[name]) for name in ODD}


def _is_known(value: Any) -> bool:
    if isinstance(value, (bool, str, type(None))):
        return True
    if isinstance(value, int):
        return -(2**31) < value < 2**31
    if isinstance(value, float):
        return abs(value) < 1e30 and (value == 0 or abs(value) > 1e-30)
    return not isinstance(value, complex)


def _instrumented(part: str) -> Any:
    """Notes the value of each operation."""

    class Notes(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            self.generic_visit(node)
            if isinstance(getattr(node, "op", None), ast.LShift):
                side = "right" if isinstance(node, ast.BinOp) else "value"
                shift = ast.Name("shift", ast.Load())
                setattr(node, side, ast.Call(shift, [getattr(node, side)], []))
            if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
                return ast.Call(ast.Name("note", ast.Load()), [node], [])
            return node

    tree = Notes().visit(_converted(ast.parse(f"{part}note(value)\n")))
    return compile(ast.fix_missing_locations(tree), "<reference>", "exec", dont_inherit=True)


# The reference ------------------------------------------------------------------------------------


class _AsPython(ast.NodeTransformer):
    """`plain()` around all that may be a number of numpy."""

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        is_load = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        kinds = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
        if isinstance(node, kinds) and is_load:
            return ast.Call(ast.Name("plain", ast.Load()), [node], [])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return node


def _converted(tree: ast.Module) -> ast.Module:
    found: ast.Module = _AsPython().visit(tree)
    return found


def plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)) and not value.ndim:
        return value.item()
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(map(plain, value))
    if value is sum:
        return lambda values, start=0: sum(map(plain, values), start)
    return value


def _execute(text: str, names: dict[str, Any]) -> dict[str, Any]:
    tree = ast.fix_missing_locations(_undecorated(ast.parse(text)))
    exec(compile(tree, "<reference>", "exec", dont_inherit=True), names)
    return names


def _undecorated(tree: ast.Module) -> ast.Module:
    """Definitions of classes stay as they are: only what kernels read is converted."""
    kept = [
        _converted(ast.Module([each], [])).body[0] if isinstance(each, ast.FunctionDef) else each
        for each in tree.body
    ]
    for each in kept:
        if isinstance(each, ast.ClassDef):
            for inner in each.body:
                is_read = isinstance(inner, ast.FunctionDef) and not inner.decorator_list
                if is_read:
                    each.body[each.body.index(inner)] = _AsPython().visit(inner)
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Lambda):
            each.value.body = _AsPython().visit(each.value.body)
    return ast.Module(kept, [])


def reference_names() -> dict[str, Any]:
    values = "\n".join(f"{name} = {text}" for name, text in VALUES.items() if text)
    names = _execute(HEAD.format(values=values), {"plain": plain, "__name__": "builtins"})
    return names


def _of_node(node: int) -> dict[str, Any]:
    return {"node": node, "per_node": 3 * node - 1, "narrow": np.int8(100 + node)}


class _Block:
    def __init__(self, found: list[Any]):
        self.found = found

    def __enter__(self) -> _Block:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def store(self, value: Any) -> None:
        self.found.append(value)


def expected(text: str) -> np.ndarray[Any, Any]:
    """The results of all nodes; what Python raises where it raises."""
    columns = []
    for node in range(NODES):
        found: list[Any] = []
        block = _Block(found)
        buffer = SimpleNamespace(reserve=lambda block=block: block)
        ttl = SimpleNamespace(
            node=lambda dims, node=node: node,
            operation=lambda **options: lambda body: body,
            make_dataflow_buffer_like=lambda *given, buffer=buffer, **options: buffer,
            compute=lambda: lambda kernel: kernel(),
            datamovement=lambda: lambda kernel: None,
            math=SimpleNamespace(fill=lambda value, shape: value),
        )
        names = {"plain": plain, "__name__": "builtins"}
        _execute(text.replace("import ttl\n", "", 1), _Standing(names, ttl=ttl))
        names["operation"](None)
        columns.append(found)
    return np.array(columns, np.float64).astype(np.float32).T


class _Standing(dict[str, Any]):
    """Names of a program, with some that stand from the start."""

    def __new__(cls, names: dict[str, Any], **others: Any) -> Any:
        names.update(others)
        return names


# The verdict --------------------------------------------------------------------------------------


def check(text: str) -> Verdict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim, host = (run(text, backend) for backend in ("sim", "host"))
        failure = _failure(text, sim, host)
    codes = {(name, code) for name, each in (("sim", sim), ("host", host)) for code in each.codes}
    return Verdict(failure, sim.kind, codes)


def _failure(text: str, sim: Outcome, host: Outcome) -> str:
    for name, each in (("sim", sim), ("host", host)):
        if each.kind == "fault":
            return f"{name}: {each.detail}"
    if "invalid" in (sim.kind, host.kind):
        return ""  # made smaller until it is no program
    if host.is_compilers and sim.kind in ("ended", "refused"):
        return ""  # what is not compiled yet is said, perhaps before what nobody runs
    # The compiler goes on after an error, the simulator ends with the first.
    if sim.kind != host.kind or not {*sim.codes[:1]} <= {*host.codes}:
        return f"engines differ: sim {sim}, host {host}"
    if sim.kind != "ended":
        return ""
    wanted: Any = None
    with suppress(Exception):
        wanted = expected(text)
    if wanted is None:
        return "engines end where Python raises"
    for name, each in (("sim", sim), ("host", host)):
        tiles = each.results[0][::32, ::32].astype(np.float32)
        wrong = np.argwhere(~((tiles == wanted) | (np.isnan(tiles) & np.isnan(wanted))))
        if len(wrong):
            place = tuple(int(number) for number in wrong[0])
            return f"{name} is not Python: {tiles[place]} for {wanted[place]} at {place}"
    return ""


def smaller(text: str) -> Iterator[str]:
    """Without each of the results."""
    parts = _parts_of(text)
    for number in range(len(parts) if len(parts) > 1 else 0):
        yield text_of(parts[:number] + parts[number + 1 :])
    for part in parts if len(parts) == 1 else ():
        yield from (text_of([each]) for each in _simpler(part))


def _parts_of(text: str) -> list[str]:
    body = text.partition("    def compute():\n")[2].partition("    @ttl.datamovement()")[0]
    lines = [line.removeprefix("        ") for line in body.splitlines()]
    parts = "\n".join(lines).split(STORE.format("value"))
    return [part.lstrip("\n") for part in parts if part.strip()]


def _simpler(part: str) -> Iterator[str]:
    """With one operation replaced by an operand of it."""
    tree = ast.parse(part)
    operations = [node for node in ast.walk(tree) if isinstance(node, (ast.BinOp, ast.UnaryOp))]
    for node in operations:
        for operand in ("left", "right", "operand"):
            if isinstance(getattr(node, operand, None), ast.expr):
                yield _replaced(part, node, getattr(node, operand))


def _replaced(part: str, node: Any, operand: ast.expr) -> str:
    class Replace(ast.NodeTransformer):
        def visit(self, each: ast.AST) -> Any:
            return (
                ast.parse(ast.unparse(operand), mode="eval").body
                if (ast.dump(each) == ast.dump(node))
                else self.generic_visit(each)
            )

    return ast.unparse(ast.fix_missing_locations(Replace().visit(ast.parse(part)))) + "\n"
