"""lower-affine: lower loops and index arithmetic over tiles to scf and arith.

xDSL has a pass of this name that offers every operation to every pattern. This one replaces the few
affine operations in one walk, and replacements keep their location.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap
from xdsl.rewriter import Rewriter
from xdsl.transforms.lower_affine import affine_expr_ops

from ttl.dialects.building import create, integer, walk

from ..module_pass import INDEX, OVER_TILES

Replacement = tuple[list[Operation], Sequence[SSAValue]]


def apply(module: ModuleOp) -> None:
    for op in [op for op in walk(module) if type(op) in _REPLACEMENTS]:
        made, results = _REPLACEMENTS[type(op)](op)
        for each in made:
            each.location = op.location
        Rewriter.replace_op(op, made, results)


def _apply(op: Operation) -> Replacement:
    assert isinstance(op, affine.ApplyOp)
    made, value = _evaluate(op.map.data, op.mapOperands)
    return made, [value]


def _loop(op: Operation) -> Replacement:
    assert isinstance(op, affine.ForOp)
    from_ops, start = _evaluate(op.lowerBoundMap.data, ())
    to_ops, stop = _evaluate(op.upperBoundMap.data, ())
    step = create(arith.ConstantOp, (), (op.step.type,), {"value": op.step})
    operands = [start, stop, step.results[0], *op.inits]
    types = [result.type for result in op.results]
    loop = create(scf.ForOp, operands, types, regions=[op.detach_region(op.body)])
    loop.attributes[OVER_TILES] = UnitAttr()
    return [*from_ops, *to_ops, step, loop], loop.results


def _evaluate(map: AffineMap, operands: Sequence[SSAValue]) -> tuple[list[Operation], SSAValue]:
    """Return the arithmetic of a map with one result."""
    (expression,) = map.results
    if isinstance(expression, AffineConstantExpr):
        number = create(arith.ConstantOp, (), (INDEX,), {"value": integer(expression.value, INDEX)})
        return [number], number.results[0]
    dimensions, symbols = operands[: map.num_dims], operands[map.num_dims :]
    return affine_expr_ops(expression, dimensions, symbols)


_REPLACEMENTS: dict[type[Operation], Callable[[Operation], Replacement]] = {
    affine.ApplyOp: _apply,
    affine.ForOp: _loop,
    affine.YieldOp: lambda op: ([create(scf.YieldOp, op.operands)], ()),
}
