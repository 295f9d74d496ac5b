"""Layouts of ttcore: positions of a tensor's tiles, before and after bufferization.

`#ttcore.metal_layout` is for tensors; for memrefs, `#ttcore.view` only indexes other memory and
`#ttcore.shard` has memory.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, MemRefLayoutAttr, StringAttr, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ttl.semantics.metal_layout import MetalLayout
from ttl.semantics.types import Shape


def sizes_attr(sizes: Sequence[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(size, i64) for size in sizes])


def sizes_of(attribute: ArrayAttr[IntegerAttr]) -> Shape:
    return tuple(size.value.data for size in attribute)


def print_sizes(printer: Printer, sizes: Sequence[int]) -> None:
    printer.print_string("x".join(map(str, sizes)))


def parse_sizes(parser: AttrParser) -> Shape:
    """Parse sizes like 2x2, or a lone 2."""
    found = [parser.parse_integer(allow_boolean=False, allow_negative=False)]
    # The lexer reads `x64` as a name.
    while (rest := parser.parse_optional_identifier()) is not None:
        found += [int(size) for size in rest.split("x") if size]
    return tuple(found)


@irdl_attr_definition
class MetalLayoutAttr(ParametrizedAttribute):
    """The division of a tensor among the cores; `index_map` makes it a view."""

    name = "ttcore.metal_layout"
    logical_shape: ArrayAttr[IntegerAttr] = param_def()
    memory_space: StringAttr = param_def()
    index_map: StringAttr = param_def()  # `map(4)`, or empty

    @classmethod
    def of(cls, layout: MetalLayout, index_map: str = "") -> MetalLayoutAttr:
        space = StringAttr(layout.memory_space)
        return cls(sizes_attr(layout.logical_shape), space, StringAttr(index_map))

    @property
    def layout(self) -> MetalLayout:
        space = self.memory_space.data
        return MetalLayout(sizes_of(self.logical_shape), "dram" if space == "dram" else "l1")

    @property
    def is_view(self) -> bool:
        return bool(self.index_map.data)

    def print_parameters(self, printer: Printer) -> None:
        layout = self.layout
        intervals = ", ".join(f"[{a}, {b}]" for a, b in layout.collapsed_intervals)
        count = len(layout.collapsed_intervals)
        with printer.in_angle_brackets():
            printer.print_string("logical_shape = ")
            print_sizes(printer, layout.logical_shape)
            printer.print_string(", dim_alignments = ")
            print_sizes(printer, layout.dim_alignments)
            printer.print_string(
                f", collapsed_intervals = dense<[{intervals}]> : tensor<{count}x2xi64>, undef, "
                f"{layout.memory_space}"
            )
            if self.is_view:
                printer.print_string(f", index_map = {self.index_map.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("logical_shape")
            parser.parse_punctuation("=")
            shape = parse_sizes(parser)
            for name in ("dim_alignments", "collapsed_intervals"):
                parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                if name == "dim_alignments":
                    parse_sizes(parser)
                else:
                    parser.parse_attribute()
            parser.parse_punctuation(",")
            parser.parse_keyword("undef")
            parser.parse_punctuation(",")
            space = parser.parse_identifier()
            index_map = ""
            if parser.parse_optional_punctuation(","):
                parser.parse_keyword("index_map")
                parser.parse_punctuation("=")
                index_map = _parse_map(parser)
        return [sizes_attr(shape), StringAttr(space), StringAttr(index_map)]


def _parse_map(parser: AttrParser) -> str:
    parser.parse_keyword("map")
    with parser.in_parens():
        return f"map({parser.parse_integer()})"


@irdl_attr_definition
class ViewAttr(ParametrizedAttribute, MemRefLayoutAttr):
    """A memref without memory of its own: the identity on its indices."""

    name = "ttcore.view"
    rank: IntAttr = param_def()

    def get_affine_map(self) -> AffineMap:
        return AffineMap.identity(self.rank.data)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<map({self.rank.data})>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        """Parse `map(4)`, as in the guide, or only 4, as in current text."""
        with parser.in_angle_brackets():
            rank = parser.parse_optional_integer()
            if rank is None:
                rank = int(_parse_map(parser)[4:-1])
        return [IntAttr(rank)]


@irdl_attr_definition
class ShardAttr(ParametrizedAttribute, MemRefLayoutAttr):
    """A memref with memory: byte strides of a shard's tiles, and the number of buffers."""

    name = "ttcore.shard"
    strides: ArrayAttr[IntegerAttr] = param_def()
    buffers: IntAttr = param_def()

    @classmethod
    def of(cls, shard: Shape, tile_bytes: int, buffers: int = 1) -> ShardAttr:
        strides = [tile_bytes]
        for size in reversed(shard[1:]):
            strides.insert(0, strides[0] * size)
        return cls(sizes_attr(strides), IntAttr(buffers))

    def get_affine_map(self) -> AffineMap:
        return AffineMap.identity(len(self.strides))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_sizes(printer, sizes_of(self.strides))
            if self.buffers.data > 1:
                printer.print_string(f", {self.buffers.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            strides = parse_sizes(parser)
            buffers = parser.parse_integer() if parser.parse_optional_punctuation(",") else 1
        return [sizes_attr(strides), IntAttr(buffers)]


class WordAttr(ParametrizedAttribute, ABC):
    """An attribute whose only parameter is a word, printed without quotes: `<dram>`."""

    def print_parameters(self, printer: Printer) -> None:
        (word,) = self.parameters
        assert isinstance(word, StringAttr)
        printer.print_string(f"<{word.data}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]


@irdl_attr_definition
class MemorySpaceAttr(WordAttr):
    name = "ttcore.memory_space"
    space: StringAttr = param_def()


@irdl_attr_definition
class GridAttr(ParametrizedAttribute):
    """Rows and columns of cores."""

    name = "ttcore.grid"
    sizes: ArrayAttr[IntegerAttr] = param_def()

    @classmethod
    def of(cls, grid: Shape) -> GridAttr:
        return cls(sizes_attr(grid))

    @property
    def shape(self) -> Shape:
        return sizes_of(self.sizes)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_sizes(printer, self.shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [sizes_attr(parse_sizes(parser))]


ITERATOR_TYPES = ("parallel", "reduction")


@irdl_attr_definition
class IteratorTypeAttr(WordAttr):
    """The range of a generic's iterator: cores, or steps on each core."""

    name = "ttcore.iterator_type"
    kind: StringAttr = param_def()

    def verify(self) -> None:
        if self.kind.data not in ITERATOR_TYPES:
            raise VerifyException(f"an iterator is {' or '.join(ITERATOR_TYPES)}")
