"""The compute side of convert-ttl-to-ttkernel: tile operations as calls of the chip's interface."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import FloatAttr, f64
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import DTYPES, bfloat16, float32, round_to
from ttl.semantics.ops import (
    BLOCK_OPS,
    COPY,
    DUPLICATE,
    FILL,
    FILL_WHOLE,
    MATMUL,
    REGISTER_FORMATS,
    TILE_OPS,
    TileCall,
    TileForms,
    all_words,
)

from ..compute.arranged_tiles import form_of
from ..compute.compiler_buffers import FP32
from ..module_pass import Maker
from .kernel_calls import KernelConverter, call, value_call


def section_step(converter: KernelConverter, op: ttl.SectionOp, make: Maker) -> None:
    step = op.step.data
    if step == "unmask":
        call(make, "reduce_uninit")
    else:
        call(make, f"tile_regs_{step}")


def tile_call(converter: KernelConverter, op: ttl.TileCallOp, make: Maker) -> None:
    buffers = [converter.buffer_of(block) for block in op.buffers]
    tiles = [converter.tile_of(op, *pair, make) for pair in zip(op.buffers, op.tiles, strict=True)]
    registers = list(op.registers)
    action = op.action.data
    if action == "store":
        pack = call(make, "pack_tile<true>", registers[0], buffers[0], tiles[0])
        pack.attributes |= ttl.packing_of(op)
    elif action == "copy":
        call(make, COPY.call, buffers[0], tiles[0], registers[0])
    elif action == "fill":
        _fill(converter, op, registers[0], make)
    elif action == "duplicate":
        call(make, f"{DUPLICATE.call}<DataFormat::{_format(converter, op)}>", *registers)
    elif action == "matmul" and op.sizes is None:
        by_tile = MATMUL.tile[converter.api].by_tile
        assert by_tile is not None
        call(make, by_tile.call, *buffers, *tiles, registers[0])
    elif action == "matmul":
        sizes = [make.index(size) for size in _matmul_sizes(op)]
        form = _form(converter, action)
        call(make, form.call, *buffers, *tiles, registers[0], make.index(0), *sizes)
    elif (arranged := _arranged_form(converter, op)) is not None:
        call(make, arranged.call, *buffers, *tiles, registers[-1])
    elif len(buffers) == 2:
        form = _form(converter, action)
        call(make, form.call, *buffers, *tiles, registers[-1])
    elif buffers:
        forms = BLOCK_OPS[action].tile[converter.api]
        reuse = forms.left_in_dst if op.left_in_dst is not None else forms.right_in_dst
        assert reuse is not None
        call(make, reuse.call, buffers[0], tiles[0], registers[-1])
    else:
        used = registers if TILE_OPS[action].operands > 1 else registers[:1]
        _call_in_dst(converter, _form_in_dst(converter, op), used, op, make)


def _call_in_dst(
    converter: KernelConverter,
    form: TileCall,
    registers: list[SSAValue],
    op: ttl.TileCallOp,
    make: Maker,
) -> None:
    literals = form.arguments(**_parameters(converter, op)) if form.arguments else ()
    call(make, _spell(converter, form, op), *registers, literals=literals)
    if form.then is not None:
        literals = form.then.arguments() if form.then.arguments else ()
        call(make, _spell(converter, form.then, op), registers[-1], literals=literals)


def _fill(converter: KernelConverter, op: ttl.TileCallOp, register: SSAValue, make: Maker) -> None:
    number = op.number
    if number is not None:
        form = FILL.call if op.element_type is None else _spell(converter, FILL_WHOLE, op)
        if op.element_type is None and _dst_format(converter) != "Float32":  # else truncated
            number = value_call(make, ttkernel.ROUND, number, type=f64, hint="rounded")
        call(make, form, register, number)
        return
    assert op.value is not None
    if op.element_type is None:
        call(make, FILL.call, register).properties["value"] = op.value
        return
    literals = all_words(value=op.value.value.data)
    call(make, _spell(converter, FILL_WHOLE, op), register, literals=literals)


def _spell(converter: KernelConverter, form: TileCall, op: ttl.TileCallOp) -> str:
    if "{format}" not in form.call:
        return form.call
    return form.call.replace("{format}", _format(converter, op))


def _format(converter: KernelConverter, op: ttl.TileCallOp) -> str:
    """Return the format of the operand in a register."""
    if op.element_type is None:
        return _dst_format(converter)
    return REGISTER_FORMATS[op.element_type.data]


def _form_in_dst(converter: KernelConverter, op: ttl.TileCallOp) -> TileCall:
    forms: TileForms | None = TILE_OPS[op.action.data].tile[converter.api]
    if forms is not None and op.element_type is not None:
        forms = forms.of(DTYPES[op.element_type.data])
    assert forms is not None and forms.in_dst is not None
    return forms.in_dst


def _parameters(converter: KernelConverter, op: ttl.TileCallOp) -> dict[str, float]:
    """Return the call's parameters; numbers of exact operations are rounded to the registers'
    format, which does not change results: the chip would truncate them."""
    found: dict[str, float] = {}
    is_exact = TILE_OPS[op.action.data].bound is None
    dtype = bfloat16 if is_exact and _dst_format(converter) != "Float32" else float32
    for name, value in (op.parameters.data if op.parameters else {}).items():
        number = value.value.data  # type: ignore[attr-defined]
        if isinstance(value, FloatAttr) and op.element_type is None:
            number = float(round_to(np.array(number, np.float32), dtype))
        found[name] = number
    return found


def _dst_format(converter: KernelConverter) -> str:
    return "Float32" if bool(converter.kernel.attributes[FP32]) else "Float16_b"


def _form(converter: KernelConverter, action: str) -> TileCall:
    """Return the form in the op table's tile column for this chip."""
    form = BLOCK_OPS[action].tile[converter.api].from_buffers
    assert form is not None
    return form


def _arranged_form(converter: KernelConverter, op: ttl.TileCallOp) -> TileCall | None:
    entry = TILE_OPS.get(op.action.data)
    return form_of(entry.tile[converter.api], op.parameters) if entry else None


def _matmul_sizes(op: ttl.TileCallOp) -> tuple[int, int, int]:
    """Return columns and rows of the result and the left operand's row stride, in tiles."""
    assert op.sizes is not None
    columns, rows = (size.value.data for size in op.sizes)
    steps = (block_type(op.buffers[0].type).shape or ())[-1]
    return columns, rows, steps


COMPUTE_CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    ttl.SectionOp: section_step,
    ttl.TileCallOp: tile_call,
}
