"""Block expressions in the simulator: what operators, functions, store() and += compute.

A value's array may be smaller than its block: it is equal along the dimensions it lacks (a fill is
one number, a broadcast one row or column). A value made of fills alone has no element type until it
meets one, and takes that.
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
compute_at_once: Final = block_math.binary
store_at_once: Final = block_math.stored
reduce_at_once: Final = block_math.row_reduced
has_nan: Final = block_math.has_nan


def binary(kernel: KernelRun, op: BlockOp, left: object, right: object) -> SimExpression:
    """Compute an operator between two values: apply() for the most common case."""
    if not (isinstance(left, BlockExpression) and isinstance(right, BlockExpression)):
        return apply(kernel, op, (left, right), NO_PARAMETERS)
    if not kernel.is_compute:
        raise wrong_kind(op.spelling, kernel.kind)
    kernel.steps += 1
    first = read_held(kernel, left) if isinstance(left, SimBlock) else _value(kernel, left)
    second = read_held(kernel, right) if isinstance(right, SimBlock) else _value(kernel, right)
    applied = kernel.types.of_operator(op, left, right)
    made = None
    if _can_run_natively(kernel, applied, first, second):
        made = compute_at_once(applied.native, first, second, kernel.register_bits == 16)
    if made is not None:
        result = SimExpression(applied.type, made, kernel)
    else:
        result = _compute_binary(kernel, applied, op, left, right, first, second)
    if kernel.simulation.padding is not None:
        kernel.simulation.padding.note_result(kernel, op, (left, right), NO_PARAMETERS, result)
    return result


def _compute_binary(
    kernel: KernelRun,
    applied: Applied,
    op: BlockOp,
    left: object,
    right: object,
    first: object,
    second: object,
) -> SimExpression:
    if isinstance(left, SimBlock):
        first = carry(kernel, left)
    if isinstance(right, SimBlock):
        second = carry(kernel, right)
    if not applied.is_plain:
        return _apply_unlike(kernel, applied, op, (left, right), NO_PARAMETERS, [first, second])
    if applied.extents:
        first = _broadcast(first, applied.extents[0])
        second = _broadcast(second, applied.extents[1])
    return _round_result(kernel, applied, applied.meaning(first, second))


def apply(
    kernel: KernelRun, op: BlockOp, operands: tuple[object, ...], parameters: Mapping[str, object]
) -> SimExpression:
    """Compute an operation of the table, rounded to the format of expression values."""
    if not kernel.is_compute:
        raise wrong_kind(op.spelling, kernel.kind)
    kernel.steps += 1
    table = kernel.types
    arrays: list[object] = []
    key = [id(op), id(parameters)]
    for operand in operands:
        if isinstance(operand, SimBlock):
            arrays.append(read_held(kernel, operand))
            key.append(id(operand.type))
        elif isinstance(operand, SimExpression):
            arrays.append(_value(kernel, operand))
            key.append(id(operand.type))
        else:
            is_known = type(operand) is int or type(operand) is float
            position = len(arrays)
            arrays.append(operand if is_known else _require_number(op, operand, position, operands))
            key.append(id(table.number))
    applied = table.known.get(tuple(key))
    if applied is None:
        _check_numbers(op, operands)
        applied = table.result(op, operands, parameters)
    made = _compute_natively(kernel, applied, arrays)
    if made is not None:
        result = SimExpression(applied.type, made, kernel)
    else:
        result = _compute_by_numpy(kernel, applied, op, operands, parameters, arrays)
    if kernel.simulation.padding is not None:
        kernel.simulation.padding.note_result(kernel, op, operands, parameters, result)
    return result


def _compute_by_numpy(
    kernel: KernelRun,
    applied: Applied,
    op: BlockOp,
    operands: tuple[object, ...],
    parameters: Mapping[str, object],
    arrays: list[object],
) -> SimExpression:
    for position, operand in enumerate(operands):
        if isinstance(operand, SimBlock):
            arrays[position] = carry(kernel, operand)
    if not applied.is_plain:
        return _apply_unlike(kernel, applied, op, operands, parameters, arrays)
    if applied.extents:
        _expand(arrays, applied.extents)
    return _round_result(kernel, applied, applied.meaning(*arrays))


def _compute_natively(kernel: KernelRun, applied: Applied, arrays: list[Any]) -> Any:
    """Compute with the native module, from blocks in their own type; None if it cannot."""
    if applied.native >= 0:
        first, second = arrays
        if _can_run_natively(kernel, applied, first, second):
            return compute_at_once(applied.native, first, second, kernel.register_bits == 16)
        return None
    if applied.row >= 0 and kernel.register_bits == 32:
        scaler = arrays[1]
        if type(scaler) is int and scaler == 1 and arrays[0].shape == applied.extents[0]:
            return reduce_at_once(applied.row, arrays[0])
    return None


def _can_run_natively(kernel: KernelRun, applied: Applied, first: Array, second: Array) -> bool:
    """Can the native module compute it? A product needs whole factors, not broadcast ones."""
    if applied.native < 0 or not kernel.register_bits:
        return False
    extents = applied.extents
    return not extents or (first.shape == extents[0] and second.shape == extents[1])


def _value(kernel: KernelRun, operand: object) -> Array:
    assert isinstance(operand, SimExpression)
    if operand.kernel is not kernel:
        raise _foreign_value(operand, kernel)
    return operand.array


def _round_result(kernel: KernelRun, applied: Applied, computed: Array) -> SimExpression:
    """Round the result of a plain operation."""
    if applied.computes and has_nan(computed) is not False:
        computed = special_values.clear_nan_signs(computed)
    if computed.dtype is not SINGLE or kernel.dest is not float32:
        computed = round_to(computed, format_of(kernel, applied.type.dtype))
    if computed.base is not None:  # a slot or a view of a slot changes with its block
        computed = computed.copy("K")  # a matrix product accepts transposed memory
    return SimExpression(applied.type, computed, kernel)


def _apply_unlike(
    kernel: KernelRun,
    applied: Applied,
    op: BlockOp,
    operands: tuple[object, ...],
    parameters: Mapping[str, object],
    arrays: list[object],
) -> SimExpression:
    """Compute an operation with parameters or with operands other than whole blocks of a type."""
    if applied.converts:
        for position, is_untyped in enumerate(applied.converts):
            if is_untyped:
                arrays[position] = convert(kernel, arrays[position], applied.dtype)
    if applied.extents:
        _expand(arrays, applied.extents)
    if applied.numbers:
        parameters = _convert_parameters(applied, parameters)
    if kernel.simulation.rounding.is_chips and operands:
        computed = chip_rounding.compute(kernel, applied, op, operands, arrays, parameters)
    else:
        computed = np.asarray(applied.meaning(*arrays, **parameters))
    if applied.computes and has_nan(computed) is not False:
        computed = special_values.clear_nan_signs(computed)
    # A fill stays exact until it meets an element type.
    if not operands and applied.type.dtype is not None:
        computed = np.asarray(convert(kernel, computed, applied.type.dtype))
    elif operands and (computed.dtype is not SINGLE or kernel.dest is not float32):
        computed = round_to(computed, format_of(kernel, applied.type.dtype))
    snapshot = computed if computed.base is None else computed.copy()
    result = SimExpression(applied.type, snapshot, kernel)
    if applied.is_open:
        _follow_shapeless(kernel, operands, result)
    return result


def _foreign_value(value: SimExpression, kernel: KernelRun) -> RuleBroken:
    owner = value.kernel
    return RuleBroken(
        codes.BUFFER_ENDS,
        f"`{kernel.name}` on node {kernel.coordinate} uses a value that `{owner.name}` on node "
        f"{owner.coordinate} computed",
        helps=("a value stays in the kernel that computed it: store() it into a block",),
    )


def format_of(kernel: KernelRun, dtype: DType | None) -> DType:
    """Return the format of expression values: DST's for floats, their own type for integers."""
    return kernel.dest if dtype is None or dtype.is_float else dtype


