"""ttl-set-compute-kernel-config: choose register width, registers per section and math fidelity.

Explicit choices of the operation win. For 32 bits and fidelity, see the rules in
semantics/kernel_config. Full sync is on if a section needs more than half of the registers. The
unpacker moves f32 buffers straight to DST if the user has such buffers, and always for values that
the compiler keeps and only copies back: the other way loses bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import BoolAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import DType, float32
from ttl.semantics.kernel_config import Product, Sum, dest_dtype, math_fidelity, needs_fp32_dest

from ..module_pass import kernels, not_yet, target_of
from .arranged_tiles import is_arranged, is_masked, is_matmul, is_reduction
from .compiler_buffers import FP32, CompilerBuffers, buffer_dtypes
from .dst_allocation import allocate, is_whole, section_shape

FULL_SYNC = "dst_full_sync_en"
FIDELITY = "math_fidelity"


def apply(
    op: ModuleOp, *, fp32_dest_acc_en: bool | None = None, dst_full_sync_en: bool | None = None
) -> None:
    for kernel in kernels(op, "compute"):
        decide_fp32(kernel, fp32_dest_acc_en)
        fp32 = bool(kernel.attributes[FP32])
        full_sync = _explicit(dst_full_sync_en, kernel, FULL_SYNC)
        if full_sync is None:
            full_sync = _needs_full_sync(kernel, op, fp32)
        kernel.attributes[FULL_SYNC] = BoolAttr.from_bool(full_sync)
        if FIDELITY not in kernel.attributes:
            results = CompilerBuffers(op, kernel).users_dtypes
            kernel.attributes[FIDELITY] = StringAttr(math_fidelity(_products(kernel), results))
        _set_unpack_modes(op, kernel)


def decide_fp32(kernel: func.FuncOp, option: bool | None = None) -> None:
    """Set the register width, which sections are formed for."""
    fp32 = needs_fp32_dest(
        _explicit(option, kernel, FP32),
        sums_of(kernel),
        (*buffer_dtypes(kernel), *_cast_integers(kernel)),
    )
    kernel.attributes[FP32] = BoolAttr.from_bool(fp32)


def sums_of(kernel: func.FuncOp) -> Iterator[Sum]:
    for op in walk(kernel):
        if is_matmul(op):
            yield Sum.MATMUL
        elif is_reduction(op):
            yield Sum.REDUCTION


def _cast_integers(kernel: func.FuncOp) -> Iterator[DType]:
    for op in walk(kernel):
        if isinstance(op, ttl.BlockMathOp) and op.ENTRY.name == "typecast":
            dtype = block_type(op.result.type).dtype
            if dtype is not None and not dtype.is_float:
                yield dtype


def _explicit(option: bool | None, kernel: func.FuncOp, name: str) -> bool | None:
    if option is not None or name not in kernel.attributes:
        return option
    return bool(kernel.attributes[name])


def _products(kernel: func.FuncOp) -> Iterator[Product]:
    """List the matrix unit's products. A factor in a register counts with the register's width."""
    width = dest_dtype(bool(kernel.attributes[FP32]), buffer_dtypes(kernel))
    for op in walk(kernel):
        if not isinstance(op, ttl.TileMathOp) or not op.ENTRY.multiplies:
            continue
        factors = op.inputs[:2]  # a third operand is what the product is added to
        dtypes = [_dtype_in_buffer(value) for value in factors]
        if any(dtypes):  # otherwise the vector unit multiplies
            yield Product(is_matmul(op), tuple(dtype or width for dtype in dtypes))


def _dtype_in_buffer(value: SSAValue) -> DType | None:
    return None if isinstance(value.type, ttl.DstType) else block_type(value.type).dtype


def _needs_full_sync(kernel: func.FuncOp, module: ModuleOp, fp32: bool) -> bool:
    """Does a section that works on whole blocks need more than half of the registers?"""
    target = target_of(module)
    sizes = [
        allocate(o, target.device_api).size * prod(section_shape(o))
        for o in walk(kernel)
        if isinstance(o, ttl.ComputeOp) and is_whole(o)
    ]
    return max(sizes, default=0) > target.dst_capacity(fp32=fp32, full_sync=False)


def _set_unpack_modes(module: ModuleOp, kernel: func.FuncOp) -> None:
    """Unpack copied f32 buffers straight to 32-bit registers; others cannot or need not."""
    if not bool(kernel.attributes[FP32]):
        return
    copied, arranged, multiplied = _reads(kernel)
    is_exact = CompilerBuffers(module, kernel).unpacks_to_dst
    for declaration in module.ops:
        if not isinstance(declaration, ttl.DeclareBufferOp):
            continue
        name = declaration.sym_name.data
        if declaration.type.tile.dtype != float32 or name not in copied | arranged:
            continue
        if not is_exact and (
            declaration.compiler_allocated is None or name in arranged | multiplied
        ):
            continue
        if name in multiplied:
            raise not_yet(
                f"f32 buffer `{name}` read both by the matrix unit and by copies",
                declaration,
                "copy the tensor into a second dataflow buffer for the other operations",
            )
        declaration.properties["unpack_to_dest_fp32"] = BoolAttr.from_bool(True)


def _reads(kernel: func.FuncOp) -> tuple[set[str], set[str], set[str]]:
    """Return the buffers that are copied to registers, those rearranged on the way there, and those
    that the matrix unit reads."""
    copied: set[str] = set()
    arranged: set[str] = set()
    multiplied: set[str] = set()
    for op in walk(kernel):
        if isinstance(op, ttl.TileCopyOp):
            copied.add(ttl.buffer_name_of(op.source))
        elif isinstance(op, ttl.TileMathOp):
            blocks = [value for value in op.inputs if not isinstance(value.type, ttl.DstType)]
            is_moved = is_arranged(op) and not is_masked(op)
            (arranged if is_moved else multiplied).update(map(ttl.buffer_name_of, blocks))
    return copied, arranged, multiplied
