"""Classes that ttir and ttnn share: graph operations of the table, the TT-Lang operation, text.

`ttnn.add(%0, %1) {attributes} : (types) -> type`
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FlatSymbolRefAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    f64,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    attr_def,
    opt_attr_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttgraph.graph_ops import GRAPH_OPS, GraphOp
from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import define_operation
from ttl.dialects.definitions import element_of as element_of
from ttl.dialects.definitions import shape_of as shape_of

Tensor: TypeAlias = TensorType[Any]
Dense: TypeAlias = DenseIntOrFPElementsAttr[Any]
_NONE: Mapping[str, Attribute] = {}


def as_text(attribute: Attribute) -> Attribute:
    """Turn bytes into a string: xDSL prints text that is not ASCII as bytes, and reads bytes."""
    if isinstance(attribute, BytesAttr):
        with suppress(UnicodeDecodeError):
            return StringAttr(attribute.data.decode())
    return attribute


class CallOp(DefinedOperation, ABC):
    """Prints and parses all operations here. Attributes are sorted by name."""

    @classmethod
    def create(
        cls,
        *,
        properties: Mapping[str, Attribute] = _NONE,
        attributes: Mapping[str, Attribute] = _NONE,
        **others: Any,
    ) -> Self:
        """Accept properties as attributes: tt-mlir writes `"ttir.sum"(%0) <{keep_dim = true}>`."""
        return super().create(attributes={**properties, **attributes}, **others)

    def printed_attributes(self) -> dict[str, Attribute]:
        return dict(sorted(self.attributes.items()))

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.printed_attributes())
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        start = parser.pos
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        given = parser.parse_optional_attr_dict()
        attributes = {name: as_text(attribute) for name, attribute in given.items()}
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        if len(types.inputs) != len(names):
            message = f"{len(names)} operands have {len(types.inputs)} types"
            parser.raise_error(message, start, parser.pos)
        pairs = zip(names, types.inputs, strict=True)
        return cls.create(
            operands=[parser.resolve_operand(name, type) for name, type in pairs],
            result_types=list(types.outputs),
            attributes=attributes,
        )


# Attributes as Python values ----------------------------------------------------------------------


def to_attribute(value: Any) -> Attribute:
    """Make an attribute of a JSON value; lists of integers become dense arrays."""
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, Mapping):
        return DictionaryAttr({key: to_attribute(item) for key, item in value.items()})
    if value and all(type(item) is int for item in value):
        return cast(Attribute, DenseArrayBase.from_list(i64, list(value)))
    return ArrayAttr([to_attribute(item) for item in value])


def from_attribute(attribute: Attribute) -> Any:
    """Invert to_attribute(); raise TypeError for other attributes."""
    if isinstance(attribute, DictionaryAttr):
        return {key: from_attribute(item) for key, item in attribute.data.items()}
    if isinstance(attribute, ArrayAttr):
        return [from_attribute(item) for item in attribute]
    if isinstance(attribute, DenseArrayBase):
        return list(attribute.get_values())
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, IntegerAttr):
        number = attribute.value.data
        return bool(number) if attribute.type == BoolAttr.from_bool(True).type else number
    raise TypeError(f"{attribute} is no plain value")


def dense_values(value: Dense) -> np.ndarray:
    """Return the elements; a splat is broadcast, so it is stored once."""
    found = np.asarray(value.get_values())
    shape = value.get_shape()
    return np.broadcast_to(found, shape) if len(found) == 1 else found.reshape(shape)


_KINDS: dict[str, tuple[type, ...]] = {"int": (int,), "bool": (bool,), "float": (float, int)}


def _read_attribute(name: str, kind: str, attribute: Attribute | None) -> object:
    if attribute is None:
        raise ValueError(f"`{name}` is missing")
    value = from_attribute(attribute)
    is_right = (
        isinstance(value, list) and all(type(item) is int for item in value)
        if kind == "ints"
        else type(value) in _KINDS[kind]
    )
    if not is_right:
        raise ValueError(f"`{name}` is not of the kind {kind}")
    return value


# Operations of the table --------------------------------------------------------------------------


class MathOp(CallOp, ABC):
    """An operation of the table."""

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    ENTRY: ClassVar[GraphOp]

    @classmethod
    def of(cls, inputs: Sequence[SSAValue], result: Attribute, **attributes: object) -> Self:
        return cls.create(
            operands=list(inputs),
            result_types=[result],
            attributes={name: to_attribute(value) for name, value in attributes.items()},
        )

    def values(self) -> dict[str, Any]:
        """Return the attributes as Python values; raise ValueError or TypeError if wrong."""
        return {
            name: _read_attribute(name, kind, self.attributes.get(name))
            for name, kind in self.ENTRY.attributes
        }

    def verify_(self) -> None:
        known = {name for name, _ in self.ENTRY.attributes}
        for name, attribute in self.attributes.items():  # names with a dot are foreign notes
            if name not in known and "." not in name and attribute != BoolAttr.from_bool(False):
                raise VerifyException(f"{self.name} with `{name} = {attribute}` is not supported")
        try:
            shape = self.ENTRY.result_shape([shape_of(each) for each in self.inputs], self.values())
        except (ValueError, TypeError) as error:
            raise VerifyException(f"{self.name}: {error}") from None
        if shape != shape_of(self.result):
            raise VerifyException(f"{self.name} gives the shape {shape}")


# Two empty tensors are two buffers, never one.
_NOT_PURE = ("empty",)


def math_classes(dialect: str) -> dict[str, type[MathOp]]:
    """Make a class for each entry of the table, by its name there."""

    def math_class(op: GraphOp) -> type[MathOp]:
        name = op.ttir if dialect == "ttir" else op.name
        members = {} if op.name in _NOT_PURE else {"traits": traits_def(Pure())}
        found: type[MathOp] = define_operation(f"{dialect}.{name}", MathOp, ENTRY=op, **members)
        return found

    return {op.name: math_class(op) for op in GRAPH_OPS.values()}


class ConstantBase(CallOp, ABC):
    value = attr_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        given = self.value.type
        assert isinstance(given, TensorType)
        if tuple(given.get_shape()) != shape_of(self.result):
            raise VerifyException(f"{self.name} has the shape of its value")


# The TT-Lang operation ----------------------------------------------------------------------------


class TTLangBase(CallOp, ABC):
    """A TT-Lang operation in destination-passing style: result i is written to init i."""

    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    kernel_id = attr_def(StringAttr)
    version_tag = attr_def(StringAttr)
    arg_roles = attr_def(StringAttr)
    shard_spec = opt_attr_def(StringAttr)

    @property
    def inits(self) -> tuple[SSAValue, ...]:
        """Operands that results are written to."""
        return tuple(self.inputs)[len(self.inputs) - len(self.outputs) :]

    def text_of(self, name: str) -> str:
        found = self.attributes.get(name)
        return found.data if isinstance(found, StringAttr) else ""

    def printed_attributes(self) -> dict[str, Attribute]:
        shown = super().printed_attributes()
        if not self.text_of("shard_spec"):
            shown.pop("shard_spec", None)
        return shown

    def verify_(self) -> None:
        problem = find_roles_problem(self)
        if problem is None:
            empty = [name for name in ("kernel_id", "version_tag") if not self.text_of(name)]
            problem = f"`{empty[0]}` attribute must not be empty." if empty else None
        if problem is None:
            types = zip(self.inits, self.outputs, strict=True)
            if any(init.type != output.type for init, output in types):
                problem = 'every result must have the type of its "out" operand.'
        if problem is not None:
            raise VerifyException(f"'{self.name}' op {problem}")


def find_roles_problem(op: TTLangBase) -> str | None:
    """Describe the first rule of `arg_roles` that is broken, in tt-mlir's words."""
    if not op.inputs:
        return "tt-lang kernel must have at least one input operand."
    if not op.arg_roles.data:
        return "`arg_roles` attribute must not be empty."
    roles = [role.strip() for role in op.arg_roles.data.split(",")]
    if len(roles) != len(op.inputs):
        return (
            f"`arg_roles` token count ({len(roles)}) must match number of inputs "
            f"({len(op.inputs)})."
        )
    for position, role in enumerate(roles):
        if role == "in" and "out" in roles[:position]:
            return (
                '`arg_roles` must list all "in" operands before any "out" operand '
                "(destination-passing-style ordering)."
            )
        if role not in ("in", "out"):
            return f'`arg_roles` token must be "in" or "out", got: "{role}".'
    outs = roles.count("out")
    if outs != len(op.outputs):
        return f'number of "out" roles ({outs}) must match number of results ({len(op.outputs)}).'
    if not outs:
        return (
            'tt-lang kernel must have at least one operand tagged "out" '
            "(destination-passing-style output)."
        )
    return None


