"""Custom calls, composites, and tuples."""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TupleType,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation

from .text import SIGNATURE, parse_names, print_operands, print_type, read_op

TT_LANG_TARGET = "tt.tt_lang_op"
FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"

# On a gather or scatter of PyTorch, which refuses an index that is out of range; StableHLO takes
# the nearest element, or changes none.
CHECKED_INDICES: dict[str, Attribute] = {
    FRONTEND_ATTRIBUTES: DictionaryAttr({"indices": StringAttr("checked")})
}


def has_checked_indices(op: Operation) -> bool:
    return op.attributes.get(FRONTEND_ATTRIBUTES) == CHECKED_INDICES[FRONTEND_ATTRIBUTES]


_CALL_PROPERTIES = (
    "api_version",
    "backend_config",
    "called_computations",
    "has_side_effect",
    "operand_layouts",
    "output_operand_aliases",
    "result_layouts",
)
_COMPOSITE_PROPERTIES = ("composite_attributes", "decomposition", "version")


class CustomCallOp(DefinedOperation):
    """`stablehlo.custom_call @target(%0, %1) {...} : (types) -> types`."""

    name = "stablehlo.custom_call"
    call_target_name = prop_def(StringAttr)
    api_version = opt_prop_def(IntegerAttr)
    backend_config = opt_prop_def()
    called_computations = opt_prop_def(ArrayAttr)
    has_side_effect = opt_prop_def(BoolAttr)
    operand_layouts = opt_prop_def(ArrayAttr)
    output_operand_aliases = opt_prop_def(ArrayAttr)
    result_layouts = opt_prop_def(ArrayAttr)
    inputs = var_operand_def()
    outputs = var_result_def()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.call_target_name.data)
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        given = {n: self.properties[n] for n in _CALL_PROPERTIES if n in self.properties}
        printer.print_op_attributes(dict(sorted((given | self.attributes).items())))
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        target = parser.parse_symbol_name()
        paren = parser.Delimiter.PAREN
        names = parser.parse_comma_separated_list(paren, parser.parse_unresolved_operand)
        return read_op(cls, parser, names, {"call_target_name": target}, written=_CALL_PROPERTIES)


class CompositeOp(DefinedOperation):
    """Calls a function, under the name of the operation that it implements.

    `stablehlo.composite "chlo.top_k" %0 {composite_attributes = {k = 6}, decomposition = @f} : ...`
    """

    name = "stablehlo.composite"
    composite_name = prop_def(StringAttr)
    composite_attributes = opt_prop_def(DictionaryAttr)
    decomposition = prop_def(SymbolRefAttr)
    version = opt_prop_def(IntegerAttr)
    inputs = var_operand_def()
    outputs = var_result_def()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.composite_name)
        print_operands(printer, self)
        given = {n: self.properties[n] for n in _COMPOSITE_PROPERTIES if n in self.properties}
        printer.print_op_attributes(given | self.attributes)
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = {"composite_name": StringAttr(parser.parse_str_literal())}
        return read_op(cls, parser, parse_names(parser), name, written=_COMPOSITE_PROPERTIES)


class TupleOp(DefinedOperation):
    """`stablehlo.tuple %0, %1 : tuple<types>`."""

    name = "stablehlo.tuple"
    val = var_operand_def()
    result = result_def(TupleType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_type(printer, self, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parse_names(parser)

        def of_types(types: list[Attribute]) -> tuple[list[Attribute], list[Attribute]]:
            given = types[0].types if isinstance(types[0], TupleType) else ()
            if len(types) != 1 or len(given) != len(names):
                parser.raise_error("a tuple has one type for each operand")
            return list(given), types

        return read_op(cls, parser, names, of_types=of_types)

    def verify_(self) -> None:
        if [v.type for v in self.val] != list(self.result.type.types):
            raise VerifyException(f"{self.name} has the types of its operands")


class GetTupleElementOp(DefinedOperation):
    """`stablehlo.get_tuple_element %0[1] : (tuple<types>) -> type`."""

    name = "stablehlo.get_tuple_element"
    index = prop_def(IntegerAttr[I32])
    operand = operand_def(TupleType)
    result = result_def()
    assembly_format = f"$operand `[` $index `]` {SIGNATURE}"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        types = list(cast(TupleType, self.operand.type).types)
        index = self.index.value.data
        if not 0 <= index < len(types):
            raise VerifyException(f"{self.name}: there is no element {index} in {len(types)}")
        if self.result.type != types[index]:
            raise VerifyException(f"{self.name} has the type of element {index}")
