"""ttl-set-compute-kernel-config: how wide the registers are, and how many a section has.

Explicit choices of the operation win. 32 bits: the rule in semantics/kernel_config. Full sync:
when a section needs more registers than half of them. f32 buffers are unpacked straight to DST:
the other way loses bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ttl.dialects import ttl
from ttl.semantics.dtypes import DType, float32
from ttl.semantics.kernel_config import needs_fp32_dest
from ttl.semantics.ops import MATMUL

from .dst_allocation import allocate
from .module_pass import kernels, not_yet, target_of

FP32 = "fp32_dest_acc_en"
FULL_SYNC = "dst_full_sync_en"


@dataclass(frozen=True)
class TtlSetComputeKernelConfig(ModulePass):
    name = "ttl-set-compute-kernel-config"

    fp32_dest_acc_en: bool | None = None
    dst_full_sync_en: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op, "compute"):
            fp32 = needs_fp32_dest(
                _explicit(self.fp32_dest_acc_en, kernel, FP32),
                any(_is_matmul(o) for o in kernel.walk()),
                _buffer_dtypes(kernel),
            )
            kernel.attributes[FP32] = BoolAttr.from_bool(fp32)
            full_sync = _explicit(self.dst_full_sync_en, kernel, FULL_SYNC)
            if full_sync is None:
                full_sync = _needs_full_sync(kernel, op, fp32)
            kernel.attributes[FULL_SYNC] = BoolAttr.from_bool(full_sync)
            _set_unpack_modes(op, kernel)


def _explicit(option: bool | None, kernel: func.FuncOp, name: str) -> bool | None:
    if option is not None or name not in kernel.attributes:
        return option
    return bool(kernel.attributes[name])


def _buffer_dtypes(kernel: func.FuncOp) -> Iterator[DType]:
    for op in kernel.walk():
        if isinstance(op, ttl.BindBufferOp):
            yield op.result.type.tile.dtype


def _is_matmul(op: object) -> bool:
    return isinstance(op, ttl.TileMathOp) and op.ENTRY is MATMUL


def _needs_full_sync(kernel: func.FuncOp, module: ModuleOp, fp32: bool) -> bool:
    target = target_of(module)
    sizes = [
        allocate(o, target.device_api).size for o in kernel.walk() if isinstance(o, ttl.ComputeOp)
    ]
    return max(sizes, default=0) > target.dst_capacity(fp32=fp32, full_sync=False)


def _set_unpack_modes(module: ModuleOp, kernel: func.FuncOp) -> None:
    copied: set[str] = set()
    multiplied: dict[str, Operation] = {}
    for op in kernel.walk():
        if isinstance(op, ttl.TileCopyOp):
            copied.add(_buffer_name(op.source))
        elif _is_matmul(op):
            multiplied |= {_buffer_name(value): op for value in op.operands[:2]}
    for declaration in module.ops:
        if not isinstance(declaration, ttl.DeclareBufferOp):
            continue
        name = declaration.sym_name.data
        if declaration.type.tile.dtype != float32 or name not in copied:
            continue
        if name in multiplied:
            raise not_yet(
                f"f32 buffer `{name}` read both by a matrix product and by other operations",
                multiplied[name],
                "copy the tensor into a second dataflow buffer for the other operations",
            )
        declaration.properties["unpack_to_dest_fp32"] = BoolAttr.from_bool(True)


def _buffer_name(block: object) -> str:
    bind = ttl.buffer_of(block).owner  # type: ignore[arg-type]
    assert isinstance(bind, ttl.BindBufferOp)
    return bind.buffer.root_reference.data