# Loops and branches: functions that the host calls ------------------------------------------------


class ControlOp(CallOp, ABC):
    """`functions` are names of private functions of the module."""

    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    functions = attr_def(ArrayAttr[FlatSymbolRefAttr])

    @classmethod
    def of(cls, inputs: Sequence[SSAValue], types: Sequence[Attribute], names: list[str]) -> Self:
        return cls.create(
            operands=list(inputs),
            result_types=list(types),
            attributes={"functions": ArrayAttr([SymbolRefAttr(name) for name in names])},
        )

    @property
    def names(self) -> list[str]:
        return [each.root_reference.data for each in self.functions]


class WhileBase(ControlOp, ABC):
    """Loop: while the first function returns true for the inputs, the second returns new values of
    the leading inputs; the others stay unchanged.
    """

    def verify_(self) -> None:
        if len(self.functions) != 2:
            raise VerifyException(f"{self.name} has a condition and a body")
        given, found = ([each.type for each in values] for values in (self.inputs, self.outputs))
        if given[: len(found)] != found:
            raise VerifyException(f"{self.name} gives what it was given, changed")


class CaseBase(ControlOp, ABC):
    """Branch: calls the function with the first input as its number on the other inputs; the last
    function if none has that number.
    """

    def verify_(self) -> None:
        if not self.functions or not self.inputs:
            raise VerifyException(f"{self.name} has a number and one branch or more")
