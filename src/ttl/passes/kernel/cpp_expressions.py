"""Scalar arithmetic as C++ expressions: a tree of operations becomes one emitc.expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf, isnan

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IndexType, IntegerAttr, StringAttr, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ttl.dialects import emitc, ttkernel, ttl
from ttl.dialects.building import create

from ..module_pass import Maker

NOC_ADDRESS = emitc.OpaqueType(StringAttr("uint64_t"))
L1_POINTER = emitc.OpaqueType(StringAttr("volatile tt_l1_ptr uint32_t*"))


def scalar_type(type: Attribute) -> Attribute:
    """Return the C++ type: integers have 32 bits in kernels, addresses of other nodes 64."""
    if isinstance(type, ttkernel.NocAddressType):
        return NOC_ADDRESS
    if isinstance(type, ttkernel.L1PointerType):
        return L1_POINTER
    return i32 if isinstance(type, IndexType) else type


def constant_text(op: arith.ConstantOp) -> str:
    if isinstance(op.value, FloatAttr):
        return number_text(op.value.value.data)
    assert isinstance(op.value, IntegerAttr)
    number = op.value.value.data
    if op.result.type == i1:
        return "true" if number else "false"
    return str(number) if number != -(2**31) else "(-2147483647 - 1)"


def number_text(value: float, suffix: str = "") -> str:
    """Write a double, or a float with the suffix `f`."""
    if isnan(value):
        return f'__builtin_nan{suffix}("")'
    if isinf(value):
        return f"{'' if value > 0 else '-'}__builtin_inf{suffix}()"
    return f"{value!r}{suffix}"


def opaque_call(
    make: Maker,
    callee: str,
    operands: Sequence[SSAValue],
    types: Sequence[Attribute] = (),
    template: StringAttr | None = None,
) -> Operation:
    properties: dict[str, Attribute] = {"callee": StringAttr(callee)}
    if template is not None:
        properties["template_args"] = ArrayAttr([emitc.OpaqueAttr(template)])
    return make.add(create(emitc.CallOpaqueOp, operands, types, properties))


# Operations inside the expression of another ------------------------------------------------------


def is_inner(op: Operation) -> bool:
    """Is the only use of this arithmetic in other arithmetic of the same block?

    Values named in the user's program keep their variable; min and max write operands twice.
    """
    result = op.results[0]
    if result.name_hint is not None or (user := result.get_user_of_unique_use()) is None:
        return False
    return type(user) in ARITHMETIC and type(user) not in TWICE and user.parent is op.parent


TWICE = (arith.MinSIOp, arith.MaxSIOp)


def is_condition(op: Operation) -> bool:
    """Is its only use the condition of a branch or a loop?"""
    result = op.results[0]
    if result.name_hint is not None or result.type != i1:
        return False
    user = result.get_user_of_unique_use()
    return isinstance(user, (scf.IfOp, scf.ConditionOp)) and user.parent is op.parent


@dataclass(frozen=True, slots=True)
class Tree:
    """An expression, and the operations that it replaces."""

    expression: emitc.ExpressionOp
    operations: list[Operation]


def expression_of(root: Operation, values: Mapping[SSAValue, SSAValue]) -> Tree:
    """Build an expression from the operations in the block of `root` that only it uses."""
    operations: list[Operation] = []
    leaves: dict[SSAValue, None] = {}
    _collect(root, operations, leaves)
    block = Block(arg_types=[values[leaf].type for leaf in leaves])
    inside: dict[SSAValue, SSAValue] = dict(zip(leaves, block.args, strict=True))
    make = Maker.at_end(block, root)
    for op in operations:
        operands = [inside[operand] for operand in op.operands]
        inside[op.results[0]] = ARITHMETIC[type(op)](op, operands, make)
    make.add(emitc.YieldOp.create(operands=[inside[root.results[0]]]))
    expression = emitc.ExpressionOp.create(
        operands=[values[leaf] for leaf in leaves],
        regions=[Region(block)],
        result_types=[scalar_type(root.results[0].type)],
    )
    return Tree(expression, operations)


def _collect(op: Operation, operations: list[Operation], leaves: dict[SSAValue, None]) -> None:
    """Collect operations before their users, and leaves in the order they are written."""
    for operand in op.operands:
        owner = operand.owner
        if type(owner) in ARITHMETIC and is_inner(owner):  # type: ignore[arg-type]
            _collect(owner, operations, leaves)  # type: ignore[arg-type]
        else:
            leaves.setdefault(operand)
    operations.append(op)


# Operations ---------------------------------------------------------------------------------------

Rebuild = Callable[[Operation, list[SSAValue], Maker], SSAValue]


def _new(kind: type[Operation], op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    return make.new(kind, operands, scalar_type(op.results[0].type))


def _as(kind: type[Operation]) -> Rebuild:
    return lambda op, operands, make: _new(kind, op, operands, make)


def _operator(name: str) -> Rebuild:
    """Rebuild with an operator that is made on demand: few kernels need it."""
    return lambda op, operands, make: _new(emitc.OPERATORS[name], op, operands, make)


def _bitwise(of_integers: str, of_bools: str) -> Rebuild:
    def rebuild(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
        is_bool = op.results[0].type == i1
        if not is_bool or of_bools != "!=":
            kind = emitc.OPERATORS[of_bools if is_bool else of_integers]
            return _new(kind, op, operands, make)
        owner = op.operands[1].owner
        if isinstance(owner, arith.ConstantOp) and constant_text(owner) == "true":
            return _new(emitc.OPERATORS["logical_not"], op, operands[:1], make)
        return _compare_values("!=", operands, make)

    return rebuild


def _compare_values(sign: str, operands: list[SSAValue], make: Maker) -> SSAValue:
    return make.new(emitc.CmpOp, operands, i1, predicate=emitc.CmpOp.predicate_of(sign))


FLOAT_SIGNS = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}


def _compare(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    assert isinstance(op, (arith.CmpiOp, arith.CmpfOp))
    number = op.predicate.value.data
    sign = emitc.PREDICATES[number] if isinstance(op, arith.CmpiOp) else FLOAT_SIGNS[number]
    return _compare_values(sign, operands, make)


def _extreme(sign: str) -> Rebuild:
    def rebuild(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
        one, other = operands
        values = [_compare_values(sign, [other, one], make), other, one]
        return _new(emitc.ConditionalOp, op, values, make)

    return rebuild


def _helper(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    types = [scalar_type(op.results[0].type)]
    return opaque_call(make, HELPERS[type(op)][0], operands, types).results[0]


# Functions that convert-ttkernel-to-emitc writes into the kernel, and functions they call.
HELPERS: dict[type[Operation], tuple[str, ...]] = {
    arith.FloorDivSIOp: ("floor_divide",),
    ttl.FloorDivideOp: ("floor_divide_floats", "float_remainder"),
    ttl.RemainderOp: ("float_remainder",),
}


ARITHMETIC: dict[type[Operation], Rebuild] = {
    arith.AddiOp: _as(emitc.AddOp),
    arith.SubiOp: _as(emitc.SubOp),
    arith.MuliOp: _as(emitc.MulOp),
    arith.DivSIOp: _operator("div"),
    arith.RemSIOp: _operator("rem"),
    arith.FloorDivSIOp: _helper,
    ttl.FloorDivideOp: _helper,
    ttl.RemainderOp: _helper,
    arith.ShLIOp: _operator("bitwise_left_shift"),
    arith.ShRSIOp: _operator("bitwise_right_shift"),
    arith.AndIOp: _bitwise("bitwise_and", "logical_and"),
    arith.OrIOp: _bitwise("bitwise_or", "logical_or"),
    arith.XOrIOp: _bitwise("bitwise_xor", "!="),
    arith.MinSIOp: _extreme("<"),
    arith.MaxSIOp: _extreme(">"),
    arith.CmpiOp: _compare,
    arith.CmpfOp: _compare,
    arith.SelectOp: _as(emitc.ConditionalOp),
    arith.AddfOp: _as(emitc.AddOp),
    arith.SubfOp: _as(emitc.SubOp),
    arith.MulfOp: _as(emitc.MulOp),
    arith.DivfOp: _operator("div"),
    arith.NegfOp: _operator("unary_minus"),
    arith.IndexCastOp: lambda op, operands, make: operands[0],
    arith.SIToFPOp: _as(emitc.CastOp),
    arith.FPToSIOp: _as(emitc.CastOp),
}
