"""ttkernel-insert-inits: configure engines before compute calls, as rarely as is legal.

A node's engines keep their last configuration: matrix unit and unpacker together (UNPACK), vector
unit (SFPU), the data formats of the two sources and of the packer, and how the packer treats
numbers below zero (RELU). Of buffers only the format matters, and whether they are unpacked
straight to DST. settings.py decides where a setting is made.

rule STARTUP  compute_kernel_hw_startup comes first, once, and sets the formats of the first calls.
rule INTEGERS one switch makes the matrix unit, which also copies, add integers; it follows the
              source set up last, and at startup it is on if either source has integers. So both
              start alike.
rule RELU     the packer must not change numbers when a kernel starts, and again when it ends.
rule MASK     reduce_init masks the packer until reduce_uninit, after which it is needed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import dropwhile

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.dialects.building import walk
from ttl.semantics.ops import COPY, DUPLICATE, FILL, FILL_WHOLE, MATMUL, TILE_OPS, TileCall

from ..module_pass import Maker, kernel_of, kernels, target_of
from .kernel_calls import call
from .settings import Holds, Needs, Setting, ensure, find_settings, insert_settings

UNPACK, SFPU, SRCA, SRCB, PACK = "unpack", "sfpu", "srca", "srcb", "pack"
RELU = "relu"
RECONFIGURE = {
    SRCA: "reconfig_data_format_srca",
    SRCB: "reconfig_data_format_srcb",
    PACK: "pack_reconfig_data_format",
}
_DATA_FORMAT = re.compile(r"DataFormat::(\w+)")
REDUCE, UNMASK = "ttkernel.reduce_tile", "ttkernel.reduce_uninit"


def apply(op: ModuleOp) -> None:
    chip = _Chip(_tile_calls(target_of(op).device_api), frozenset(_unpacked_to_dst(op)))
    for kernel in kernels(op, "compute"):
        _insert(kernel, chip)


def _unpacked_to_dst(module: ModuleOp) -> list[str]:
    return [
        op.sym_name.data
        for op in module.ops
        if isinstance(op, ttl.DeclareBufferOp) and "unpack_to_dest_fp32" in op.properties
    ]


@dataclass(frozen=True, slots=True)
class _Chip:
    """The chip's calls by name, and the buffers that are unpacked straight to DST."""

    calls: dict[str, TileCall]
    unpacked_to_dst: frozenset[str]

    def format_of(self, buffer: SSAValue) -> tuple[str, bool]:
        """Return the configuration a source or the packer needs to read or write the buffer."""
        assert isinstance(buffer.type, ttkernel.CBType)
        return buffer.type.data_format.data, buffer.type.buffer.data in self.unpacked_to_dst


@lru_cache(maxsize=8)
def _tile_calls(api: str) -> dict[str, TileCall]:
    """Return the table's tile calls by name in the dialect, and by template if it matters."""
    forms = [op.tile[api] for op in TILE_OPS.values() if api in op.tile]
    others = [COPY, FILL, FILL_WHOLE, DUPLICATE]
    found: dict[str, TileCall] = {}
    for tile_call in (*others, *(each for form in forms for each in form.calls)):
        name = f"ttkernel.{tile_call.call}"
        found[name] = tile_call
        found.setdefault(name.partition("<")[0], tile_call)
    return found


def _call_of(op: Operation, chip: _Chip) -> TileCall | None:
    template = op.properties.get("template")
    if isinstance(template, StringAttr):
        of_any_format = _DATA_FORMAT.sub("DataFormat::{format}", template.data)
        for spelled in (template.data, of_any_format):
            if (found := chip.calls.get(f"{op.name}<{spelled}>")) is not None:
                return found
    return chip.calls.get(op.name)


def _insert(kernel: func.FuncOp, chip: _Chip) -> None:
    body = kernel.body.block
    needs: Needs = {}
    needed = find_settings(body, partial(_needs, chip), needs)
    if not needed:
        return
    holds = _startup(body, needed, chip) | {RELU: False}
    insert_settings(body, needs, holds)
    if holds.get(RELU) is not False and body.last_op is not None:
        ensure(_relu(body.last_op, False), holds, body.last_op)  # rule RELU


