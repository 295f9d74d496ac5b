"""Calls in a unified body. The effect of a language call decides the thread of its statement.

rule KNOWN    calls of the language, of Python's own functions on numbers, of the user's functions,
              which are read where they are called, and of operations, which are expanded
rule UNKNOWN  every other call is an error where a kernel would have to make it, never a default
"""

from __future__ import annotations

import builtins
import math
import operator
import pdb
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from inspect import Parameter as Kinds
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Final

from ttl import language
from ttl.diagnostics import UsageError
from ttl.diagnostics.frames import is_pyttlang_file, is_user_file
from ttl.language.functions import FLAT, block_functions
from ttl.language.functions import math as math_functions
from ttl.language.grid import flatten_size
from ttl.language.operation import Operation
from ttl.semantics.dtypes import find_dtype
from ttl.semantics.layout import layout_of
from ttl.semantics.types import block_bytes

from .. import tree
from ..bindings import Variable
from ..captured import CHANGING
from ..functions import MISSING, find_called, own_code
from ..known import SCALARS, UNKNOWN, calculate
from ..trees import tree_of
from .problems import EXPAND_ONLY, unknown_call
from .things import (
    OF_KERNELS,
    OF_TILES,
    SCALAR,
    Kind,
    Side,
    Thing,
    container,
    container_of,
    item_of,
    join_things,
    memory_of,
    table,
    thing_of,
)
from .units import Effect, grid_of, owner_text

if TYPE_CHECKING:
    from .reading import BodyReader

# Python functions that kernels may call, and those whose results hold their arguments' items.
PURE: Final = (
    "abs",
    "bool",
    "divmod",
    "float",
    "hasattr",
    "id",
    "int",
    "isinstance",
    "len",
    "max",
    "min",
    "pow",
    "range",
    "repr",
    "round",
    "slice",
    "str",
    "sum",
    "type",
)
PASSING: Final = ("dict", "iter", "list", "next", "reversed", "set", "sorted", "tuple")
OPERATORS: Final = {*dir(language.Block)} & {*dir(operator)}
STOPS: Final = (breakpoint, pdb.set_trace)  # statements beside them decide where they run
WAITS: Final = ("wait_eq", "wait_ge")
SIGNALS: Final = ("set", "inc")
OF_BUFFERS_AND_NETS: Final = ("reserve", "wait", "publish", "if_src", "if_dst", "is_src", "is_dst")


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a call."""

    things: list[Thing]
    keywords: dict[str, Thing] = field(default_factory=dict)
    rest: Thing | None = None  # any further argument, of unknown number

    @property
    def all(self) -> list[Thing]:
        return [*self.things, *self.keywords.values(), *([self.rest] if self.rest else ())]

    def at(self, position: int, name: str) -> Thing:
        if position < len(self.things):
            return self.things[position]
        return self.keywords.get(name) or self.rest or SCALAR


Handler = Callable[..., Thing]  # takes the reader, the call, the arguments and the owner


def call(reader: BodyReader, node: tree.Call) -> Thing:
    callee = reader.evaluate(node.function)
    given = _given(reader, node)
    if callee.owner is not None:
        return _method(reader, node, callee.owner, callee.name, given)
    return _called(reader, node, callee, given)


def _given(reader: BodyReader, node: tree.Call) -> Given:
    things = spread(reader, node.arguments)
    keywords = {each.name or "**": reader.evaluate(each.value) for each in node.keywords}
    unpacked = keywords.pop("**", SCALAR)
    keywords |= {str(name): thing for name, thing in (unpacked.items or {}).items()}
    if isinstance(things, Thing):
        return Given([], keywords, things)
    return Given(things, keywords)


def spread(reader: BodyReader, nodes: Iterable[tree.Expression]) -> list[Thing] | Thing:
    """List the items, with those of `*other`; return one joined item if these are unknown."""
    found: list[Thing] = []
    is_known = True
    for each in nodes:
        thing = reader.evaluate(each)
        if not isinstance(each, tree.Starred):
            found.append(thing)
        elif thing.listed is not None:
            found += thing.listed
        else:
            is_known = False
            found.append(thing.inside)
    return found if is_known else join_things(found)


def parameters_given(function: tree.Function, given: Given, bound: int) -> dict[Variable, Thing]:
    """Map parameters of a user's function to arguments, after `bound` earlier ones."""
    found: dict[Variable, Thing] = {}
    keywords, place = dict(given.keywords), -bound
    for each in function.parameters:
        name = each.variable.name
        if each.kind == Kinds.VAR_POSITIONAL:
            rest = given.things[max(place, 0) :]
            thing = container(rest) if given.rest is None else container_of(given.rest)
        elif each.kind == Kinds.VAR_KEYWORD:
            thing = table(keywords)
        elif name in keywords and each.kind != Kinds.POSITIONAL_ONLY:
            thing = keywords.pop(name)
        elif each.kind != Kinds.KEYWORD_ONLY and 0 <= place < len(given.things):
            thing = given.things[place]
        elif each.kind != Kinds.KEYWORD_ONLY and given.rest is not None:
            thing = given.rest
        else:
            is_known = isinstance(each.default, tree.Constant)
            thing = Thing(value=each.default.value) if is_known else SCALAR  # type: ignore[union-attr]
        found[each.variable] = thing
        place += 1
    return found