def read(kernel: KernelRun, block: SimBlock) -> Array:
    """Return the value of a block as an operand. Unless it is a copy, it changes with the block."""
    read_held(kernel, block)
    return carry(kernel, block)


def read_held(kernel: KernelRun, block: SimBlock) -> Array:
    """Read the block: its elements, already converted for expressions or in its own type."""
    if block.kernel is not kernel:
        raise block.wrong_user(kernel)
    block.step(READ)
    if block.running_sum is not None:
        block.settle()
    return block.array if block.values is None else block.values


def carry(kernel: KernelRun, block: SimBlock) -> Array:
    if kernel.inexact and block.end.buffer.held in kernel.inexact:
        return round_to(block.carry(), kernel.dest)
    return block.carry()


# Numbers and fills --------------------------------------------------------------------------------


def _check_numbers(op: BlockOp, operands: tuple[object, ...]) -> None:
    """Check the numbers among operands; once for calls whose operands have the same types."""
    for position, operand in enumerate(operands):
        if not isinstance(operand, (SimBlock, SimExpression)):
            _require_number(op, operand, position, operands)


def _require_number(
    op: BlockOp, value: object, position: int, operands: tuple[object, ...]
) -> object:
    """Return `value` if it is a number and may be one beside a block; raise RuleBroken if not."""
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


def convert(kernel: KernelRun, value: Any, dtype: DType | None) -> Any:
    """Convert a number or a fill beside a block to the format of DST."""
    if isinstance(value, (int, float)):
        # Cache scalers of reductions and the like; not 0.0 and -0.0, which are one key.
        return (_cached_scalar if value else _scalar)(value, dtype, kernel.dest)
    if dtype is not None and not dtype.is_float:
        return _to_whole(value, dtype)
    return round_to(value.astype(np.float32), kernel.dest)


def _scalar(value: int | float, dtype: DType | None, dest: DType) -> Any:
    number = _number(value, dtype)
    return round_to(number, dest)[()] if dtype is None or dtype.is_float else number


