"""ttkernel-insert-inits: what must be configured before a compute call, as rarely as is legal.

The engines of a node keep their last configuration: matrix unit and unpacker together (UNPACK),
vector unit (SFPU), the data formats of the two sources and of the packer, and whether the packer
adds (SUM). Of buffers only the format counts, and whether they are unpacked straight to DST. Each
call needs certain settings; a setting is emitted only where it may differ from what holds there.
rule STARTUP  compute_kernel_hw_startup comes first, once, and sets the formats of the first calls.
rule INTEGERS one switch has the matrix unit, which copies too, add integers; it follows the source
              that was set up last, and at startup it is on if either is one. So both start alike.
rule HOIST    a setting that everything in a loop agrees on is made before the loop.
rule LOOP     any other setting is unknown when an iteration starts: the last one ended elsewhere.
rule MASK     reduce_init masks the packer until reduce_uninit, after which it is needed again.
rule SUM      the packer overwrites when a kernel starts, and again when it ends.
rule BRANCH   after a branch holds what held before it and at the end of both of its sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ttl.dialects import ttkernel, ttl
from ttl.dialects.building import walk
from ttl.semantics.ops import COPY, DUPLICATE, FILL, FILL_WHOLE, MATMUL, TILE_OPS, TileCall

from ..module_pass import Maker, kernel_of, kernels, target_of
from .kernel_calls import call

UNPACK, SFPU, SRCA, SRCB, PACK = "unpack", "sfpu", "srca", "srcb", "pack"
SUM = "sum"  # whether the packer adds to what is in L1
RECONFIGURE = {
    SRCA: "reconfig_data_format_srca",
    SRCB: "reconfig_data_format_srcb",
    PACK: "pack_reconfig_data_format",
}
_DATA_FORMAT = re.compile(r"DataFormat::(\w+)")
REDUCE, UNMASK = "ttkernel.reduce_tile", "ttkernel.reduce_uninit"


@dataclass(frozen=True, slots=True)
class Setting:
    """`unit` is set up for `key` by a call of `function`, or by what is there if that is empty.

    Its arguments are values and, after them, C++ texts.
    """

    unit: str
    key: object
    function: str
    arguments: tuple[SSAValue, ...]
    origin: Operation
    literals: tuple[str, ...] = ()


Needs = dict[Operation, list[Setting]]


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
    """Its calls, by name, and the buffers that are unpacked straight to DST."""

    calls: dict[str, TileCall]
    unpacked_to_dst: frozenset[str]

    def format_of(self, buffer: SSAValue) -> tuple[str, bool]:
        """What a source or the packer is set up for to read or write it."""
        assert isinstance(buffer.type, ttkernel.CBType)
        return buffer.type.data_format.data, buffer.type.buffer.data in self.unpacked_to_dst


@lru_cache(maxsize=8)
def _tile_calls(api: str) -> dict[str, TileCall]:
    """The table's tile calls by their name in the dialect, and by their template if it matters."""
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
    needed = _settings(body, chip, needs)
    if not needed:
        return
    holds = _startup(body, needed, chip) | {SUM: False}
    _walk(body, needs, holds)
    if holds.get(SUM) is not False and body.last_op is not None:
        _ensure(_summing(body.last_op, False), holds, body.last_op)  # rule SUM


def _summing(op: Operation, adds: bool) -> Setting:
    return Setting(SUM, adds, "pack_reconfig_l1_acc", (), op, (str(int(adds)),))


def _startup(body: Block, needed: list[Setting], chip: _Chip) -> dict[str, object]:
    """rule STARTUP; the formats that hold afterwards."""
    by_unit = {setting.unit: setting for setting in reversed(needed)}
    known = [by_unit[unit] for unit in (SRCA, SRCB, PACK) if unit in by_unit]
    if not known:  # the registers are used and nothing is read or stored
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
    make = Maker(InsertPoint.before(_first_call(body)), needed[0].origin)
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


def _walk(block: Block, needs: Needs, holds: dict[str, object]) -> None:
    for op in list(block.ops):
        if isinstance(op, scf.IfOp):
            _enter_branches(op, needs, holds)
        elif op.regions:
            _enter_loop(op, needs, holds)
        else:
            for setting in needs.get(op, ()):  # the startup needs nothing
                _ensure(setting, holds, op)


