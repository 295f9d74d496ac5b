"""ttl-insert-intermediate-dfbs: add a compiler buffer for each value that must be read in a buffer.

The attribute `kept_in` of the operation that makes the value names the buffer; the pass that makes
sections decides when the value goes there. It also gives buffers to results of loops and branches.

rule FACTOR  an operand of a matrix product, a reduction, a broadcast or a transposition.
rule ROUND   a value that is rounded to another format before something else is computed with it:
             the packer rounds.
rule MASK    a reduction before anything is computed with it: the packer clears the parts of tiles
             outside the result.
rule WIDE    an f32 buffer is unpacked in one of two ways, to the registers or to the matrix unit: a
             value that is read in both ways is in two buffers, the second one for the matrix unit.
rule ONCE    such a value is made before the loops in which it does not change.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import float32

from ..module_pass import Maker, erase, first_after_bindings, kernels
from .arranged_tiles import is_arranged, is_masked, operands_in_buffers, reads_by_matrix_unit
from .compiler_buffers import CompilerBuffers, shape_of
from .section_builder import is_rounding
from .ttl_name_block_values import share_common_values
from .ttl_set_compute_kernel_config import decide_fp32

KEPT_IN = "kept_in"
WAYS = ("copied", "multiplied")  # ways of reading a buffer; "multiplied" is the matrix unit's


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        decide_fp32(kernel)
        _hoist(kernel)
        share_common_values(kernel.body.block)
        _insert(kernel, CompilerBuffers(op, kernel))


def _hoist(kernel: func.FuncOp) -> None:
    """Move unchanging values out of loops (rule ONCE), scales of reductions to the start."""
    start = first_after_bindings(kernel)
    for op in list(kernel.walk()):
        for value in _read_in_buffers(op):
            owner = value.owner
            if is_masked(op) and isinstance(owner, ttl.FillOp) and not owner.operands:
                _move(owner, start)
            elif isinstance(owner, (ttl.BlockMathOp, ttl.FillOp)):
                _move_out(owner)


def _move_out(op: ttl.BlockMathOp | ttl.FillOp) -> None:
    loop = op.parent_op()
    while isinstance(loop, (scf.ForOp, scf.WhileOp)) and not _changes_in(loop, op):
        _move(op, loop)
        loop = op.parent_op()


def _changes_in(loop: Operation, op: ttl.BlockMathOp | ttl.FillOp) -> bool:
    return any(loop.is_ancestor(operand.owner) for operand in op.operands)


def _move(op: Operation, before: Operation) -> None:
    if op is not before:
        op.detach()
        Maker.before(before).add_as_it_is(op)


def _insert(kernel: func.FuncOp, buffers: CompilerBuffers) -> None:
    ways: dict[SSAValue, set[bool]] = {}
    copied = copied_buffers(kernel)
    for op in walk(kernel):
        way = buffers.unpacks_to_dst and reads_by_matrix_unit(op)
        for value in filter(has_buffer, _read_in_buffers(op)):
            is_copied = isinstance(value.owner, ttl.WaitOp) and value.owner.buffer in copied
            is_computed = not isinstance(value.owner, ttl.WaitOp)
            if is_computed or (way and is_copied and block_type(value.type).dtype == float32):
                ways.setdefault(value, set()).add(way)
    for value, found in ways.items():
        names = {WAYS[way]: _name_of(new_buffer(value, buffers)) for way in sorted(found)}
        value.owner.attributes[KEPT_IN] = DictionaryAttr(names)  # type: ignore[union-attr]


def has_buffer(value: SSAValue) -> bool:
    """Does this pass insert a buffer for the value, if it is read in one?"""
    return isinstance(value.owner, (ttl.BlockMathOp, ttl.FillOp, ttl.WaitOp))


def new_buffer(value: SSAValue, buffers: CompilerBuffers) -> SSAValue:
    """Make a compiler buffer for the value; return the kernel's handle."""
    dtype = buffers.dtype_of(value)
    if is_rounding(value.owner):
        dtype = block_type(value.type).dtype or dtype
    return buffers.make(shape_of(value), value.name_hint, dtype=dtype)


def _name_of(buffer: SSAValue) -> SymbolRefAttr:
    assert isinstance(buffer.owner, ttl.BindBufferOp)
    return buffer.owner.buffer


def buffer_of(value: SSAValue, way: bool, kernel: func.FuncOp) -> SSAValue | None:
    """Return the buffer that was inserted for the value."""
    kept = value.owner.attributes.get(KEPT_IN) if isinstance(value.owner, Operation) else None
    name = kept.data.get(WAYS[way]) if isinstance(kept, DictionaryAttr) else None
    binds = (op for op in kernel.body.block.ops if isinstance(op, ttl.BindBufferOp))
    return next((bind.result for bind in binds if bind.buffer == name), None)


def drop_unused(module: ModuleOp, kernel: func.FuncOp) -> None:
    """Erase the compiler's buffers for values that were computed in another way."""
    binds = [op for op in kernel.body.block.ops if isinstance(op, ttl.BindBufferOp)]
    unused = {bind.buffer.root_reference: bind for bind in binds if not list(bind.result.uses)}
    for op in list(module.ops):
        if not isinstance(op, ttl.DeclareBufferOp) or op.compiler_allocated is None:
            continue
        if op.sym_name in unused:
            erase(unused[op.sym_name])
            erase(op)


def _read_in_buffers(op: Operation) -> list[SSAValue]:
    if isinstance(op, ttl.StoreOp):
        return [op.value] if is_packed_before(op) else []
    if not isinstance(op, ttl.BlockMathOp):
        return []
    return [value for value in op.inputs if reads_in_buffer(op, value)]


def reads_in_buffer(op: ttl.BlockMathOp, operand: SSAValue) -> bool:
    """Does the operation read this operand in a buffer? (rule FACTOR, ROUND and MASK)"""
    if operand in operands_in_buffers(op):
        return True
    return not is_arranged(op) and (is_rounding(operand.owner) or is_masked(operand.owner))


def is_packed_before(store: ttl.StoreOp) -> bool:
    """Is the value packed before it is stored? (rule ROUND; rule MASK if the packer adds)"""
    if is_rounding(store.value.owner):
        return store.view.type != store.value.type
    return store.accumulate is not None and is_masked(store.value.owner)


def copied_buffers(kernel: func.FuncOp) -> set[SSAValue]:
    """Return the buffers whose blocks have readers other than matrix products."""
    found: set[SSAValue] = set()
    for op in walk(kernel):
        if isinstance(op, ttl.AcquireOp):
            for use in op.block.uses:
                user = use.operation
                is_factor = reads_by_matrix_unit(user)
                if not is_factor and (not isinstance(user, ttl.StoreOp) or use.index == 0):
                    found.add(op.buffer)
    return found
