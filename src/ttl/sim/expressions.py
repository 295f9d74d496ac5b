"""Block expressions on the simulator: what operators, functions, store() and += compute.

The array of a value need not be as large as its block: it is equal along the dimensions it lacks
(a fill is one number, a broadcast one row or column). A value that has met no element type yet,
made of fills alone, becomes one of the type it meets.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ttl.diagnostics import RuleBroken, codes
from ttl.language.block import BlockExpression
from ttl.language.described import described, help_with
from ttl.semantics import block_math
from ttl.semantics.block_protocol import ACCUMULATE, READ, STORE, State
from ttl.semantics.current_engine import running_engine
from ttl.semantics.dtypes import Array, DType, float32, round_into, round_to
from ttl.semantics.kernel_kinds import wrong_kind
from ttl.semantics.layout import ROW_MAJOR_LAYOUT
from ttl.semantics.ops import (
    BY_OPERATOR,
    NO_PARAMETERS,
    BlockOp,
    is_complete,
    is_number,
    special_values,
    store_type,
)
from ttl.semantics.ops.wanted import helps_instead, takes_number
from ttl.semantics.types import Shape

from . import chip_rounding
from .block import SimBlock, SimExpression
from .place import user_place
from .types import Applied

if TYPE_CHECKING:
    from .kernel import KernelRun

ADD: Final = BY_OPERATOR["+"]
SINGLE: Final = np.dtype(np.float32)
computed_at_once: Final = block_math.binary
stored_at_once: Final = block_math.stored
reduced_at_once: Final = block_math.row_reduced
has_nan: Final = block_math.has_nan


def binary(kernel: KernelRun, op: BlockOp, left: object, right: object) -> SimExpression:
    """An operator between two values: apply() for what kernels compute most."""
    if not (isinstance(left, BlockExpression) and isinstance(right, BlockExpression)):
        return apply(kernel, op, (left, right), NO_PARAMETERS)
    if not kernel.is_compute:
        raise wrong_kind(op.spelling, kernel.kind)
    kernel.steps += 1
    first = as_held(kernel, left) if isinstance(left, SimBlock) else _value(kernel, left)
    second = as_held(kernel, right) if isinstance(right, SimBlock) else _value(kernel, right)
    applied = kernel.types.of_operator(op, left, right)
    made = None
    if _is_native(kernel, applied, first, second):
        made = computed_at_once(applied.native, first, second, kernel.register_bits == 16)
    if made is not None:
        result = SimExpression(applied.type, made, kernel)
    else:
        result = _binary_by_numpy(kernel, applied, op, left, right, first, second)
    if kernel.simulation.padding is not None:
        kernel.simulation.padding.applied(kernel, op, (left, right), NO_PARAMETERS, result)
    return result


def _binary_by_numpy(
    kernel: KernelRun,
    applied: Applied,
    op: BlockOp,
    left: object,
    right: object,
    first: object,
    second: object,
) -> SimExpression:
    if isinstance(left, SimBlock):
        first = carried(kernel, left)
    if isinstance(right, SimBlock):
        second = carried(kernel, right)
    if not applied.is_plain:
        return _apply_unlike(kernel, applied, op, (left, right), NO_PARAMETERS, [first, second])
    if applied.extents:
        first = _expanded(first, applied.extents[0])
        second = _expanded(second, applied.extents[1])
    return _rounded(kernel, applied, applied.meaning(first, second))


def apply(
    kernel: KernelRun, op: BlockOp, operands: tuple[object, ...], parameters: Mapping[str, object]
) -> SimExpression:
    """The value of an operation of the table, rounded to the format of expression values."""
    if not kernel.is_compute:
        raise wrong_kind(op.spelling, kernel.kind)
    kernel.steps += 1
    table = kernel.types
    arrays: list[object] = []
    key = [id(op), id(parameters)]
    for operand in operands:
        if isinstance(operand, SimBlock):
            arrays.append(as_held(kernel, operand))
            key.append(id(operand.type))
        elif isinstance(operand, SimExpression):
            arrays.append(_value(kernel, operand))
            key.append(id(operand.type))
        else:
            is_known = type(operand) is int or type(operand) is float
            position = len(arrays)
            arrays.append(operand if is_known else _checked_number(op, operand, position, operands))
            key.append(id(table.number))
    applied = table.known.get(tuple(key))
    if applied is None:
        _check_numbers(op, operands)
        applied = table.result(op, operands, parameters)
    made = _computed_at_once(kernel, applied, arrays)
    if made is not None:
        result = SimExpression(applied.type, made, kernel)
    else:
        result = _applied_by_numpy(kernel, applied, op, operands, parameters, arrays)
    if kernel.simulation.padding is not None:
        kernel.simulation.padding.applied(kernel, op, operands, parameters, result)
    return result


def _applied_by_numpy(
    kernel: KernelRun,
    applied: Applied,
    op: BlockOp,
    operands: tuple[object, ...],
    parameters: Mapping[str, object],
    arrays: list[object],
) -> SimExpression:
    for position, operand in enumerate(operands):
        if isinstance(operand, SimBlock):
            arrays[position] = carried(kernel, operand)
    if not applied.is_plain:
        return _apply_unlike(kernel, applied, op, operands, parameters, arrays)
    if applied.extents:
        _expand(arrays, applied.extents)
    return _rounded(kernel, applied, applied.meaning(*arrays))


def _computed_at_once(kernel: KernelRun, applied: Applied, arrays: list[Any]) -> Any:
    """By the native module, from blocks as they are held; None where it does not apply."""
    if applied.native >= 0:
        first, second = arrays
        if _is_native(kernel, applied, first, second):
            return computed_at_once(applied.native, first, second, kernel.register_bits == 16)
        return None
    if applied.row >= 0 and kernel.register_bits == 32:
        scaler = arrays[1]
        if type(scaler) is int and scaler == 1 and arrays[0].shape == applied.extents[0]:
            return reduced_at_once(applied.row, arrays[0])
    return None


def _is_native(kernel: KernelRun, applied: Applied, first: Any, second: Any) -> bool:
    """A product takes whole factors, not what is equal along a dimension."""
    if applied.native < 0 or not kernel.register_bits:
        return False
    extents = applied.extents
    return not extents or (first.shape == extents[0] and second.shape == extents[1])


def _value(kernel: KernelRun, operand: object) -> Array:
    assert isinstance(operand, SimExpression)
    if operand.kernel is not kernel:
        raise _of_another(operand, kernel)
    return operand.array


def _rounded(kernel: KernelRun, applied: Applied, computed: Any) -> SimExpression:
    """The result of a plain operation."""
    if applied.computes and has_nan(computed) is not False:
        computed = special_values.clear_nan_signs(computed)
    if computed.dtype is not SINGLE or kernel.dest is not float32:
        computed = round_to(computed, format_of(kernel, applied.type.dtype))
    if computed.base is not None:  # a slot or a view of one changes with its block
        computed = computed.copy("K")  # a matrix product takes a transposed block as it is
    return SimExpression(applied.type, computed, kernel)


def _apply_unlike(
    kernel: KernelRun,
    applied: Applied,
    op: BlockOp,
    operands: tuple[object, ...],
    parameters: Mapping[str, object],
    arrays: list[object],
) -> SimExpression:
    """An operation with parameters, or with operands that are not whole blocks of one type."""
    if applied.converts:
        for position, is_untyped in enumerate(applied.converts):
            if is_untyped:
                arrays[position] = converted(kernel, arrays[position], applied.dtype)
    if applied.extents:
        _expand(arrays, applied.extents)
    if applied.numbers:
        parameters = _converted_parameters(applied, parameters)
    if kernel.simulation.rounding.is_chips and operands:
        computed = chip_rounding.computed(kernel, applied, op, operands, arrays, parameters)
    else:
        computed = np.asarray(applied.meaning(*arrays, **parameters))
    if applied.computes and has_nan(computed) is not False:
        computed = special_values.clear_nan_signs(computed)
    # A fill stays exact until it meets an element type.
    if not operands and applied.type.dtype is not None:
        computed = np.asarray(converted(kernel, computed, applied.type.dtype))
    elif operands and (computed.dtype is not SINGLE or kernel.dest is not float32):
        computed = round_to(computed, format_of(kernel, applied.type.dtype))
    snapshot = computed if computed.base is None else computed.copy()
    result = SimExpression(applied.type, snapshot, kernel)
    if applied.is_open:
        _follow_shapeless(kernel, operands, result)
    return result


def _of_another(value: SimExpression, kernel: KernelRun) -> RuleBroken:
    owner = value.kernel
    return RuleBroken(
        codes.BUFFER_ENDS,
        f"`{kernel.name}` on node {kernel.coordinate} uses a value that `{owner.name}` on node "
        f"{owner.coordinate} computed",
        helps=("a value stays in the kernel that computed it: store() it into a block",),
    )


def format_of(kernel: KernelRun, dtype: DType | None) -> DType:
    """Values of expressions: floats have the format of DST, integers their own type."""
    return kernel.dest if dtype is None or dtype.is_float else dtype


def read(kernel: KernelRun, block: SimBlock) -> Array:
    """The value of a block as an operand. It changes with the block, if it is not a copy."""
    as_held(kernel, block)
    return carried(kernel, block)


def as_held(kernel: KernelRun, block: SimBlock) -> Array:
    """The block is read: its elements, not in the type that expressions work in if nobody asked."""
    if block.kernel is not kernel:
        raise block.used_by(kernel)
    block.step(READ)
    if block.running_sum is not None:
        block.settle()
    return block.array if block.values is None else block.values


def carried(kernel: KernelRun, block: SimBlock) -> Array:
    if kernel.inexact and block.end.buffer.held in kernel.inexact:
        return round_to(block.carry(), kernel.dest)
    return block.carry()


# Numbers and fills --------------------------------------------------------------------------------


def _check_numbers(op: BlockOp, operands: tuple[object, ...]) -> None:
    """Once for calls whose operands are of the same types."""
    for position, operand in enumerate(operands):
        if not isinstance(operand, (SimBlock, SimExpression)):
            _checked_number(op, operand, position, operands)


def _checked_number(op: BlockOp, value: Any, position: int, operands: tuple[object, ...]) -> Any:
    """`value`, which must be a number where one is allowed, beside a block."""
    if isinstance(value, np.generic):
        value = value.item()
    types = [
        operand.type if isinstance(operand, (SimBlock, SimExpression)) else None
        for operand in operands
    ]
    is_number_here = takes_number(op, position, types)
    if is_number(value) and is_number_here:
        return value
    raise not_a_value(op.spelling, value, helps_instead(value, op, types, is_number_here))


def not_a_value(call: str, value: object, helps: tuple[str, ...] = ()) -> RuleBroken:
    if not helps and (known := help_with(value)) is not None:
        helps = (known,)
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        f"{call} works on blocks and block expressions, not on {described(value)}",
        helps=helps,
    )


def converted(kernel: KernelRun, value: Any, dtype: DType | None) -> Any:
    """A number or a fill beside a block: a value in the format of DST, as all others."""
    if isinstance(value, (int, float)):
        # The scaler of a reduction, say; 0.0 and -0.0 are one key, so they are not kept.
        return (_kept_scalar if value else _scalar)(value, dtype, kernel.dest)
    if dtype is not None and not dtype.is_float:
        return _whole(value, dtype)
    return round_to(value.astype(np.float32), kernel.dest)


def _scalar(value: int | float, dtype: DType | None, dest: DType) -> Any:
    number = _number(value, dtype)
    return round_to(number, dest)[()] if dtype is None or dtype.is_float else number


_kept_scalar: Final = lru_cache(typed=True)(_scalar)


def _number(value: int | float, dtype: DType | None) -> Any:
    if dtype is None or dtype.is_float:
        try:
            return np.float32(value)
        except OverflowError:  # an int beyond all floats
            return np.float32(np.inf if value > 0 else -np.inf)
    return _whole(np.array(value, np.int64 if _fits(value) else np.float64), dtype)[()]


def _fits(value: int | float) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _whole(values: Array, dtype: DType) -> Any:
    whole = round_to(values, dtype)
    if not np.array_equal(whole, values):
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"{values.flat[0]} is not a number of {dtype.spelling}",
            helps=(
                f"write a number that {dtype.spelling} has, or convert with "
                "ttl.math.typecast(x, dtype)",
            ),
        )
    return whole


def _converted_parameters(applied: Applied, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers among the parameters in the element type of the operands."""
    numbers = {name: _number(parameters[name], applied.dtype) for name in applied.numbers}
    return {**parameters, **numbers}