def _enter_branches(op: Operation, needs: Needs, holds: dict[str, object]) -> None:
    """rule BRANCH"""
    ends = []
    for region in op.regions:
        inside = dict(holds)
        for block in region.blocks:
            _walk(block, needs, inside)
        ends.append(inside)
    for unit in list(holds):
        if any(end.get(unit) != holds[unit] for end in ends):
            del holds[unit]


def _enter_loop(loop: Operation, needs: Needs, holds: dict[str, object]) -> None:
    bodies = [block for region in loop.regions for block in region.blocks]
    by_unit: dict[str, dict[object, Setting]] = {}
    for setting in needs[loop]:
        by_unit.setdefault(setting.unit, {}).setdefault(setting.key, setting)
    for unit, settings in by_unit.items():
        if len(settings) == 1:
            _ensure(next(iter(settings.values())), holds, loop)  # rule HOIST
        else:
            holds.pop(unit, None)  # rule LOOP
    inside = dict(holds)
    for body in bodies:
        _walk(body, needs, inside)
    for unit, settings in by_unit.items():
        if len(settings) > 1:
            holds.pop(unit, None)  # the loop may run no iteration at all


def _ensure(setting: Setting, holds: dict[str, object], before: Operation) -> None:
    if holds.get(setting.unit) == setting.key:
        return
    holds[setting.unit] = setting.key
    if not setting.function:
        return
    make = Maker(InsertPoint.before(before), setting.origin)
    arguments = [_available(value, before) for value in setting.arguments]
    call(make, setting.function, *arguments, literals=setting.literals)


def _available(value: SSAValue, before: Operation) -> SSAValue:
    """Sizes given to an init are constants: they are made again where the init goes."""
    if isinstance(value.type, ttkernel.CBType):
        return value
    assert isinstance(value.owner, Operation)
    return Maker(InsertPoint.before(before), before).value(value.owner.clone())


def _settings(block: Block, chip: _Chip, needs: Needs) -> list[Setting]:
    """What a block needs in all; `needs` gets what each of its operations needs."""
    found: list[Setting] = []
    for op in block.ops:
        if op.regions:
            bodies = [body for region in op.regions for body in region.blocks]
            needs[op] = [each for body in bodies for each in _settings(body, chip, needs)]
        else:
            needs[op] = list(_needs(op, chip))
        found += needs[op]
    return found


def _needs(op: Operation, chip: _Chip) -> Iterator[Setting]:
    """The settings a call needs, formats before inits."""
    if op.name == "ttkernel.pack_tile":
        yield _format(PACK, op.operands[1], op, chip)
        yield _summing(op, "accumulate" in op.attributes)
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
        sources = [*buffers, *buffers]  # what comes from DST is taken for the buffer's format
    for unit, buffer in zip((SRCA, SRCB), sources, strict=False):
        yield _format(unit, buffer, op, chip)
    if not buffers:
        init = _spelled(tile_call.init, op)
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


def _spelled(init: str, op: Operation) -> str:
    """An init that names a data format names that of the call."""
    template = op.properties.get("template")
    if "{format}" not in init or not isinstance(template, StringAttr):
        return init
    named = _DATA_FORMAT.search(template.data)
    assert named is not None
    return init.replace("{format}", named[1])


def _next_pack(op: Operation) -> Operation:
    """The pack of what a reduction gives: the first after it."""
    following = dropwhile(lambda other: other is not op, walk(kernel_of(op)))
    pack = next((other for other in following if other.name == "ttkernel.pack_tile"), None)
    assert pack is not None, "a reduction that is not packed"
    return pack


def _is_product(call: TileCall) -> bool:
    forms = MATMUL.tile.values()
    return any(call in (form.from_buffers, form.by_tile) for form in forms)


def _format(unit: str, buffer: SSAValue, op: Operation, chip: _Chip) -> Setting:
    name, to_dst = chip.format_of(buffer)
    key = (name, to_dst and unit != PACK)
    return Setting(unit, key, RECONFIGURE[unit], (buffer,), op)
