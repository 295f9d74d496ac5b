"""Dataflow buffers that the compiler adds, for values that do not stay in registers.

Such a buffer has the format of the registers, so storing a value there changes no bit. The kernel
that computes the value is both producer and consumer.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import BoolAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import SSAValue

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import NARROW, DType, float32, int32
from ttl.semantics.kernel_config import dest_dtype
from ttl.semantics.types import Shape

from ..module_pass import Maker, first_after_bindings

TF32 = "ttl.tf32"  # on a compute kernel: f32 blocks may lose digits when they are unpacked
FP32 = "fp32_dest_acc_en"


@dataclass(frozen=True, slots=True)
class CompilerBuffers:
    """Creates compiler buffers for one kernel."""

    module: ModuleOp
    kernel: func.FuncOp

    @property
    def dtype(self) -> DType:
        return dest_dtype(bool(self.kernel.attributes[FP32]), buffer_dtypes(self.kernel))

    @property
    def users_dtypes(self) -> set[DType]:
        """The element types of the user's buffers."""
        declarations = (op for op in self.module.ops if isinstance(op, ttl.DeclareBufferOp))
        compilers = {op.sym_name for op in declarations if op.compiler_allocated is not None}
        return {
            op.result.type.tile.dtype
            for op in self.kernel.body.block.ops
            if isinstance(op, ttl.BindBufferOp) and op.buffer.root_reference not in compilers
        }

    @property
    def unpacks_to_dst(self) -> bool:
        """Are f32 buffers unpacked straight to the registers? The way through the sources keeps 10
        mantissa digits: enough if all of the user's buffers have 16-bit floats, or if the user
        allows it. Integers have no other way.
        """
        is_exact = TF32 not in self.kernel.attributes
        is_wide = any(
            (is_exact and dtype == float32) or not dtype.is_float for dtype in self.users_dtypes
        )
        return is_wide and bool(self.kernel.attributes[FP32])

    def dtype_of(self, value: SSAValue) -> DType:
        """Return a value's type in registers: narrow integers become int32, others stay."""
        dtype = block_type(value.type.block if isinstance(value.type, ttl.DstType) else value.type)
        found = dtype.dtype
        if found is None or found.is_float:
            return self.dtype
        return int32 if found in NARROW else found

    def make(
        self,
        shape: Shape,
        hint: str | None,
        block_count: int = 1,
        dtype: DType | None = None,
        is_copied: bool = False,
    ) -> SSAValue:
        """Return the kernel's handle of a new buffer of blocks of `shape`, named after a value.

        After ttl-set-compute-kernel-config, the caller must pass `is_copied` for a copied buffer.
        """
        declarations = [op for op in self.module.ops if isinstance(op, ttl.DeclareBufferOp)]
        name = _unused_name(hint, {declaration.sym_name.data for declaration in declarations})
        type = ttl.DataflowBufferType.of(shape, dtype or self.dtype, block_count)
        declaration = ttl.DeclareBufferOp.create(
            properties={
                "sym_name": StringAttr(name),
                "type": type,
                "compiler_allocated": UnitAttr(),
            }
        )
        if is_copied and type.tile.dtype == float32 and bool(self.kernel.attributes[FP32]):
            declaration.properties["unpack_to_dest_fp32"] = BoolAttr.from_bool(True)
        body = self.module.body.block
        if declarations:
            body.insert_op_after(declaration, declarations[-1])
        else:
            body.insert_op_before(declaration, body.first_op)  # type: ignore[arg-type]
        return self._bind(name, type)

    def _bind(self, name: str, type: ttl.DataflowBufferType) -> SSAValue:
        make = Maker.before(first_after_bindings(self.kernel), self.kernel)
        return make.new(ttl.BindBufferOp, (), type, name, buffer=SymbolRefAttr(name))


def buffer_dtypes(kernel: func.FuncOp) -> set[DType]:
    """Return the element types of all buffers; the compiler's follow from the user's."""
    return {
        op.result.type.tile.dtype
        for op in kernel.body.block.ops
        if isinstance(op, ttl.BindBufferOp)
    }


def _unused_name(hint: str | None, names: set[str]) -> str:
    base = f"{(hint or 'value').removesuffix('_dfb')}_kept"
    name, number = base, 2
    while name in names:
        name, number = f"{base}_{number}", number + 1
    return name


def reserve(buffer: SSAValue, make: Maker) -> SSAValue:
    return _acquire(ttl.ReserveOp, buffer, make)


def wait(buffer: SSAValue, make: Maker) -> SSAValue:
    return _acquire(ttl.WaitOp, buffer, make)


def _acquire(kind: type[ttl.AcquireOp], buffer: SSAValue, make: Maker) -> SSAValue:
    assert isinstance(buffer.type, ttl.DataflowBufferType)
    return make.new(kind, [buffer], buffer.type.block, buffer.name_hint)


def push(buffer: SSAValue, make: Maker) -> None:
    make.add(ttl.PushOp.create(operands=[buffer]))


def pop(buffer: SSAValue, make: Maker) -> None:
    make.add(ttl.PopOp.create(operands=[buffer]))


def shape_of(value: SSAValue) -> Shape:
    """Return the shape of a block, or of one in registers."""
    type = value.type.block if isinstance(value.type, ttl.DstType) else value.type
    return block_type(type).shape or ()
