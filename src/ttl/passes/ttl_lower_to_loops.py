"""ttl-lower-to-loops: a section becomes the DST protocol around a loop over tiles for each op.

One loop for each operation, not one loop over all of them: calls of one kind stay together, so
that each needs its init once.
"""

from __future__ import annotations

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, ModuleOp, StringAttr, f32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import round_to
from ttl.semantics.kernel_config import dest_dtype
from ttl.semantics.ops import MATMUL

from .dst_allocation import is_register_value, value_tiles
from .module_pass import Maker, erase, kernels
from .ttl_assign_dst import DST_INDEX
from .ttl_set_compute_kernel_config import FP32


class TtlLowerToLoops(ModulePass):
    name = "ttl-lower-to-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op, "compute"):
            _round_fills(kernel)
            for section in [o for o in kernel.walk() if isinstance(o, ttl.ComputeOp)]:
                _lower_section(section)


def _round_fills(kernel: func.FuncOp) -> None:
    """The chip truncates a constant it writes to 16-bit registers; the language rounds it."""
    dtype = dest_dtype(bool(kernel.attributes[FP32]))
    for op in kernel.walk():
        if isinstance(op, ttl.TileFillOp):
            value = round_to(np.array(op.value.value.data, np.float32), dtype)
            op.properties["value"] = FloatAttr(float(value), f32)


def _lower_section(section: ttl.ComputeOp) -> None:
    make = Maker.before(section)
    _protocol(make, "acquire")
    stores = [op for op in section.body.block.ops if isinstance(op, ttl.TileStoreOp)]
    _lower_block(section.body.block, make, {})
    for step in ("commit", "wait"):
        _protocol(make, step)
    for store in stores:
        make.origin = store
        _pack(store, make)
    _protocol(make, "release")
    erase(section)


def _protocol(make: Maker, step: str) -> None:
    make.add(ttl.SectionOp.create(properties={"step": StringAttr(step)}))


Registers = dict[SSAValue, int]  # of loop-carried values, which no operation defines


def _first(value: SSAValue, carried: Registers) -> int:
    if value in carried:
        return carried[value]
    assert isinstance(value.owner, Operation)
    indices = value.owner.attributes[DST_INDEX]
    assert isinstance(indices, ArrayAttr)
    first: int = indices.data[value.owner.results.index(value)].value.data
    return first


def _lower_block(block: Block, make: Maker, carried: Registers) -> None:
    """Everything of `block` but its stores, made again through `make`."""
    for op in list(block.ops):
        make.origin = op
        if isinstance(op, scf.ForOp):
            _lower_loop(op, make, carried)
        elif isinstance(op, ttl.TileMathOp) and op.ENTRY is MATMUL:
            _lower_matmul(op, make, carried)
        elif op.results and is_register_value(op.results[0]):
            _lower_tiles(op, make, carried)
        elif not isinstance(op, (ttl.TileStoreOp, scf.YieldOp)):
            op.detach()
            make.builder.insert(op)


def _lower_loop(loop: scf.ForOp, make: Maker, carried: Registers) -> None:
    body = loop.body.block
    for start, argument in zip(loop.iter_args, body.args[1:], strict=True):
        carried[argument] = _first(start, carried)
    new_body = Block(arg_types=[body.args[0].type])
    new_body.args[0].name_hint = body.args[0].name_hint
    body.args[0].replace_all_uses_with(new_body.args[0])
    inner = Maker(InsertPoint.at_end(new_body), loop)
    _lower_block(body, inner, carried)
    inner.origin = loop
    inner.add(scf.YieldOp())
    make.add(scf.ForOp(loop.lb, loop.ub, loop.step, [], Region(new_body)))


def _lower_tiles(op: Operation, make: Maker, carried: Registers) -> None:
    result = op.results[0]
    operands = list(op.operands)
    buffers = [value for value in operands if not is_register_value(value)]
    firsts = [_first(value, carried) for value in operands if is_register_value(value)]
    firsts.append(_first(result, carried))

    def tile(inner: Maker, t: SSAValue) -> None:
        registers = [inner.affine([(t, 1)], first, "dst") for first in firsts]
        fill_value = op.properties.get("value")
        call(inner, action_of(op), buffers, [t] * len(buffers), registers, fill_value)

    make.loop(value_tiles(result), "tile", tile)


def _lower_matmul(op: ttl.TileMathOp, make: Maker, carried: Registers) -> None:
    """One call for each step along k: an outer product of a column and a row of tiles."""
    left, right = op.inputs[:2]
    steps, columns = block_type(right.type).shape or (0, 0)
    first = _first(op.result, carried)

    def step(inner: Maker, k: SSAValue) -> None:
        right_tile = inner.affine([(k, columns)], hint="right_tile")
        call(inner, "matmul", [left, right], [k, right_tile], [inner.index(first)])

    make.loop(steps, "k_tile", step)


def _pack(store: ttl.TileStoreOp, make: Maker) -> None:
    first = _first(store.value, {})

    def tile(inner: Maker, t: SSAValue) -> None:
        register = inner.affine([(t, 1)], first, "dst")
        call(inner, "store", [store.view], [t], [register])

    make.loop(value_tiles(store.value), "tile", tile)


def action_of(op: Operation) -> str:
    return op.name.removeprefix("ttl.tile_")


def call(
    make: Maker,
    action: str,
    buffers: list[SSAValue],
    tiles: list[SSAValue],
    registers: list[SSAValue],
    value: object = None,
) -> None:
    op = ttl.TileCallOp.build(
        operands=[buffers, tiles, registers],
        properties={
            "action": StringAttr(action),
            **({"value": value} if isinstance(value, FloatAttr) else {}),
        },
    )
    make.add(op)
