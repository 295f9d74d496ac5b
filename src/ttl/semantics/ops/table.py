"""The columns of the op table.

To add an operation, write one entry in a module of this folder: its meaning, and in `tile` a call
of the chip or a composition of other operations. If the call is new to the host executor, add a row
in one of host/runtime/vector_*.cpp. Everything else comes from the entry: the functions users call,
the IR, the lowering and the tests that compare backends; `python
tests/conformance/operators_page.py` writes the reference page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any

from ..dtypes import Array, DType
from ..types import BlockType, Shape

Composition = Callable[..., Any]  # of compositions.Value
REQUIRED: object = object()  # a parameter without a default


@dataclass(frozen=True, slots=True)
class TileCall:
    """One call of the chip's compute interface and the init that must come before it.

    `call` and `init` may end in template arguments, in which {format} is the data format of the
    operand in a register. `include` is relative to api/compute/. A call that `accumulates` adds to
    the register's contents, so the register must start at zero. `arguments` makes the C++ texts
    that follow the registers, from the operation's parameters. `then` is a call on the result.
    `sources` selects the buffers that feed source A and source B.
    """

    call: str
    init: str
    include: str
    accumulates: bool = False
    arguments: Callable[..., tuple[str, ...]] | None = None
    then: TileCall | None = None
    sources: tuple[int, ...] = (0, 1)


@dataclass(frozen=True, slots=True)
class TileForms:
    """The ways to do an operation on tiles, by where its operands are.

    `from_buffers`: the matrix unit reads both operands from buffers. `by_tile`: takes one tile of
    each, if `from_buffers` takes several. `in_dst`: the vector unit works on DST registers, in
    place on the first. `left_in_dst`, `right_in_dst`: the matrix unit reads one operand from a
    register, which gets the result, and the other from a buffer. `with_broadcast`: it reads both
    from buffers and expands the second, by dimensions. `by_dims`: operands in buffers, with a call
    for each set of reduced or expanded dimensions among -2 and -1. `is_view`: the result has the
    operand's tiles in their order. `composition`: no call does it; other operations make the value
    (see compositions.py). `exact`: a composition that keeps all digits of f32, on request.
    `is_nothing`: the result is the operand, bit for bit. These forms are for floats; integers, 32
    bits wide in a register, have their own by element type.
    """

    from_buffers: TileCall | None = None
    by_tile: TileCall | None = None
    in_dst: TileCall | None = None
    left_in_dst: TileCall | None = None
    right_in_dst: TileCall | None = None
    with_broadcast: Mapping[Shape, TileCall] = field(default_factory=dict)
    by_dims: Mapping[Shape, TileCall] = field(default_factory=dict)
    is_view: bool = False
    composition: Composition | None = None
    exact: Composition | None = None
    is_nothing: bool = False
    integers: Mapping[str, TileForms] = field(default_factory=dict)

    def of(self, dtype: DType) -> TileForms | None:
        """Return the forms for operands of this element type, or None."""
        found = self if dtype.is_float else self.integers.get(dtype.spelling)
        return found if found is not None and found.is_there else None

    @property
    def is_there(self) -> bool:
        ways = (self.from_buffers, self.in_dst, self.composition)
        is_arranged = self.is_view or bool(self.by_dims)
        return self.is_nothing or is_arranged or any(way is not None for way in ways)

    @property
    def calls(self) -> list[TileCall]:
        found = [self.from_buffers, self.by_tile, self.in_dst, self.left_in_dst, self.right_in_dst]
        found += (*self.with_broadcast.values(), *self.by_dims.values())
        calls = [call for first in found if first for call in _with_following(first)]
        return calls + [call for forms in self.integers.values() for call in forms.calls]


def _with_following(call: TileCall) -> list[TileCall]:
    return [call, *(_with_following(call.then) if call.then else [])]


class ParameterKind(Enum):
    """The kind of value a parameter takes; messages show the enum's value."""

    NUMBER = "a number"
    NATURAL = "a natural number"
    INTEGER = "an int"
    DIMS = "an int or a list of ints"
    DTYPE = "an element type such as ttnn.bfloat16"
    SHAPE = "a shape such as (2, 2)"
    FLAG = "True or False"

    __hash__ = object.__hash__

    @property
    def decides_types(self) -> bool:
        """Return whether the type of the result depends on the parameter."""
        return self in (ParameterKind.DIMS, ParameterKind.DTYPE, ParameterKind.SHAPE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A function's argument that is not a block.

    `sample` is a number that tests use, with an effect on floats between -4 and 4.
    """

    name: str
    kind: ParameterKind
    default: Any = REQUIRED
    sample: float | None = None


class Domain(Enum):
    """The element types for which an operation has a meaning."""

    FLOATS = "bfloat16, float16, float32, bfloat8_b and bfloat4_b"
    INTEGERS = "int32, uint32, uint16 and uint8"
    ALL = "all element types"


Arguments = tuple[tuple[object, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class BlockOp:
    """All facts about one block operation.

    `type_rule` gets the operands' types and the parameters that decide types, by name; it sees a
    number as a fill without a shape. `meaning` gets arrays in the carrier of the element type
    (numbers as scalars of it) and all parameters; the caller rounds its result to the DST format.
    The arrays of an `elementwise` operation may be smaller than the block: they are equal along the
    dimensions they lack. `in_sources` is the meaning for f32 operands in the matrix unit, whose
    sources cut them off, multiplied in `phases`; None: the matrix unit does not do it. `in_16_bits`
    is the meaning in 16-bit registers, if it differs there; `is_cut_off`: the chip does not round
    the result in them. `bound` limits how far two engines, or the chip, may differ before that
    rounding, given the spacing of the DST format at 1.0 and the arguments of `meaning`; None means
    bit for bit. The bound holds for floats in `defined_between`: outside there is no value, or one
    that an error of the operand changes much. An operation that `computes` may make a NaN, which
    has no sign; one that only chooses among its operands, or is never NaN, does not compute (rule
    NAN of special_values.py).
    """

    name: str
    operands: int
    type_rule: Callable[..., BlockType]
    meaning: Callable[..., Array]
    summary: str
    operator: str | None = None  # its Python operator
    namespaces: tuple[str, ...] = ()  # callable as ttl.<namespace>.<name>
    tile: dict[str, TileForms] = field(default_factory=dict)  # by device API version
    bound: Callable[..., Array] | None = None
    in_sources: Callable[..., Array] | None = None
    in_16_bits: Callable[..., Array] | None = None
    is_cut_off: bool = False
    computes: bool = True
    multiplies: bool = False  # in phases, if the matrix unit does it
    operand_names: tuple[str, ...] = ()  # if empty: x, or a and b
    operand_defaults: dict[str, float] = field(default_factory=dict)
    scalars: tuple[str, ...] = ()  # the operands that may be numbers
    parameters: tuple[Parameter, ...] = ()
    domain: Domain = Domain.ALL
    defined_between: tuple[float, float] = (-inf, inf)
    elementwise: bool = True
    rearrange: Callable[..., Arguments] | None = None  # converts other signatures to the table's
    forms: tuple[str, ...] = ()  # calls that helps show, if there are several
    aliases: dict[str, str] = field(default_factory=dict)  # public versions' keywords to ours
    spelled: str = ""  # the name that users write, if it differs
    with_flags: BlockOp | None = None  # used instead if a call has one of its parameters

    def called_with(self, keywords: Iterable[str]) -> BlockOp:
        """Return the operation for a call with these keywords: itself or `with_flags`."""
        flags = () if self.with_flags is None else self.with_flags.parameters
        is_given = any(flag.name in keywords for flag in flags)
        return self.with_flags if is_given and self.with_flags is not None else self

    @property
    def reads_buffers(self) -> bool:
        """Return whether the matrix unit does it with one of two operands in a buffer."""
        return any(forms.left_in_dst is not None for forms in self.tile.values())

    @property
    def names(self) -> tuple[str, ...]:
        return self.operand_names or (("a", "b") if self.operands == 2 else ("x",))[: self.operands]

    def keyword(self, given: str) -> str:
        """Return our name of an argument that public versions may call differently."""
        if given in ("expr", "block") and self.operands:
            return self.names[0]
        return self.aliases.get(given, given)

    @property
    def spelling(self) -> str:
        """The operator or function that users write."""
        if self.operator:
            return f"operator {self.operator}"
        return f"ttl.{'.'.join((*self.namespaces[:1], self.spelled or self.name))}()"

    @property
    def calls(self) -> tuple[str, ...]:
        """The correct calls, for helps."""
        if self.forms:
            return self.forms
        arguments = [*self.names, *(_shown(parameter) for parameter in self.parameters)]
        path = ".".join(("ttl", *self.namespaces[:1], self.spelled or self.name))
        return (f"{path}({', '.join(arguments)})",)


def _shown(parameter: Parameter) -> str:
    if parameter.default is REQUIRED:
        return parameter.name
    return f"{parameter.name}={parameter.default!r}"


def shape_text(operand: BlockType) -> str:
    return f"{operand} (in tiles)"
