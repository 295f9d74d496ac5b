"""A whole program: one module with its buffers and one function for each kernel."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, Region

from ttl.diagnostics import CompileError, Diagnostic, RuleBroken, codes
from ttl.dialects import ttkernel, ttl
from ttl.dialects.locations import location_of
from ttl.language import DataflowBuffer
from ttl.language.operation import KernelFunction, Program, definition_span
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.layout import TILE_LAYOUT, layout_of
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.tensors import row_page_elements
from ttl.semantics.types import TILE_SIZE
from ttl.source.facts import facts_of
from ttl.target import Target

from .carried_blocks import stores_under_aliases
from .emission import Emission
from .environment import Environment
from .handles import Handles, buffer_type
from .language_calls import LANGUAGE
from .nets import Nets
from .semaphores import declaration_of
from .translation import Translation


def build_module(program: Program, target: Target) -> ModuleOp:
    """Build the ttl module of a program; raise CompileError with every mistake found."""
    if len(program.grid) != 2:
        where = definition_span(program.operation.function)
        raise CompileError(_unsupported_grid(program).at(where))
    mistakes: list[Diagnostic] = []
    nets = Nets(program.pipe_nets, program.grid)
    numbers = range(len(program.kernels))
    built = [_build_function(program, number, target, nets, mistakes) for number in numbers]
    kernels = [kernel for kernel in built if kernel is not None]
    if mistakes:
        raise CompileError(*mistakes)
    for kernel, thread in zip(kernels, _threads(program), strict=True):
        kernel.attributes |= ttkernel.thread_attributes(thread)
    attributes: dict[str, Attribute] = {
        "ttl.launch_grid": ArrayAttr([IntegerAttr(size, i64) for size in program.grid]),
        "ttl.target_arch": StringAttr(target.name),
    }
    if budget := program.options.get("ttl-l1-budget"):
        attributes["ttl.l1_budget"] = IntegerAttr(budget, i64)
    declarations: list[Operation] = [_declare(buffer, program) for buffer in program.buffers]
    declarations += _page_buffers(kernels, program)
    declarations += nets.declarations()
    declarations += map(declaration_of, program.semaphores)
    return ModuleOp([*declarations, *kernels], attributes)


def _unsupported_grid(program: Program) -> RuleBroken:
    return codes.MULTI_DEVICE_GRID.broken(
        f"{program.operation.__name__} has a grid of {len(program.grid)} dimensions; only grids of "
        "two are compiled",
        "run it on the simulator, or once for each device on a 2-D grid (SPMD)",
    )


def _threads(program: Program) -> list[str]:
    """Name the threads: the first data movement kernel is the reader, the second the writer."""
    movement = iter(("reader", "writer"))
    return [
        "compute" if kernel.kind is KernelKind.COMPUTE else next(movement)
        for kernel in program.kernels
    ]


def _declare(buffer: DataflowBuffer, program: Program) -> ttl.DeclareBufferOp:
    properties: dict[str, Attribute] = {
        "sym_name": StringAttr(buffer.name),
        "type": buffer_type(buffer),
    }
    if (backing := buffer.backing) is not None:
        tensors = enumerate(program.tensors.values())
        position = next(number for number, each in tensors if each is backing.tensor)
        properties["tensor"] = IntegerAttr(position, i64)
        offset = backing.first_tile * buffer.dtype.tile_bytes
        properties["tensor_offset"] = IntegerAttr(offset, i64)
    declaration = ttl.DeclareBufferOp.create(properties=properties)
    if buffer.span is not None:
        declaration.location = location_of(buffer.span)
    return declaration


def _page_buffers(kernels: list[func.FuncOp], program: Program) -> list[ttl.DeclareBufferOp]:
    """Declare the kernels' own buffers for printing tensors."""
    known = {buffer.name for buffer in program.buffers}
    binds = [op for kernel in kernels for op in kernel.walk() if isinstance(op, ttl.BindBufferOp)]
    return [
        ttl.DeclareBufferOp.create(
            properties={
                "sym_name": bind.buffer.root_reference,
                "type": bind.result.type,
                "compiler_allocated": UnitAttr(),
            }
        )
        for bind in binds
        if bind.buffer.root_reference.data not in known
    ]


