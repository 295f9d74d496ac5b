"""ttnn-layout: every tensor gets its place, and ttir.to_layout stands where places differ.

rule TYPE   ttnn has no 64-bit numbers and no booleans: they become 32 bits, and bf16 0 and 1.
            An integer that 32 bits cannot hold is rejected, if something uses it.
rule CALLER The caller's tensors, arguments and results, are row-major in DRAM, unless the argument
            already has a layout.
rule OWN    The tensors of a private function, which a loop or a branch calls, are in tiles.
rule TILE   All other tensors are in tiles in DRAM. Kernels move whole tiles: from a row-major
            tensor they would take bytes that are not a tile.
rule ROWS   Weights of a convolution and the table and row numbers of an embedding stay in rows,
            and so do tensors that tiles would make many times as large: 3x3 weights, or images of
            a few pixels. Kernels still get tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
    bf16,
    f32,
    f64,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue, Use
from xdsl.rewriter import Rewriter

from ttgraph.dialects import ttir
from ttgraph.dialects.graph import ControlOp, Tensor, shape_of
from ttgraph.dialects.stablehlo.text import tensor_type
from ttgraph.dialects.ttnn import layout_of, with_layout
from ttl.diagnostics import CompileError, codes
from ttl.passes.module_pass import Maker, cannot_compile, set_function_type, terminator
from ttl.semantics.tensor_layout import TensorLayout, interleaved
from ttl.semantics.types import element_shape, tiles_of

_UI32 = IntegerType(32, Signedness.UNSIGNED)


def apply(op: ModuleOp) -> None:
    for function in [each for each in op.body.walk() if isinstance(each, func.FuncOp)]:
        if not function.is_declaration:
            _lay_out(function)


def _lay_out(function: func.FuncOp) -> None:
    block = function.body.block
    operations = list(block.ops)
    is_own = function.sym_visibility is not None and function.sym_visibility.data == "private"
    for argument in list(block.args):
        if isinstance(argument.type, TensorType):
            _place_argument(argument, operations[0], is_own)
    for op in operations:
        if isinstance(op, func.ReturnOp):
            _convert_operands(op, is_tiled=is_own)
        else:
            _place(op)
    set_function_type(function, [value.type for value in terminator(block).operands])


def _place_argument(argument: SSAValue, origin: Operation, is_own: bool) -> None:
    """rule CALLER, rule OWN"""
    type = tensor_type(argument)
    given = layout_of(type)
    own = with_layout(_to_supported(type, origin), given or _layout(type, origin, is_tiled=is_own))
    argument = _with_type(argument, own)
    users = [use for use in argument.uses if not isinstance(use.operation, func.ReturnOp)]
    users = [use for use in users if not _is_weight(use)]
    is_in_rows = not is_own and (given is None or not given.is_tiled)
    if users and is_in_rows and not _stays_in_rows(argument):
        layout = _layout(own, origin, is_tiled=True)
        tiled = Maker.before(origin).value(_to_layout(argument, layout))
        for use in users:
            use.operation.operands[use.index] = tiled


def _place(op: Operation) -> None:
    """rule TILE"""
    is_call = isinstance(op, ControlOp)
    if is_call:  # rule OWN
        _convert_operands(op, is_tiled=True)
    for result in list(op.results):
        type = tensor_type(result)
        if any(result.uses):
            _check_numbers(op, type)
        layout = _layout(type, op, is_tiled=is_call or not _stays_in_rows(result))
        _with_type(result, with_layout(_to_supported(type, op), layout))
    if isinstance(op, ttir.TTLangOp):  # a sharded init gives a sharded result
        for init, output in zip(op.inits, list(op.outputs), strict=True):
            _with_type(output, init.type)


MOST_PADDING = 4  # the most padding worth its cost, as a multiple of the elements
_WORTH_ELEMENTS = 1 << 14


def _is_weight(use: Use) -> bool:
    """rule ROWS"""
    if isinstance(use.operation, ttir.MATH["embedding"]):
        return True
    return isinstance(use.operation, _CONVOLUTIONS) and use.index == 1


def _stays_in_rows(value: SSAValue) -> bool:
    """rule ROWS"""
    shape = shape_of(value)
    if isinstance(value.owner, ttir.TTLangOp) or any(
        isinstance(use.operation, ttir.TTLangOp) for use in value.uses
    ):
        return False
    padded = prod(element_shape(tiles_of(shape or (1,))))
    return padded >= _WORTH_ELEMENTS and padded > MOST_PADDING * prod(shape)


_CONVOLUTIONS = (ttir.MATH["conv2d"], ttir.MATH["conv_transpose2d"])


def _convert_operands(op: Operation, *, is_tiled: bool) -> None:
    """rule CALLER and rule OWN, for tensors passed to others."""
    for position, value in enumerate(op.operands):
        layout = layout_of(value.type)
        if layout is not None and layout.is_tiled != is_tiled:
            wanted = _layout(tensor_type(value), op, is_tiled=is_tiled)
            op.operands[position] = Maker.before(op).value(_to_layout(value, wanted))


def _to_layout(value: SSAValue, layout: TensorLayout) -> Operation:
    type = tensor_type(value)
    made: Operation = ttir.MATH["to_layout"].of([value], with_layout(type, layout))
    return made


def _layout(type: Tensor, origin: Operation, *, is_tiled: bool) -> TensorLayout:
    element = str(_to_supported(type, origin).element_type)
    return interleaved(tuple(type.get_shape()), element, is_tiled=is_tiled)


_ELEMENTS: dict[Attribute, Attribute] = {f64: f32, i1: bf16}


def _to_supported(type: Tensor, origin: Operation) -> Tensor:
    """rule TYPE"""
    element = type.element_type
    chosen = _ELEMENTS.get(element, element)
    if isinstance(chosen, IntegerType):
        unsigned = chosen.signedness.data is Signedness.UNSIGNED
        narrow = unsigned and chosen.width.data in (8, 16)
        chosen = chosen if narrow else _UI32 if unsigned else i32
    if any(size < 0 for size in type.get_shape()):
        message = f"{type} has a size that is not known: only fixed sizes are lowered"
        raise _not_lowered(message, origin)
    return TensorType(chosen, type.get_shape(), type.encoding)


def _check_numbers(op: Operation, type: Tensor) -> None:
    """rule TYPE, for constants in the graph"""
    held: object = _to_supported(type, op).element_type
    if held == type.element_type or not isinstance(held, IntegerType) or type.element_type == i1:
        return
    low, high = (0, 2**32) if held == _UI32 else (-(2**31), 2**31)
    for number in _numbers(op):
        if not low <= number < high:
            raise _not_lowered(f"{int(number)} does not fit into the 32 bits that {held} has", op)


def _numbers(op: Operation) -> Sequence[float]:
    if isinstance(op, ttir.MATH["full"]):
        return [op.values()["fill_value"]]
    return op.value.get_values() if isinstance(op, ttir.ConstantOp) else ()


def _not_lowered(message: str, origin: Operation) -> CompileError:
    return cannot_compile(codes.GRAPH_NOT_LOWERED.broken(message), origin)


def _with_type(value: SSAValue, type: Attribute) -> SSAValue:
    return Rewriter.replace_value_with_new_type(value, type)