def _expand(arrays: list[object], extents: tuple[Shape | None, ...]) -> None:
    for position, extent in enumerate(extents):
        arrays[position] = _expanded(arrays[position], extent)


def _expanded(array: Any, extent: Shape | None) -> Any:
    """The whole block, where it matters which elements are there."""
    if extent is None or array.shape == extent:
        return array
    return np.broadcast_to(array, extent)


# Values without a shape ---------------------------------------------------------------------------


def _follow_shapeless(
    kernel: KernelRun, operands: tuple[object, ...], result: SimExpression
) -> None:
    """What a value without a shape went into is now the one that needs one."""
    for operand in operands:
        if type(operand) is SimExpression:
            kernel.shapeless.pop(operand, None)
    if not is_complete(result.type.shape):
        kernel.shapeless = {**kernel.shapeless, result: user_place()}


# Storing ------------------------------------------------------------------------------------------


def store(kernel: KernelRun, value: Any, block: SimBlock) -> None:
    if not kernel.is_compute:
        running = running_engine(None)
        foreign = running is not None and running is not kernel
        raise block.used_by(running) if foreign else wrong_kind("Block.store()", kernel.kind)
    if type(value) is SimExpression and value.type is block.type and value.kernel is kernel:
        stored = value.array
    else:
        stored = _storable(kernel, value, block, "Block.store()")
    block.step(STORE, user_place() if block.state.row[STORE] is None else None)
    if not block.end.is_producer:  # a value of its own: the chip cannot pack over read space
        block.slot = np.empty_like(block.slot)
        block.slot_words = block.slot.view(block.slot_words.dtype)
    block.is_bare = False
    block.values = block.running_sum = None  # a sum from before is replaced
    buffer = block.end.buffer
    if buffer.rounds and stored.dtype is SINGLE:  # as round_into() does
        if not stored_at_once(stored, block.slot):
            block.slot[...] = stored
    else:
        round_into(block.slot, stored, buffer.held, buffer.way)
    if kernel.simulation.padding is not None:
        kernel.simulation.padding.stored(value, block)


