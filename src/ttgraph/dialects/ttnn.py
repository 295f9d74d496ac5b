"""ttnn: the calls of ttnn that a graph becomes, with the layout of every tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, TensorType
from xdsl.ir import (
    Attribute,
    Data,
    Dialect,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    attr_def,
    irdl_attr_definition,
    operand_def,
    opt_attr_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import define_operation
from ttl.semantics.tensor_layout import TensorLayout, parse_layout

from .graph import (
    CallOp,
    CaseBase,
    ConstantBase,
    Tensor,
    TTLangBase,
    WhileBase,
    math_classes,
    to_attribute,
)

MATH = math_classes("ttnn")


@irdl_attr_definition
class LayoutAttr(Data[TensorLayout]):
    """Encoding of a tensor: its memory, and tiles or rows."""

    name = "ttnn.ttnn_layout"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorLayout:
        start = parser.pos
        body = parser._parse_dialect_symbol_body()
        try:
            return parse_layout(body)
        except ValueError as error:
            parser.raise_error(str(error), start, parser.pos)


def layout_of(type: Attribute) -> TensorLayout | None:
    """Return a tensor's layout; None before ttnn-layout."""
    encoding = type.encoding if isinstance(type, TensorType) else None
    return encoding.data if isinstance(encoding, LayoutAttr) else None


def with_layout(type: Tensor, layout: TensorLayout) -> Tensor:
    return TensorType(type.element_type, type.get_shape(), LayoutAttr(layout))


@irdl_attr_definition
class GlobalSemaphoreType(ParametrizedAttribute, TypeAttribute):
    """Semaphore at one address on all cores, made by the host."""

    name = "ttnn.global_semaphore"


class ConstantOp(ConstantBase):
    name = "ttnn.constant"


class WhileOp(WhileBase):
    name = "ttnn.while"


class CaseOp(CaseBase):
    name = "ttnn.case"


class TTLangOp(TTLangBase):
    """`kernel_artifact` is the resolver's answer to ttnn-resolve-tt-lang-kernels, usually JSON."""

    name = "ttnn.tt_lang_op"
    kernel_artifact = opt_attr_def(StringAttr)


DeallocateOp = define_operation("ttnn.deallocate", CallOp, input=operand_def(TensorType))


class CreateGlobalSemaphoreOp(CallOp):
    name = "ttnn.create_global_semaphore"
    core_ranges = attr_def()
    initial_value = attr_def()
    result = result_def(GlobalSemaphoreType)


class GenericOp(DefinedOperation):
    """Runs kernels on tensors, one of which they write. `program` is a ProgramDescriptor with the
    flatbuffer's field names, `debug` has names for messages.
    """

    name = "ttnn.generic"
    io_tensors = var_operand_def(TensorType)
    additional_args = var_operand_def(GlobalSemaphoreType)
    program = attr_def(DictionaryAttr)
    debug = opt_attr_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def of(
        cls,
        tensors: Sequence[SSAValue],
        additional: Sequence[SSAValue],
        program: Mapping[str, object],
        debug: str,
    ) -> GenericOp:
        attributes = {"program": to_attribute(program)}
        if debug:
            attributes["debug"] = StringAttr(debug)
        return cls.build(operands=[list(tensors), list(additional)], attributes=attributes)


def make_dialect() -> Dialect:
    operations: list[type[Operation]] = [
        *MATH.values(),
        ConstantOp,
        TTLangOp,
        WhileOp,
        CaseOp,
        DeallocateOp,
        CreateGlobalSemaphoreOp,
        GenericOp,
    ]
    return Dialect("ttnn", operations, [LayoutAttr, GlobalSemaphoreType])
