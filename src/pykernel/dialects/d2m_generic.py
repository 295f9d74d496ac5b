"""d2m.generic: threads, with iterators in affine form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    prop_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import shape_of
from ttl.dialects.metal import GridAttr, IteratorTypeAttr, sizes_attr, sizes_of
from ttl.semantics.types import Shape

from .d2m_types import CBType, SemaphoreType, ThreadAttr


class YieldOp(DefinedOperation):
    """Ends an iteration."""

    name = "d2m.yield"
    values = var_operand_def()
    assembly_format = "($values^ `:` type($values))? attr-dict"
    traits = traits_def(IsTerminator())


@dataclass(frozen=True, slots=True)
class Affine:
    """The iterators of a generic, and those that select the block of each operand."""

    factors: Shape = ()
    maps: tuple[tuple[int | None, ...], ...] = ()  # None is the constant 0
    iterators: tuple[str, ...] = ()

    @property
    def attributes(self) -> dict[str, Attribute]:
        kinds = [IteratorTypeAttr(StringAttr(kind)) for kind in self.iterators]
        return {
            "block_factors": sizes_attr(self.factors),
            "indexing_maps": ArrayAttr([AffineMapAttr(self._map(each)) for each in self.maps]),
            "iterator_types": ArrayAttr(kinds),
        }

    def _map(self, results: tuple[int | None, ...]) -> AffineMap:
        made = [
            AffineExpr.constant(0) if each is None else AffineExpr.dimension(each)
            for each in results
        ]
        return AffineMap(len(self.iterators), 0, tuple(made))

    @classmethod
    def read(cls, generic: GenericOp) -> Affine:
        kinds = [kind.kind.data for kind in generic.iterator_types]
        maps = tuple(tuple(map(_result, each.data.results)) for each in generic.indexing_maps)
        return cls(sizes_of(generic.block_factors), maps, tuple(kinds))


def _result(expression: AffineExpr) -> int | None:
    if isinstance(expression, AffineDimExpr):
        return expression.position
    if isinstance(expression, AffineConstantExpr) and expression.value == 0:
        return None
    raise VerifyException("an indexing map of d2m.generic gives iterators and 0")


EXPLICIT = Affine()


class GenericOp(DefinedOperation):
    """The threads that every core of the grid runs.

    In affine form it has one thread, which runs for each iteration and ends with `d2m.yield`.
    """

    name = "d2m.generic"
    inputs = var_operand_def()
    outputs = var_operand_def()
    grid = prop_def(GridAttr)
    threads = prop_def(ArrayAttr[ThreadAttr])
    block_factors = prop_def(ArrayAttr[IntegerAttr])
    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    iterator_types = prop_def(ArrayAttr[IteratorTypeAttr])
    bodies = var_region_def()
    ends = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator())

    @classmethod
    def of(
        cls,
        inputs: list[SSAValue],
        output: SSAValue,
        grid: Shape,
        kinds: list[str],
        regions: list[Region],
        affine: Affine | None = None,
    ) -> GenericOp:
        return cls.build(
            operands=[inputs, [output]],
            properties={
                "grid": GridAttr.of(grid),
                "threads": ArrayAttr([ThreadAttr.of(kind) for kind in kinds]),
                **(affine or EXPLICIT).attributes,
            },
            regions=[regions],
            result_types=[[output.type]],
        )

    def verify_(self) -> None:
        if len(self.outputs) != 1:
            raise VerifyException("d2m.generic has exactly one output")
        bodies = [body for body in self.bodies if body.blocks]
        if bodies and len(bodies) != len(self.threads):
            raise VerifyException("d2m.generic has one region for each thread")
        types = [[argument.type for argument in body.block.args] for body in bodies]
        if any(each != types[0] for each in types):
            raise VerifyException("the regions of d2m.generic have the same arguments")
        for type in types[0] if types else ():
            if not isinstance(type, (CBType, SemaphoreType)):
                raise VerifyException("the regions of d2m.generic take !d2m.cb and !d2m.semaphore")
        if types and len(types[0]) < len(self.inputs) + 1:
            raise VerifyException("a region of d2m.generic has a !d2m.cb for each operand")
        self._verify_grid()
        ends = [isinstance(body.block.last_op, YieldOp) for body in bodies]
        if self.is_affine:
            if sum(ends) != 1 or not ends[-1]:
                raise VerifyException("d2m.generic in affine form has one region with d2m.yield")
            if any(thread.kind.data == "compute" for thread in self.threads.data[:-1]):
                raise VerifyException("d2m.generic in affine form has one compute thread")
            self._verify_iteration()
        elif any(ends) or self.block_factors.data or self.iterator_types.data:
            raise VerifyException("d2m.generic in explicit form has no iterators and no d2m.yield")

    @property
    def is_affine(self) -> bool:
        """Is it in affine form? In explicit form, threads have their own loops."""
        return bool(self.indexing_maps.data)

    @property
    def iteration(self) -> Affine:
        """Return the iterators of the affine form."""
        return Affine.read(self)

    def set_explicit(self) -> None:
        self.properties |= EXPLICIT.attributes

    def _verify_iteration(self) -> None:
        found, operands = self.iteration, [*self.inputs, *self.outputs]
        if len(found.maps) != len(operands):
            raise VerifyException("d2m.generic has an indexing map for each operand")
        (count,) = {map.data.num_dims for map in self.indexing_maps} or {0}
        if not len(found.factors) == len(found.iterators) == count:
            raise VerifyException("d2m.generic has a block factor and a type for each iterator")
        output = found.maps[-1]
        for value, map in zip(operands, found.maps, strict=True):
            for size, iterator in zip(shape_of(value), map, strict=False):
                if iterator is None:
                    continue
                is_parallel = found.iterators[iterator] == "parallel"
                if is_parallel != (iterator in output):
                    raise VerifyException("parallel iterators of d2m.generic are the output's")
                cores = self.grid.shape[output.index(iterator)] if is_parallel else 1
                if size != cores * found.factors[iterator]:
                    raise VerifyException("a grid of d2m.generic is not its cores and factors")

    def _verify_grid(self) -> None:
        output = shape_of(self.outputs[0])
        rank = len(output) // 2
        grid = self.grid.shape
        if len(grid) != rank or any(n % g for n, g in zip(output[:rank], grid, strict=True)):
            raise VerifyException("the output of d2m.generic is divided among its grid")

    ATTRIBUTES: ClassVar = ("block_factors", "grid", "indexing_maps", "iterator_types", "threads")

    def print(self, printer: Printer) -> None:
        printer.print_string(" {")
        named = [(name, self.properties[name]) for name in self.ATTRIBUTES]

        def attribute(pair: tuple[str, Attribute]) -> None:
            printer.print_string(f"{pair[0]} = ")
            printer.print_attribute(pair[1])

        printer.print_list(named, attribute)
        printer.print_string("}")
        for keyword, values in (("ins", self.inputs), ("outs", self.outputs)):
            printer.print_string(f" {keyword}(")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list([value.type for value in values], printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_list(self.bodies, printer.print_region)
        if self.ends:
            printer.print_string(" : ")
            printer.print_list([value.type for value in self.ends], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> GenericOp:
        properties = parser.parse_optional_dictionary_attr_dict()
        operands = []
        for keyword in ("ins", "outs"):
            parser.parse_keyword(keyword)
            with parser.in_parens():
                names = parser.parse_optional_undelimited_comma_separated_list(
                    parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
                )
                parser.parse_punctuation(":")
                types = parser.parse_optional_undelimited_comma_separated_list(
                    parser.parse_optional_type, parser.parse_type
                )
            operands.append(parser.resolve_operands(names or [], types or [], parser.pos))
        regions = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_region, parser.parse_region
        )
        if parser.parse_optional_keyword("additionalArgs") is not None:
            parser.raise_error("additionalArgs are not computed here")
        ends: list[Attribute] = []
        if parser.parse_optional_punctuation(":"):
            ends = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.build(
            operands=operands, properties=properties, regions=[regions or []], result_types=[ends]
        )
