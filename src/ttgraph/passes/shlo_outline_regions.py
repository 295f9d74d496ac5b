"""shlo-outline-regions: loops and branches become calls of functions of their own.

A chip has no program counter for a graph: the host calls the body's function while the condition's
function returns true, or the branch that a number selects. Values that a region uses from outside
become arguments; a loop's condition and body have the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TensorType, i32
from xdsl.ir import Operation, Region, SSAValue

from ttgraph.dialects import stablehlo, ttir
from ttgraph.dialects.stablehlo import shape_of
from ttl.passes.module_pass import Maker, erase, replace_by, terminator


def apply(op: ModuleOp) -> None:
    for function in [each for each in op.ops if isinstance(each, func.FuncOp)]:
        if not function.is_declaration:
            _Outlining(op, function.sym_name.data).run(function)


class _Outlining:
    """Outlines the regions of one function; new functions get its name and a number."""

    def __init__(self, module: ModuleOp, name: str):
        self.module, self.name = module, name
        self.numbers = count()

    def run(self, function: func.FuncOp) -> None:
        """Outline a function's regions; nested loops are outlined from the new functions."""
        for op in list(function.body.block.ops):
            if (made := self._call(op)) is not None:
                replace_by(op, *made.results)

    def _call(self, op: Operation) -> Operation | None:
        if isinstance(op, stablehlo.WhileOp):
            return self._loop(op)
        if isinstance(op, stablehlo.CaseOp):
            return self._choice(op, op.index, list(op.branches))
        if isinstance(op, stablehlo.IfOp):
            type = TensorType(i32, shape_of(op.pred))
            number = stablehlo.ConvertOp.create(operands=[op.pred], result_types=[type])
            chosen = Maker.before(op).value(number)
            return self._choice(op, chosen, [op.false_branch, op.true_branch])
        return None

    def _loop(self, op: stablehlo.WhileOp) -> Operation:
        regions, number = [op.cond, op.body], next(self.numbers)
        outside = _used_from_outside(regions)
        names = [
            self._function(region, f"{self.name}.while_{number}.{part}", outside)
            for region, part in zip(regions, ("condition", "body"), strict=True)
        ]
        types = [value.type for value in op.outputs]
        made: Operation = ttir.WhileOp.of([*op.inits, *outside], types, names)
        Maker.before(op).add(made)
        return made

    def _choice(self, op: Operation, index: SSAValue, regions: list[Region]) -> Operation:
        outside, number = _used_from_outside(regions), next(self.numbers)
        names = [
            self._function(region, f"{self.name}.case_{number}.branch_{n}", outside)
            for n, region in enumerate(regions)
        ]
        types = [value.type for value in op.results]
        made: Operation = ttir.CaseOp.of([index, *outside], types, names)
        Maker.before(op).add(made)
        return made

    def _function(self, region: Region, name: str, outside: Sequence[SSAValue]) -> str:
        block = region.block
        region.detach_block(block)
        for value in outside:
            inner = block.insert_arg(value.type, len(block.args))
            for op in block.walk():
                op.operands = [inner if each is value else each for each in op.operands]
        end = terminator(block)
        Maker.before(end).add(func.ReturnOp(*end.operands))
        results = [value.type for value in end.operands]
        erase(end)
        types = FunctionType.from_lists([each.type for each in block.args], results)
        made = func.FuncOp(name, types, Region(block), StringAttr("private"))
        self.module.body.block.add_op(made)
        self.run(made)
        return name


def _used_from_outside(regions: Sequence[Region]) -> list[SSAValue]:
    found: dict[SSAValue, None] = {}
    for region in regions:
        own = set(_find_defined(region))
        found |= {value: None for op in region.walk() for value in op.operands if value not in own}
    return list(found)


def _find_defined(region: Region) -> Iterator[SSAValue]:
    for block in region.blocks:
        yield from block.args
        for op in block.ops:
            yield from op.results
            for inner in op.regions:
                yield from _find_defined(inner)