def _startup(body: Block, needed: list[Setting], chip: _Chip) -> Holds:
    """Insert the startup call; return the formats it sets (rule STARTUP)."""
    by_unit = {setting.unit: setting for setting in reversed(needed)}
    known = [by_unit[unit] for unit in (SRCA, SRCB, PACK) if unit in by_unit]
    if not known:  # registers are used, but nothing is read or stored
        return {}
    pack = by_unit.get(PACK, known[0])
    first = by_unit.get(SRCA, pack)
    second = by_unit.get(SRCB, first)
    if _adds_integers(first) != _adds_integers(second):
        second = first  # rule INTEGERS
    product = _call_of(second.origin, chip)
    reverse = product is not None and _is_product(product)
    sources = [first.arguments[0], second.arguments[0]]
    if reverse:  # the product's left operand feeds the second source
        sources.reverse()
    make = Maker.before(_first_call(body), needed[0].origin)
    order = "<SrcOrder::Reverse>" if reverse else ""
    call(make, f"compute_kernel_hw_startup{order}", *sources, pack.arguments[0])
    holds = {unit: by_unit[unit].key for unit in (SRCA, SRCB, PACK) if unit in by_unit}
    return holds | ({SRCB: second.key} if SRCB in holds else {})


def _adds_integers(source: Setting) -> bool:
    buffer = source.arguments[0].type
    assert isinstance(buffer, ttkernel.CBType)
    return buffer.data_format.data in ("Int32", "UInt8")


def _first_call(body: Block) -> Operation:
    arguments = [op for op in body.ops if isinstance(op, ttkernel.CompileTimeArgOp)]
    following = arguments[-1].next_op
    assert following is not None
    return following


def _needs(chip: _Chip, op: Operation) -> Iterator[Setting]:
    """Return the settings a call needs, formats before inits."""
    if op.name == "ttkernel.pack_tile":
        yield _format(PACK, op.operands[1], op, chip)
        yield _relu(op, "relu" in op.attributes)
        return
    if op.name == UNMASK:
        yield Setting(UNPACK, UNMASK, "", (), op)
        return
    tile_call = _call_of(op, chip)
    if tile_call is None:
        return
    buffers = [v for v in op.operands if isinstance(v.type, ttkernel.CBType)]
    formats = tuple(chip.format_of(buffer) for buffer in buffers)
    is_matmul = _is_product(tile_call)
    positions = [position for position in tile_call.sources if position < len(buffers)]
    sources = buffers[::-1] if is_matmul else [buffers[position] for position in positions]
    if "_reuse_dest_" in tile_call.call:
        sources = [*buffers, *buffers]  # an operand from DST counts as having the buffer's format
    for unit, buffer in zip((SRCA, SRCB), sources, strict=False):
        yield _format(unit, buffer, op, chip)
    if not buffers:
        init = _spell_init(tile_call.init, op)
        yield Setting(SFPU, init, init, (), op)
    elif is_matmul:
        arguments = (*buffers, *op.operands[5:])
        sizes = [each.owner.properties["value"] for each in op.operands[5:]]  # type: ignore[union-attr]
        key = (tile_call.init, formats, *sizes)
        yield Setting(UNPACK, key, tile_call.init, arguments, op)
    else:
        packed = [_next_pack(op).operands[1]] if op.name == REDUCE else []
        arguments = (*buffers, *packed)
        yield Setting(UNPACK, (tile_call.init, formats), tile_call.init, arguments, op)


def _spell_init(init: str, op: Operation) -> str:
    """Return the init; if it names a data format, that of the call."""
    template = op.properties.get("template")
    if "{format}" not in init or not isinstance(template, StringAttr):
        return init
    named = _DATA_FORMAT.search(template.data)
    assert named is not None
    return init.replace("{format}", named[1])


def _next_pack(op: Operation) -> Operation:
    """Return the pack of a reduction's result: the first after it."""
    following = dropwhile(lambda other: other is not op, walk(kernel_of(op)))
    pack = next((other for other in following if other.name == "ttkernel.pack_tile"), None)
    assert pack is not None, "a reduction that is not packed"
    return pack


def _is_product(call: TileCall) -> bool:
    forms = MATMUL.tile.values()
    return any(call in (form.from_buffers, form.by_tile) for form in forms)


def _relu(op: Operation, is_on: bool) -> Setting:
    kind = "zero" if is_on else "none"
    return Setting(RELU, is_on, "pack_relu_config", (), op, (f"ReluConfig::{kind}()",))


def _format(unit: str, buffer: SSAValue, op: Operation, chip: _Chip) -> Setting:
    name, to_dst = chip.format_of(buffer)
    key = (name, to_dst and unit != PACK)
    return Setting(unit, key, RECONFIGURE[unit], (buffer,), op)