def _called(reader: BodyReader, node: tree.Call, callee: Thing, given: Given) -> Thing:
    if callee.function is not None:
        return reader.go_in(callee.function, callee.around, node, given)
    value = callee.value
    if isinstance(value, Operation):
        from .expanding import expand  # it reads bodies too

        return expand(reader, value, node, given)
    if (handler := _FUNCTIONS.get(id(value))) is not None:
        return handler(reader, node, given)
    if getattr(value, "__module__", None) in ("builtins", "math") or value is range:
        return _of_python(reader, node, value, given)
    function, bound = find_called(value)
    file = own_code(function).co_filename if function is not None else ""
    if function is not None and is_user_file(file) and not is_pyttlang_file(file):
        found = tree_of(function)
        if found is not None and not found.is_async:
            return reader.go_in(found, function, node, given, bound)
    return _unknown(reader, node, given)


# Python's own -------------------------------------------------------------------------------------


def _of_python(reader: BodyReader, node: tree.Call, value: object, given: Given) -> Thing:
    name = getattr(value, "__name__", "")
    if name in ("enumerate", "zip"):
        return _side_by_side(given.things, name == "enumerate")
    if name in PASSING and getattr(builtins, name) is value:
        return _passed(name, given.at(0, ""))
    if name in ("abs", "pow", "sum") and any(t.inside.kind in OF_TILES for t in given.all):
        reader.does(Effect.COMPUTE, node)
        return Thing(Kind.VALUE)
    if name in PURE or (isinstance(value, BuiltinFunctionType) and hasattr(math, name)):
        is_read = any(thing.kind is Kind.ELEMENT for thing in given.all)
        return Thing(Kind.ELEMENT) if is_read else Thing(value=_number(node, value, given))
    return _unknown(reader, node, given)


def _number(node: tree.Call, value: object, given: Given) -> object:
    """Return the result of a function on known numbers."""
    values = [thing.value for thing in given.things]
    if value is len and values and given.things[0].items is not None:
        return len(given.things[0].items)
    if given.rest is not None or any(type(each) not in (*SCALARS, range) for each in values):
        return MISSING
    found = calculate(node, [value, *values])
    return MISSING if found is UNKNOWN else found


def _passed(name: str, held: Thing) -> Thing:
    if name == "next":
        return held.inside if held.kind is Kind.CONTAINER else SCALAR
    if held.kind is not Kind.CONTAINER:
        return container_of(SCALAR)
    if name == "reversed" and held.listed is not None:
        return container(reversed(held.listed))
    return container_of(held.any_item()) if name in ("set", "sorted") else held


def _side_by_side(things: list[Thing], is_numbered: bool) -> Thing:
    """Zip the items of things; a numbered row starts with its place, as in enumerate()."""

    def row(place: int | None) -> Thing:
        number = [Thing(value=MISSING if place is None else place)] if is_numbered else []
        return container([*number, *(item_of(each, place) for each in things)])

    lengths = [len(each.listed) for each in things if each.listed is not None]
    is_known = lengths and len(lengths) == len(things)
    return container(map(row, range(min(lengths)))) if is_known else container_of(row(None))


def _print(reader: BodyReader, node: tree.Call, given: Given) -> Thing:
    reader.unit.is_print = True
    kinds = {thing.kind for thing in given.things}
    if Kind.VALUE in kinds or "thread" in given.keywords:
        reader.does(Effect.COMPUTE, node)
    if Kind.TENSOR in kinds:
        reader.does(Effect.MOVE, node)
    return SCALAR


