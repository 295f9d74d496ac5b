"""A whole program: one module with its buffers and one function for each kernel."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Region

from ttl.diagnostics import CompileError, Diagnostic, RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.locations import location_of
from ttl.dialects.ttcore import tensor_of
from ttl.language import DataflowBuffer
from ttl.language.operation import KernelFunction, Program
from ttl.semantics.dtypes import DType, bfloat16, float32
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.layout import TILE_LAYOUT, Layout, layout_of
from ttl.semantics.types import tiles_of
from ttl.target import Target

from .builder import KernelBuilder, buffer_type, not_yet, value_name
from .statements import build_kernel


def build_module(program: Program, target: Target) -> ModuleOp:
    """The ttl module of a program, or CompileError with every mistake found."""
    if program.kernels_by_node:
        broken = not_yet("an operation body that asks for ttl.node()")
        raise CompileError(broken.at(None))
    if len(program.grid) != 2:
        raise CompileError(_unsupported_grid(program).at(None))
    mistakes: list[Diagnostic] = _uncompiled_types(program)
    if mistakes:
        raise CompileError(*mistakes)
    kernels = [_build_function(program, kernel, target, mistakes) for kernel in program.kernels]
    if mistakes:
        raise CompileError(*mistakes)
    for kernel, thread in zip(kernels, _threads(program), strict=True):
        kernel.attributes["ttl.kernel_thread"] = StringAttr(thread)
    attributes = {
        "ttl.launch_grid": ArrayAttr([IntegerAttr(size, i64) for size in program.grid]),
        "ttl.target_arch": StringAttr(target.name),
    }
    declarations = [_declare(buffer) for buffer in program.buffers]
    return ModuleOp([*declarations, *kernels], attributes)


def _uncompiled_types(program: Program) -> list[Diagnostic]:
    """Tensors and buffers of types and layouts that have no lowering yet."""
    tensors = [
        not_yet(f"{wanting} of argument `{name}`").at(None)
        for name, tensor in program.tensors.items()
        if (wanting := _not_compiled(tensor.dtype, layout_of(tensor)))
    ]
    buffers = [
        not_yet(f"{wanting} of dataflow buffer `{buffer.name}`").at(buffer.span)
        for buffer in program.buffers
        if (wanting := _not_compiled(buffer.dtype, buffer.layout))
    ]
    return tensors + buffers


def _not_compiled(dtype: DType, layout: Layout) -> str | None:
    if layout is not TILE_LAYOUT:
        return f"the {layout.name} layout"
    return None if dtype in (bfloat16, float32) else f"the element type {dtype}"


def _unsupported_grid(program: Program) -> RuleBroken:
    return RuleBroken(
        codes.MULTI_DEVICE_GRID,
        f"{program.operation.__name__} has a grid of {len(program.grid)} dimensions; only grids of "
        "two are compiled",
        helps=("run it on the simulator, or once for each device on a 2-D grid (SPMD)",),
    )


def _threads(program: Program) -> list[str]:
    """The first data movement kernel is the reader, the second the writer."""
    movement = iter(("reader", "writer"))
    return [
        "compute" if kernel.kind is KernelKind.COMPUTE else next(movement)
        for kernel in program.kernels
    ]


def _declare(buffer: DataflowBuffer) -> ttl.DeclareBufferOp:
    declaration = ttl.DeclareBufferOp.create(
        properties={"sym_name": StringAttr(buffer.name), "type": buffer_type(buffer)}
    )
    if buffer.span is not None:
        declaration.location = location_of(buffer.span)
    return declaration


def _build_function(
    program: Program, kernel: KernelFunction, target: Target, mistakes: list[Diagnostic]
) -> func.FuncOp:
    captured = kernel.captures().values()
    used = [
        (position, name, tensor)
        for position, (name, tensor) in enumerate(program.tensors.items())
        if any(tensor is value for value in captured)
    ]
    builder = KernelBuilder(kernel, program.grid, {}, target.device_api)
    for _, name, tensor in used:
        type = tensor_of(tiles_of(tuple(tensor.shape)), tensor.dtype)
        argument = builder.entry.insert_arg(type, len(builder.entry.args))
        argument.name_hint = value_name(name)
        builder.tensors[id(tensor)] = argument
    build_kernel(builder)
    mistakes += builder.diagnostics
    builder.entry.add_op(func.ReturnOp())
    argument_types = [argument.type for argument in builder.entry.args]
    function = func.FuncOp(
        kernel.name, FunctionType.from_lists(argument_types, []), Region(builder.entry)
    )
    function.attributes |= {
        "ttl.crta_indices": ArrayAttr([IntegerAttr(position, i64) for position, _, _ in used]),
        "ttl.tensor_names": ArrayAttr([StringAttr(name) for name in program.tensors]),
        "ttl.base_cta_index": IntegerAttr(len(program.buffers), i64),
    }
    operation = program.operation
    for name in ("fp32_dest_acc_en", "dst_full_sync_en"):
        if kernel.kind is KernelKind.COMPUTE and getattr(operation, name) is not None:
            function.attributes[name] = BoolAttr.from_bool(getattr(operation, name))
    if kernel.kind is KernelKind.COMPUTE and operation.math_fidelity is not None:
        function.attributes["math_fidelity"] = StringAttr(operation.math_fidelity)
    return function