def _build_function(
    program: Program, number: int, target: Target, nets: Nets, mistakes: list[Diagnostic]
) -> func.FuncOp | None:
    """Build the function of a kernel; None if it has mistakes."""
    translation = _evaluated(program, number, target, nets)
    found = [*translation.state.mistakes]
    found = found or [*stores_under_aliases(translation.entry)]
    if found:
        mistakes += found
        return None
    emission = Emission(translation.entry, translation.handles)
    body = emission.block()
    body.add_op(func.ReturnOp())
    kernel = program.kernels[number]
    argument_types = [argument.type for argument in body.args]
    name = f"{program.operation.__name__}_{kernel.name}"
    function = func.FuncOp(name, FunctionType.from_lists(argument_types, []), Region(body))
    function.attributes |= _attributes(program, kernel, translation.handles)
    return function


def _evaluated(program: Program, number: int, target: Target, nets: Nets) -> Translation:
    """Evaluate a kernel; if it mixes ints and floats and can tell, do so again with paths apart."""
    for keeps_kinds in (False, True):
        translation = Translation(
            program.kernels[number],
            _environment(program, number),
            program.grid,
            program.tensors,
            target.device_api,
            nets,
            LANGUAGE,
            keeps_kinds,
        )
        translation.names_around = program.operation.local_names
        translation.evaluate_kernel()
        if not (translation.mixes_kinds and translation.tells_kinds):
            break
    return translation


def _environment(program: Program, number: int) -> Environment:
    """Return the names around a kernel, on all nodes if they may differ."""
    by_node = program.kernels_by_node
    kernels = [by_node[node][number] for node in by_node] or [program.kernels[number]]
    return Environment(tuple(kernel.function for kernel in kernels))  # type: ignore[misc]


def _attributes(program: Program, kernel: KernelFunction, handles: Handles) -> dict[str, Attribute]:
    positions = {name: position for position, name in enumerate(program.tensors)}
    attributes: dict[str, Attribute] = {
        ttkernel.NAME: StringAttr(kernel.name),
        "ttl.crta_indices": _integers(positions[name] for name in handles.tensors),
        "ttl.tensor_names": ArrayAttr([StringAttr(name) for name in program.tensors]),
        "ttl.base_cta_index": IntegerAttr(len(program.buffers), i64),
    }
    pages = [_sharded_row(tensor) for tensor in program.tensors.values()]
    if any(pages):
        attributes["ttl.page_elements"] = _integers(pages)
    ragged = [_ragged_dimensions(tensor) for tensor in program.tensors.values()]
    if any(ragged):
        attributes["ttl.ragged"] = ArrayAttr([_integers(dimensions) for dimensions in ragged])
        shapes = [tuple(tensor.shape) for tensor in program.tensors.values()]
        attributes["ttl.logical_shapes"] = ArrayAttr([_integers(shape) for shape in shapes])
    if handles.arguments:
        attributes["ttl.runtime_args"] = DictionaryAttr(
            {argument.name: _integers(argument.words) for argument in handles.arguments}
        )
    operation = program.operation
    if kernel.kind is KernelKind.COMPUTE:
        is_wide = facts_of(program).fp32_dest_acc_en
        attributes["fp32_dest_acc_en"] = BoolAttr.from_bool(is_wide)
        if operation.dst_full_sync_en is not None:
            attributes["dst_full_sync_en"] = BoolAttr.from_bool(operation.dst_full_sync_en)
        if operation.math_fidelity is not None:
            attributes["math_fidelity"] = StringAttr(operation.math_fidelity)
        if operation.f32 == "tf32":
            attributes["ttl.tf32"] = UnitAttr()
        if operation.division == "reciprocal":
            attributes["ttl.divides_by_reciprocals"] = UnitAttr()
    return attributes


def _ragged_dimensions(tensor: TensorLike) -> list[int]:
    """List the dimensions, counted from the end, whose last tiles are padded."""
    sizes = tuple(tensor.shape)
    is_tiled = layout_of(tensor) is TILE_LAYOUT
    inner = range(-min(2, len(sizes)), 0)
    return [dim for dim in inner if is_tiled and sizes[dim] % TILE_SIZE]


def _sharded_row(tensor: TensorLike) -> int:
    """Return the page elements of a row-major tensor whose shards cut its rows, or 0."""
    elements = row_page_elements(tensor)
    return 0 if elements in (None, tuple(tensor.shape)[-1]) else elements


def _integers(numbers: Iterable[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(number, i64) for number in numbers])