_cached_scalar: Final = lru_cache(typed=True)(_scalar)


def _number(value: int | float, dtype: DType | None) -> Any:
    if dtype is None or dtype.is_float:
        try:
            return np.float32(value)
        except OverflowError:  # an int beyond all floats
            return np.float32(np.inf if value > 0 else -np.inf)
    return _to_whole(np.array(value, np.int64 if _fits(value) else np.float64), dtype)[()]


def _fits(value: int | float) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _to_whole(values: Array, dtype: DType) -> Any:
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


def _convert_parameters(applied: Applied, parameters: Mapping[str, Any]) -> Mapping[str, object]:
    """Convert the numbers among the parameters to the element type of the operands."""
    numbers = {name: _number(parameters[name], applied.dtype) for name in applied.numbers}
    return {**parameters, **numbers}


def _expand(arrays: list[object], extents: tuple[Shape | None, ...]) -> None:
    for position, extent in enumerate(extents):
        arrays[position] = _broadcast(arrays[position], extent)


def _broadcast(array: Any, extent: Shape | None) -> Any:
    """Broadcast to the whole block, if it matters which elements are there."""
    if extent is None or array.shape == extent:
        return array
    return np.broadcast_to(array, extent)


# Values without a shape ---------------------------------------------------------------------------


def _follow_shapeless(
    kernel: KernelRun, operands: tuple[object, ...], result: SimExpression
) -> None:
    """Let the result need a shape from now on, in place of its operands without a shape."""
    for operand in operands:
        if type(operand) is SimExpression:
            kernel.shapeless.pop(operand, None)
    if not is_complete(result.type.shape):
        kernel.shapeless = {**kernel.shapeless, result: user_place()}


# Storing ------------------------------------------------------------------------------------------


def store(kernel: KernelRun, value: object, block: SimBlock) -> None:
    if not kernel.is_compute:
        running = running_engine(None)
        foreign = running is not None and running is not kernel
        raise block.wrong_user(running) if foreign else wrong_kind("Block.store()", kernel.kind)
    if type(value) is SimExpression and value.type is block.type and value.kernel is kernel:
        stored = value.array
    else:
        stored = _find_array(kernel, value, block, "Block.store()")
    block.step(STORE, user_place() if block.state.row[STORE] is None else None)
    if not block.end.is_producer:  # its own memory: the chip cannot pack over read space
        block.slot = np.empty_like(block.slot)
        block.slot_words = block.slot.view(block.slot_words.dtype)
    block.is_bare = False
    block.values = block.running_sum = None  # the store replaces an earlier sum
    buffer = block.end.buffer
    if buffer.rounds and stored.dtype is SINGLE:  # inlined round_into()
        if not store_at_once(stored, block.slot):
            block.slot[...] = stored
    else:
        round_into(block.slot, stored, buffer.held, buffer.way)
    if kernel.simulation.padding is not None:
        kernel.simulation.padding.note_store(value, block)


def _find_array(kernel: KernelRun, value: object, block: SimBlock, call: str) -> Array:
    """Return the value's array after checking that it fits the block."""
    array: Array
    if type(value) is SimExpression:
        if value.kernel is not kernel:
            raise _foreign_value(value, kernel)
        array = value.array
        if not is_complete(value.type.shape):
            kernel.shapeless.pop(value, None)
    elif type(value) is SimBlock:
        array = read(kernel, value)  # without an operator, the value passes DST too
    else:
        raise not_a_value(call, value, helps_instead(value))
    if value.type is not block.type or block.type.layout is ROW_MAJOR_LAYOUT:
        store_type(value.type, block.type)
    if value.type.dtype is None:
        array = convert(kernel, array, block.type.dtype)
    return array


def accumulate(kernel: KernelRun, block: SimBlock, value: object) -> None:
    """`block += value`: on a reserved block a running sum, on a waited one a store of the sum."""
    if not kernel.is_compute:
        raise wrong_kind("+= on a block", kernel.kind)
    if block.kernel is not kernel:
        raise block.wrong_user(kernel)
    if not block.end.is_producer:
        store(kernel, binary(kernel, ADD, block, value), block)
        return
    if is_number(value):
        if block.type.layout is ROW_MAJOR_LAYOUT:
            store_type(block.type, block.type)  # no operation takes it: this raises
        added = convert(kernel, value, block.type.dtype)
    else:
        added = _find_array(kernel, value, block, "+=")
    is_first = block.state is State.MUST_WRITE
    block.step(ACCUMULATE)
    before = block.carry() if block.running_sum is None else block.running_sum
    start = np.zeros_like(before) if is_first else before
    summed = special_values.clear_nan_signs(np.add(start, added))
    block.values = None
    way = chip_rounding.way_of_sum(kernel, value)
    block.running_sum = round_to(summed, format_of(kernel, block.type.dtype), way=way)
    if kernel.simulation.padding is not None:
        kernel.simulation.padding.note_accumulate(kernel, value, block, is_first)
