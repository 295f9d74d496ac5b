"""Scalar arithmetic as C++ expressions: a tree of operations becomes one emitc.expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isinf, isnan

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, StringAttr, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ttl.dialects import emitc, ttkernel, ttl

from ..module_pass import Maker

NOC_ADDRESS = emitc.OpaqueType(StringAttr("uint64_t"))
L1_POINTER = emitc.OpaqueType(StringAttr("volatile tt_l1_ptr uint32_t*"))


def scalar_type(type: Attribute) -> Attribute:
    """Integers are 32 bits wide in kernels, addresses of other nodes 64."""
    if isinstance(type, ttkernel.NocAddressType):
        return NOC_ADDRESS
    if isinstance(type, ttkernel.L1PointerType):
        return L1_POINTER
    return i32 if isinstance(type, IndexType) else type


def constant_text(op: arith.ConstantOp) -> str:
    if isinstance(op.value, FloatAttr):
        return double_text(op.value.value.data)
    assert isinstance(op.value, IntegerAttr)
    number = op.value.value.data
    if op.result.type == i1:
        return "true" if number else "false"
    return str(number) if number != -(2**31) else "(-2147483647 - 1)"


def double_text(value: float) -> str:
    if isnan(value):
        return '__builtin_nan("")'
    if isinf(value):
        return "__builtin_inf()" if value > 0 else "-__builtin_inf()"
    return repr(value)


# Which operations stand inside the expression of another ------------------------------------------


def is_inner(op: Operation) -> bool:
    """Is the only use of this arithmetic in other arithmetic of the same block?

    What has a name in the user's program keeps its variable; min and max write operands twice.
    """
    uses = list(op.results[0].uses)
    if op.results[0].name_hint is not None or len(uses) != 1:
        return False
    user = uses[0].operation
    return type(user) in ARITHMETIC and type(user) not in TWICE and user.parent is op.parent


TWICE = (arith.MinSIOp, arith.MaxSIOp)


def is_condition(op: Operation) -> bool:
    """Is its only use the condition of a branch or a loop?"""
    uses = list(op.results[0].uses)
    if op.results[0].name_hint is not None or len(uses) != 1 or op.results[0].type != i1:
        return False
    user = uses[0].operation
    return isinstance(user, (scf.IfOp, scf.ConditionOp)) and user.parent is op.parent


def tree_of(op: Operation) -> Iterator[Operation]:
    """An operation and those that stand inside its expression."""
    yield op
    for operand in op.operands:
        if _is_inner_value(operand):
            yield from tree_of(operand.owner)  # type: ignore[arg-type]


def _is_inner_value(value: SSAValue) -> bool:
    return type(value.owner) in ARITHMETIC and is_inner(value.owner)  # type: ignore[arg-type]


def expression_of(op: Operation) -> tuple[emitc.ExpressionOp, list[SSAValue]]:
    """The expression of a tree, still without operands, and the values at its leaves."""
    leaves = list(dict.fromkeys(_written(op)))
    block = Block(arg_types=[scalar_type(leaf.type) for leaf in leaves])
    arguments: dict[SSAValue, SSAValue] = dict(zip(leaves, block.args, strict=True))
    inside = Maker(InsertPoint.at_end(block), op)
    inside.add(emitc.YieldOp.create(operands=[_rebuilt(op, arguments, inside)]))
    expression = emitc.ExpressionOp.create(
        regions=[Region(block)], result_types=[scalar_type(op.results[0].type)]
    )
    return expression, leaves


def _written(op: Operation) -> Iterator[SSAValue]:
    """The values at the leaves, in the order in which they are written."""
    for operand in op.operands:
        if _is_inner_value(operand):
            yield from _written(operand.owner)  # type: ignore[arg-type]
        else:
            yield operand


def _rebuilt(op: Operation, arguments: dict[SSAValue, SSAValue], make: Maker) -> SSAValue:
    operands = [
        _rebuilt(operand.owner, arguments, make)  # type: ignore[arg-type]
        if _is_inner_value(operand)
        else arguments[operand]
        for operand in op.operands
    ]
    return ARITHMETIC[type(op)](op, operands, make)


# Operations ---------------------------------------------------------------------------------------

Rebuild = Callable[[Operation, list[SSAValue], Maker], SSAValue]


def _made(name: str, op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    kind = PLAIN.get(name) or emitc.OPERATORS[name]
    type = scalar_type(op.results[0].type)
    return make.value(kind.create(operands=operands, result_types=[type]))


PLAIN = {"add": emitc.AddOp, "sub": emitc.SubOp, "mul": emitc.MulOp}


def _operator(name: str) -> Rebuild:
    return lambda op, operands, make: _made(name, op, operands, make)


def _bitwise(of_integers: str, of_bools: str) -> Rebuild:
    def rebuild(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
        is_bool = op.results[0].type == i1
        if not is_bool or of_bools != "!=":
            return _made(of_bools if is_bool else of_integers, op, operands, make)
        if _is_true(op.operands[1]):
            return _made("logical_not", op, operands[:1], make)
        return _compared("!=", operands, make)

    return rebuild


def _is_true(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, arith.ConstantOp) and constant_text(owner) == "true"


def _compared(sign: str, operands: list[SSAValue], make: Maker) -> SSAValue:
    return make.value(
        emitc.CmpOp.create(
            operands=operands,
            properties={"predicate": emitc.CmpOp.predicate_of(sign)},
            result_types=[i1],
        )
    )


INTEGER_SIGNS = ("==", "!=", "<", "<=", ">", ">=")
FLOAT_SIGNS = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}


def _compare_integers(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    assert isinstance(op, arith.CmpiOp)
    return _compared(INTEGER_SIGNS[op.predicate.value.data], operands, make)


def _compare_floats(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    assert isinstance(op, arith.CmpfOp)
    return _compared(FLOAT_SIGNS[op.predicate.value.data], operands, make)


def _select(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    type = scalar_type(op.results[0].type)
    return make.value(emitc.ConditionalOp.create(operands=operands, result_types=[type]))


def _extreme(sign: str) -> Rebuild:
    def rebuild(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
        one, other = operands
        return _select(op, [_compared(sign, [other, one], make), other, one], make)

    return rebuild


def _helper(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    call = emitc.CallOpaqueOp.create(
        operands=operands,
        properties={"callee": StringAttr(HELPERS[type(op)][0])},
        result_types=[scalar_type(op.results[0].type)],
    )
    return make.value(call)


# Functions of the kernel's own, which convert-ttkernel-to-emitc writes, and those they call.
HELPERS: dict[type[Operation], tuple[str, ...]] = {
    arith.FloorDivSIOp: ("floor_divide",),
    ttl.FloorDivideOp: ("floor_divide_floats", "float_remainder"),
    ttl.RemainderOp: ("float_remainder",),
}


def _cast(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    type = scalar_type(op.results[0].type)
    return make.value(emitc.CastOp.create(operands=operands, result_types=[type]))


def _same(op: Operation, operands: list[SSAValue], make: Maker) -> SSAValue:
    return operands[0]


ARITHMETIC: dict[type[Operation], Rebuild] = {
    arith.AddiOp: _operator("add"),
    arith.SubiOp: _operator("sub"),
    arith.MuliOp: _operator("mul"),
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
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.SelectOp: _select,
    arith.AddfOp: _operator("add"),
    arith.SubfOp: _operator("sub"),
    arith.MulfOp: _operator("mul"),
    arith.DivfOp: _operator("div"),
    arith.NegfOp: _operator("unary_minus"),
    arith.IndexCastOp: _same,
    arith.SIToFPOp: _cast,
    arith.FPToSIOp: _cast,
}