def _storable(kernel: KernelRun, value: Any, block: SimBlock, call: str) -> Array:
    """The value's array, once it is known to fit into the block."""
    array: Array
    if type(value) is SimExpression:
        if value.kernel is not kernel:
            raise _of_another(value, kernel)
        array = value.array
        if not is_complete(value.type.shape):
            kernel.shapeless.pop(value, None)
    elif type(value) is SimBlock:
        array = read(kernel, value)  # without an operator, it passes DST all the same
    else:
        raise not_a_value(call, value, helps_instead(value))
    if value.type is not block.type or block.type.layout is ROW_MAJOR_LAYOUT:
        store_type(value.type, block.type)
    if value.type.dtype is None:
        array = converted(kernel, array, block.type.dtype)
    return array


def accumulate(kernel: KernelRun, block: SimBlock, value: Any) -> None:
    """`block += value`: on a reserved block a running sum, on a waited one a store of the sum."""
    if not kernel.is_compute:
        raise wrong_kind("+= on a block", kernel.kind)
    if block.kernel is not kernel:
        raise block.used_by(kernel)
    if not block.end.is_producer:
        store(kernel, binary(kernel, ADD, block, value), block)
        return
    if is_number(value):
        if block.type.layout is ROW_MAJOR_LAYOUT:
            store_type(block.type, block.type)  # nothing is computed with it
        added = converted(kernel, value, block.type.dtype)
    else:
        added = _storable(kernel, value, block, "+=")
    is_first = block.state is State.MUST_WRITE
    block.step(ACCUMULATE)
    before = block.carry() if block.running_sum is None else block.running_sum
    start = np.zeros_like(before) if is_first else before
    summed = special_values.clear_nan_signs(np.add(start, added))
    block.values = None
    way = chip_rounding.way_of_sum(kernel, value)
    block.running_sum = round_to(summed, format_of(kernel, block.type.dtype), way=way)
    if kernel.simulation.padding is not None:
        kernel.simulation.padding.accumulated(kernel, value, block, is_first)
