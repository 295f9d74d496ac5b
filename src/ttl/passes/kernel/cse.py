"""cse: compute repeated arithmetic once, and erase unused arithmetic.

xDSL has a pass of this name for operations of any kind. Calls of the chip are never merged, so only
arithmetic is left; handling nothing else takes a third of the time. The vendor's compiler refuses
to compare an integer with itself, so this pass folds such comparisons.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.arith import AddiOp, Arith, CmpiOp, ConstantOp, MaxSIOp, MinSIOp, MuliOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from ..module_pass import erase, replace_by

Known = dict[Hashable, Operation]

_ARITHMETIC = frozenset(Arith.operations)
_COMMUTATIVE = (AddiOp, MuliOp)
_TRUE_OF_EQUALS = (0, 3, 5, 7, 9)  # eq, sle, sge, ule, uge


def apply(module: ModuleOp) -> None:
    for function in module.ops:
        _simplify_regions(function, {})


def _simplify(block: Block, known: Known) -> None:
    """Simplify a block; `known` has the values computed before and so far in it."""
    for op in block.ops:
        if type(op) in _ARITHMETIC:
            _simplify_operation(op, known)
        elif op.regions:
            _simplify_regions(op, known)


def _simplify_regions(op: Operation, known: Known) -> None:
    for region in op.regions:
        for block in region.blocks:
            _simplify(block, known.copy())


def _simplify_operation(op: Operation, known: Known) -> None:
    if op.results[0].first_use is None:
        erase(op)
        return
    if type(op) in (MinSIOp, MaxSIOp) and op.operands[0] is op.operands[1]:
        replace_by(op, op.operands[0])
        return
    if isinstance(op, CmpiOp) and op.lhs is op.rhs:
        constant = ConstantOp.from_int_and_width(int(op.predicate.value.data in _TRUE_OF_EQUALS), 1)
        constant.location = op.location
        Rewriter.replace_op(op, constant)
        op = constant
    first = known.setdefault(_value_of(op), op)
    if first is not op:
        replace_by(op, first.results[0])


def _value_of(op: Operation) -> Hashable:
    """Return a key that is equal for operations that give the same value."""
    if isinstance(op, ConstantOp) and isinstance(op.value, IntegerAttr):
        return ConstantOp, op.value.value.data, op.results[0].type
    return (
        type(op),
        tuple(sorted(op.operands, key=id) if type(op) in _COMMUTATIVE else op.operands),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        op.results[0].type,
    )
