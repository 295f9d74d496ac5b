"""Calls in a unified body. What each one of the language does decides the thread of its statement.

rule KNOWN    calls of the language, of Python's own functions on numbers, of the user's functions,
              which are read where they are called, and of operations, which are expanded
rule UNKNOWN  every other call is an error where a kernel would have to make it, never a default
"""

from __future__ import annotations

import ast
import builtins
import math
import pdb
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, Final

from ttl import language
from ttl.diagnostics.frames import is_pyttlang_file, is_user_file
from ttl.language.functions import FLAT, block_functions
from ttl.language.functions import math as math_functions
from ttl.language.operation import Operation
from ttl.semantics.function_source import function_tree

from ..captured import CHANGING
from ..functions import MISSING, called_function, own_code
from .memory import memory_of
from .problems import expand_only, kernels_in_unified, unknown_call
from .things import OF_KERNELS, OF_TILES, SCALAR, End, Kind, Thing, container_of, joined
from .units import Effect, Place

if TYPE_CHECKING:
    from .reading import Reader

# Functions of Python that kernels may call, and those whose results have the items of arguments.
PURE: Final = (
    "abs", "bool", "divmod", "float", "hasattr", "id", "int", "isinstance", "len", "max", "min",
    "pow", "range", "repr", "round", "slice", "str", "sum", "type",
)  # fmt: skip
PASSING: Final = ("dict", "iter", "list", "next", "reversed", "set", "sorted", "tuple")
OF_BUFFERS_AND_NETS: Final = ("reserve", "wait", "publish", "if_src", "if_dst", "is_src", "is_dst")


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a call."""

    things: list[Thing]
    keywords: dict[str, Thing]
    nodes: list[ast.expr]

    @property
    def all(self) -> list[Thing]:
        return [*self.things, *self.keywords.values()]


def call(reader: Reader, node: ast.Call) -> Thing:
    callee = reader.evaluate(node.func)
    given = Given(
        [reader.evaluate(each) for each in node.args],
        {each.arg or "**": reader.evaluate(each.value) for each in node.keywords},
        [*node.args, *(each.value for each in node.keywords)],
    )
    if callee.kind is Kind.METHOD:
        return _method(reader, node, callee, given)
    return _called(reader, node, callee, given)


def _called(reader: Reader, node: ast.Call, callee: Thing, given: Given) -> Thing:
    if callee.kind is Kind.FUNCTION:
        assert callee.tree is not None and callee.scope is not None
        return reader.enter(callee.tree, callee.scope, node, given)
    value = callee.value
    if isinstance(value, Operation):
        return reader.expand(value, node, given)
    for known, handler in _LANGUAGE:
        if value is known:
            return handler(reader, node, given)
    if value is breakpoint or value is pdb.set_trace:  # where what stands beside it runs
        reader.unit.is_print = reader.unit.is_breakpoint = True
        return SCALAR
    if id(value) in _TILE_FUNCTIONS:
        reader.does(Effect.COMPUTE, node)
        return Thing(Kind.VALUE)
    if getattr(value, "__module__", None) in ("builtins", "math") or value is range:
        return _of_python(reader, node, value, given)
    function, bound = called_function(value)
    file = own_code(function).co_filename if function is not None else ""
    if function is not None and is_user_file(file) and not is_pyttlang_file(file):
        tree = function_tree(own_code(function))
        if isinstance(tree, (ast.FunctionDef, ast.Lambda)):
            return reader.enter(tree, function, node, given, bound)
    return _unknown(reader, node, given)


def _of_python(reader: Reader, node: ast.Call, value: Any, given: Given) -> Thing:
    name = getattr(value, "__name__", "")
    if value is print:
        return _print(reader, node, given)
    if name in ("enumerate", "zip"):
        first = [SCALAR] if name == "enumerate" else []
        items = (t.any_item() if t.kind is Kind.CONTAINER else SCALAR for t in given.things)
        return container_of(Thing(Kind.CONTAINER, items=(*first, *items)))
    if name in PASSING and getattr(builtins, name) is value:
        held = given.things[0] if given.things else container_of(SCALAR)
        if name == "next":
            return held.any_item() if held.kind is Kind.CONTAINER else SCALAR
        return held if held.kind is Kind.CONTAINER else container_of(SCALAR)
    if name in ("abs", "pow", "sum") and any(t.inside.kind in OF_TILES for t in given.all):
        reader.does(Effect.COMPUTE, node)
        return Thing(Kind.VALUE)
    if name in PURE or (isinstance(value, BuiltinFunctionType) and hasattr(math, name)):
        is_read = any(thing.kind is Kind.ELEMENT for thing in given.all)
        return Thing(Kind.ELEMENT) if is_read else SCALAR
    return _unknown(reader, node, given)


def _print(reader: Reader, node: ast.Call, given: Given) -> Thing:
    reader.unit.is_print = True
    kinds = {thing.kind for thing in given.things}
    if Kind.VALUE in kinds or "thread" in given.keywords:
        reader.does(Effect.COMPUTE, node)
    if Kind.TENSOR in kinds:
        reader.does(Effect.MOVE, node)
    return SCALAR


def _unknown(reader: Reader, node: ast.Call, given: Given) -> Thing:  # rule UNKNOWN
    if any(thing.kind in OF_KERNELS for thing in given.all):
        raise unknown_call(reader.frame, node)
    reader.unit.unknown = node
    return SCALAR


# The language -------------------------------------------------------------------------------------


def _copy(reader: Reader, node: ast.Call, given: Given) -> Thing:
    reader.does(Effect.MOVE, node)
    reader.unit.moves_blocks = True
    ends = [*enumerate(given.things), *((int(n == "dst"), t) for n, t in given.keywords.items())]
    for (position, thing), place in zip(ends, given.nodes, strict=True):
        if thing.kind is Kind.VALUE:
            reader.does(Effect.COMPUTE, place)
        if thing.kind is Kind.PIPE:
            side = reader.unit.receives if position == 0 else reader.unit.sends
            side.add(thing.key)
            reader.unit.net_names[thing.key] = thing.name or "pipe"
        if thing.kind in (Kind.SCALAR, Kind.TENSOR, Kind.SLICE):
            touched = reader.unit.loads if position == 0 else reader.unit.saves
            touched.add(memory_of(thing.value))
    return Thing(Kind.TRANSFER)


def _gives(
    kind: Kind, mark: str = "", effect: Effect | None = None
) -> Callable[[Reader, ast.Call, Given], Thing]:
    """A call that sets a mark of its unit, and does nothing that depends on its arguments."""

    def handler(reader: Reader, node: ast.Call, given: Given) -> Thing:
        if effect is not None:
            reader.does(effect, node)
        if mark:
            setattr(reader.unit, mark, True)
        return Thing(kind, key=Place(reader.place(node)) if mark == "makes" else None)

    return handler


def _kernel(reader: Reader, node: ast.Call, given: Given) -> Thing:
    raise kernels_in_unified(reader.frame, node)


_LANGUAGE: Final[list[tuple[Any, Callable[[Reader, ast.Call, Given], Thing]]]] = [
    (language.copy, _copy),
    (language.make_dataflow_buffer_like, _gives(Kind.BUFFER, "makes")),
    (language.make_tensor_backed_dfb, _gives(Kind.BUFFER, "makes")),
    (language.PipeNet, _gives(Kind.NET, "makes")),
    (language.Pipe, _gives(Kind.PIPE, "makes")),
    (language.Semaphore, _gives(Kind.SEMAPHORE, "makes")),
    (language.GroupTransfer, _gives(Kind.TRANSFER, effect=Effect.MOVE)),
    (language.node, _gives(Kind.SCALAR, "in_kernels")),
    (language.grid_size, _gives(Kind.SCALAR)),
    (language.raw_element_read, _gives(Kind.ELEMENT, "moves_blocks", Effect.MOVE)),
    (language.raw_element_write, _gives(Kind.ELEMENT, "moves_blocks", Effect.MOVE)),
    (language.signpost, _gives(Kind.SCALAR, "is_signpost")),
    (language.compute, _kernel),
    (language.datamovement, _kernel),
]
_TILE_FUNCTIONS: Final = {  # they live as long as the language
    *map(id, FLAT.values()),
    *(
        id(getattr(space, name))
        for space in (math_functions, block_functions)
        for name in space.NAMES
    ),
}


# Methods ------------------------------------------------------------------------------------------


def _method(reader: Reader, node: ast.Call, callee: Thing, given: Given) -> Thing:
    assert callee.owner is not None
    handler = _METHODS.get(callee.owner.kind, _of_plain_value)
    return handler(reader, node, callee.owner, callee.name, given)


def _of_plain_value(reader: Reader, node: ast.Call, owner: Thing, name: str, given: Given) -> Thing:
    if name in OF_BUFFERS_AND_NETS:
        if owner.kind is Kind.TENSOR and isinstance(node.func, ast.Attribute):
            raise expand_only(reader.frame, node, ast.unparse(node.func.value))
        raise unknown_call(reader.frame, node)
    return _unknown(reader, node, given)


def _of_buffer(reader: Reader, node: ast.Call, owner: Thing, name: str, given: Given) -> Thing:
    unit = reader.unit
    if name in ("reserve", "wait"):
        end = End(name)
        site = reader.site(node, end, owner.key, _owner_text(node))
        unit.ends.add((owner.key, end))
        return Thing(Kind.BLOCK, sites=frozenset({site}))
    if name == "publish":
        reader.does(Effect.MOVE, node)
        unit.publishes = True
        unit.ends.add((owner.key, End.RESERVE))
        return SCALAR
    ends = {"push": End.RESERVE, "can_reserve": End.RESERVE, "pop": End.WAIT, "can_wait": End.WAIT}
    if name in ends:
        unit.ends.add((owner.key, ends[name]))
        return Thing(Kind.ELEMENT) if name.startswith("can") else SCALAR
    return _unknown(reader, node, given)


def _owner_text(node: ast.Call) -> str:
    return ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else "a buffer"


def _of_block(reader: Reader, node: ast.Call, owner: Thing, name: str, given: Given) -> Thing:
    if name == "store":
        reader.does(Effect.COMPUTE, node)
    elif name not in ("push", "pop"):
        raise unknown_call(reader.frame, node)
    return SCALAR


def _of_transfer(reader: Reader, node: ast.Call, owner: Thing, name: str, given: Given) -> Thing:
    if name not in ("wait", "add", "wait_all"):
        raise unknown_call(reader.frame, node)
    reader.does(Effect.MOVE, node)
    return SCALAR


def _of_net(reader: Reader, node: ast.Call, owner: Thing, name: str, given: Given) -> Thing:
    if name in ("is_src", "is_dst", "is_active"):
        reader.unit.in_kernels = True
        return SCALAR
    if name not in ("if_src", "if_dst"):
        return _unknown(reader, node, given)
    reader.does(Effect.MOVE, node)
    pipe = Thing(Kind.PIPE, key=owner.key, name=_owner_text(node))
    for each in given.all:
        _called(reader, node, each, Given([pipe], {}, []))
    return SCALAR


def _of_semaphore(reader: Reader, node: ast.Call, owner: Thing, name: str, given: Given) -> Thing:
    if name in ("get_remote", "get_remote_multicast"):
        return replace(owner, value=MISSING)
    if name not in ("wait_eq", "wait_ge", "set", "inc"):
        raise unknown_call(reader.frame, node)
    reader.does(Effect.MOVE, node)
    if name.startswith("wait"):
        reader.unit.awaits = True
    else:
        reader.unit.signals = True
    return SCALAR


def _of_container(reader: Reader, node: ast.Call, owner: Thing, name: str, given: Given) -> Thing:
    assert isinstance(node.func, ast.Attribute)
    held = owner.any_item()
    if any(name in methods for methods in CHANGING.values()):
        news = [t.any_item() if name == "extend" else t for t in given.things[-1:]]
        is_new = not owner.items and owner.item is None
        inside = joined([*([] if is_new else [held]), *news]) if news else held
        reader.change(node.func.value, container_of(inside))
        return held
    if name in ("values", "copy"):
        return owner
    if name == "items":
        return container_of(Thing(Kind.CONTAINER, items=(SCALAR, held)))
    return held if name == "get" else SCALAR


_METHODS: Final[dict[Kind, Callable[[Reader, ast.Call, Thing, str, Given], Thing]]] = {
    Kind.BUFFER: _of_buffer,
    Kind.BLOCK: _of_block,
    Kind.TRANSFER: _of_transfer,
    Kind.NET: _of_net,
    Kind.SEMAPHORE: _of_semaphore,
    Kind.CONTAINER: _of_container,
}
