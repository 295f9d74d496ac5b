"""The types of the d2m dialect, and questions about values by type."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ttl.dialects.metal import MetalLayoutAttr, ShardAttr, ViewAttr


@irdl_attr_definition
class CBType(ParametrizedAttribute, TypeAttribute):
    """A circular buffer of blocks of this type."""

    name = "d2m.cb"
    underlying: Attribute = param_def()


@irdl_attr_definition
class MemTxType(ParametrizedAttribute, TypeAttribute):
    """A transfer under way."""

    name = "d2m.mem_tx"


@irdl_attr_definition
class SemaphoreType(ParametrizedAttribute, TypeAttribute):
    name = "d2m.semaphore"


@irdl_attr_definition
class ThreadAttr(ParametrizedAttribute):
    """The processor of a region; after regions-to-funcs also the name of its kernel."""

    name = "d2m.thread"
    kind: StringAttr = param_def()
    symbol: StringAttr = param_def()

    @classmethod
    def of(cls, kind: str, symbol: str = "") -> ThreadAttr:
        return cls(StringAttr(kind), StringAttr(symbol))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.kind.data)
            if self.symbol.data:
                printer.print_string(f", @{self.symbol.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            kind = parser.parse_identifier()
            symbol = ""
            if parser.parse_optional_punctuation(","):
                symbol = parser.parse_symbol_name().data
        return [StringAttr(kind), StringAttr(symbol)]


def layout_of(type: Attribute) -> MetalLayoutAttr | None:
    """Return the layout of a tensor on the device, or None."""
    encoding = type.encoding if isinstance(type, TensorType) else None
    return encoding if isinstance(encoding, MetalLayoutAttr) else None


def is_remote(type: Attribute) -> bool:
    """Is it a tensor of the whole device, and not a block of one core?"""
    if isinstance(type, MemRefType):
        return isinstance(type.layout, (ViewAttr, ShardAttr))
    return layout_of(type) is not None