def _unknown(reader: BodyReader, node: tree.Call, given: Given) -> Thing:  # rule UNKNOWN
    if any(thing.kind in OF_KERNELS for thing in given.all):
        raise UsageError(unknown_call(reader.frame, node))
    reader.unit.unknown = node
    return SCALAR


# The language -------------------------------------------------------------------------------------


def _copy(reader: BodyReader, node: tree.Call, given: Given) -> Thing:
    reader.does(Effect.MOVE, node)
    unit = reader.unit
    unit.moves_blocks = True
    for place, thing in zip(node.given, given.all, strict=False):
        if thing.kind is Kind.VALUE:
            reader.does(Effect.COMPUTE, place)
    for position, (name, piped, touched) in enumerate(
        (("src", unit.receives, unit.loads), ("dst", unit.sends, unit.saves))
    ):
        thing = given.at(position, name)
        if thing.kind is Kind.PIPE:
            piped.add(thing.key)
            unit.net_names[thing.key] = thing.name or "pipe"
        if thing.kind in (Kind.SCALAR, Kind.TENSOR, Kind.SLICE):
            touched.add(memory_of(thing.value))
    return Thing(Kind.TRANSFER)


def _gives(
    kind: Kind = Kind.SCALAR, *marks: str, effect: Effect | None = None, end: Side | None = None
) -> Handler:
    """Make the handler of a call that marks its unit, whatever its arguments."""

    def handler(reader: BodyReader, node: tree.Call, given: Given, owner: Thing = SCALAR) -> Thing:
        if effect is not None:
            reader.does(effect, node)
        for mark in marks:
            setattr(reader.unit, mark, True)
        if end is not None:
            reader.unit.ends.add((owner.key, end))
        return Thing(kind, key=reader.place(node) if "makes" in marks else None)

    return handler


def _buffer(reader: BodyReader, node: tree.Call, given: Given) -> Thing:
    reader.unit.makes = True
    made = Thing(Kind.BUFFER, key=reader.place(node))
    tensor, shape = given.at(0, "tensor").value, given.at(1, "shape").known
    dtype = find_dtype(tensor)
    sizes = (shape,) if type(shape) is int else shape
    if not isinstance(sizes, tuple) or any(type(each) is not int for each in sizes):
        return made
    if dtype is None:
        return replace(made, block_bytes=made.block_bytes * math.prod(sizes))
    return replace(made, block_bytes=block_bytes(sizes, dtype, layout_of(tensor)))


def _grid_size(reader: BodyReader, node: tree.Call, given: Given) -> Thing:
    dims = given.at(0, "dims").value if given.all else 2
    return thing_of(flatten_size(grid_of(reader.frame), dims)) if type(dims) is int else SCALAR


_FUNCTIONS: Final[dict[int, Handler]] = {  # keyed by id: they live as long as the language
    **{
        id(each): _gives(Kind.VALUE, effect=Effect.COMPUTE)
        for space in (math_functions, block_functions)
        for each in (*FLAT.values(), *(getattr(space, name) for name in space.NAMES))
    },
    id(language.copy): _copy,
    id(language.make_dataflow_buffer_like): _buffer,
    id(language.make_tensor_backed_dfb): _buffer,
    id(language.PipeNet): _gives(Kind.NET, "makes"),
    id(language.Pipe): _gives(Kind.PIPE, "makes"),
    id(language.Semaphore): _gives(Kind.SEMAPHORE, "makes"),
    id(language.GroupTransfer): _gives(Kind.TRANSFER, effect=Effect.MOVE),
    id(language.node): _gives(Kind.SCALAR, "in_kernels"),
    id(language.grid_size): _grid_size,
    id(language.raw_element_read): _gives(Kind.ELEMENT, "moves_blocks", effect=Effect.MOVE),
    id(language.raw_element_write): _gives(Kind.ELEMENT, "moves_blocks", effect=Effect.MOVE),
    id(language.signpost): _gives(Kind.SCALAR, "is_signpost"),
    id(print): _print,
    **{id(stop): _gives(Kind.SCALAR, "is_print", "is_breakpoint") for stop in STOPS},
}


# Methods ------------------------------------------------------------------------------------------


def _method(reader: BodyReader, node: tree.Call, owner: Thing, name: str, given: Given) -> Thing:
    handler = _METHODS.get((owner.kind, name))
    if handler is not None:
        return handler(reader, node, given, owner)
    if owner.kind is Kind.CONTAINER:
        return _of_container(reader, node, owner, name, given)
    if name in OF_BUFFERS_AND_NETS and owner.kind is Kind.TENSOR and node.method:
        raise EXPAND_ONLY.error(
            (reader.frame, node), operation=reader.frame.name, parameter=owner_text(node)
        )
    is_plain = owner.kind not in OF_KERNELS and name not in OF_BUFFERS_AND_NETS
    if not is_plain and owner.kind not in (Kind.BUFFER, Kind.NET):
        raise UsageError(unknown_call(reader.frame, node))
    return _unknown(reader, node, given)


def _acquires(end: Side) -> Handler:
    def handler(reader: BodyReader, node: tree.Call, given: Given, owner: Thing = SCALAR) -> Thing:
        reader.unit.ends.add((owner.key, end))
        site = reader.site(node, end, owner)
        return Thing(Kind.BLOCK, sites=frozenset({site}))

    return handler


def _publish(reader: BodyReader, node: tree.Call, given: Given, owner: Thing = SCALAR) -> Thing:
    reader.does(Effect.MOVE, node)
    reader.unit.publishes = True
    return _acquires(Side.RESERVE)(reader, node, given, owner)


def _with_pipe(reader: BodyReader, node: tree.Call, given: Given, owner: Thing = SCALAR) -> Thing:
    """Read if_src() or if_dst()."""
    reader.does(Effect.MOVE, node)
    pipe = Thing(Kind.PIPE, key=owner.key, name=owner_text(node))
    for each in given.all:
        _called(reader, node, each, Given([pipe]))
    return SCALAR


def _remote(reader: BodyReader, node: tree.Call, given: Given, owner: Thing = SCALAR) -> Thing:
    return replace(owner, value=MISSING)


def _of_container(
    reader: BodyReader, node: tree.Call, owner: Thing, name: str, given: Given
) -> Thing:
    held = owner.any_item()
    if any(name in methods for methods in CHANGING.values()):
        news = [t.any_item() if name == "extend" else t for t in given.things[-1:]]
        inside = join_things([*([] if owner.is_empty else [held]), *news]) if news else held
        if isinstance(node.function, tree.Attribute):
            reader.change(node.function.owner, container_of(inside))
        return held
    items = owner.items
    if name in ("values", "copy"):
        return owner if items is None or name == "copy" else container(items.values())
    if name == "items":
        rows = [container((Thing(value=key), each)) for key, each in (items or {}).items()]
        return container_of(container((SCALAR, held))) if items is None else container(rows)
    return held if name == "get" else SCALAR


_METHODS: Final[dict[tuple[Kind, str], Handler]] = {
    (Kind.BUFFER, "reserve"): _acquires(Side.RESERVE),
    (Kind.BUFFER, "wait"): _acquires(Side.WAIT),
    (Kind.BUFFER, "push"): _gives(end=Side.RESERVE),
    (Kind.BUFFER, "pop"): _gives(end=Side.WAIT),
    (Kind.BUFFER, "can_reserve"): _gives(Kind.ELEMENT, end=Side.RESERVE),
    (Kind.BUFFER, "can_wait"): _gives(Kind.ELEMENT, end=Side.WAIT),
    (Kind.BUFFER, "publish"): _publish,
    (Kind.BLOCK, "store"): _gives(effect=Effect.COMPUTE),
    (Kind.BLOCK, "push"): _gives(),
    (Kind.BLOCK, "pop"): _gives(),
    **{(Kind.BLOCK, operator): _gives(Kind.VALUE, effect=Effect.COMPUTE) for operator in OPERATORS},
    (Kind.NET, "if_src"): _with_pipe,
    (Kind.NET, "if_dst"): _with_pipe,
    (Kind.SEMAPHORE, "get_remote"): _remote,
    (Kind.SEMAPHORE, "get_remote_multicast"): _remote,
    **{(Kind.TRANSFER, name): _gives(effect=Effect.MOVE) for name in ("wait", "add", "wait_all")},
    **{(Kind.NET, n): _gives(Kind.SCALAR, "in_kernels") for n in ("is_src", "is_dst", "is_active")},
    **{(Kind.SEMAPHORE, n): _gives(Kind.SCALAR, "awaits", effect=Effect.MOVE) for n in WAITS},
    **{(Kind.SEMAPHORE, n): _gives(Kind.SCALAR, "signals", effect=Effect.MOVE) for n in SIGNALS},
}
