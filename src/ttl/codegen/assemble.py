"""Assemble the artifact of a module that has been through all passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from ttl.artifact import (
    Buffer,
    CompiledOperation,
    ComputeConfig,
    Coordinate,
    CoreArguments,
    Kernel,
    NamedPipe,
    Operand,
    SemaphorePlan,
    ThreadKind,
)
from ttl.dialects import emitc, ttl
from ttl.dialects.locations import span_of
from ttl.dialects.ttkernel import processor_of
from ttl.semantics.layout import ROW_MAJOR_LAYOUT
from ttl.target import load

from .cpp import print_file


def assemble(name: str, module: ModuleOp, operands: tuple[Operand, ...]) -> CompiledOperation:
    target = module.attributes["ttl.target_arch"]
    assert isinstance(target, StringAttr)
    columns, rows = _integers(module.attributes["ttl.launch_grid"])
    cores = [(x, y) for y in range(rows) for x in range(columns)]
    return CompiledOperation(
        name=name,
        target=target.data,
        device_api=load(target.data).device_api,
        kernels=tuple(_kernel(op, cores) for op in module.ops if isinstance(op, emitc.FileOp)),
        buffers=tuple(_buffer(op) for op in module.ops if isinstance(op, ttl.DeclareBufferOp)),
        operands=operands,
        core_range=((0, 0), (columns - 1, rows - 1)),
        semaphores=_semaphores(module),
        pipe_net_count=len(list(ttl.nets_of(module))),
        pipes=tuple(_pipes(module)),
        pipe_scratch_bytes=_number(module, "ttl.pipe_sram_scratch_bytes"),
    )


def _semaphores(module: ModuleOp) -> tuple[SemaphorePlan, ...]:
    """Return the program's semaphores with their initial values, then those of pipes."""
    initial = [semaphore.initial.value.data for semaphore in ttl.semaphores_of(module)]
    initial += [0] * (_number(module, "ttl.semaphore_count") - len(initial))
    return tuple(SemaphorePlan(index, value) for index, value in enumerate(initial))


def _pipes(module: ModuleOp) -> Iterator[NamedPipe]:
    for net in ttl.nets_of(module):
        for number, nodes in enumerate(net.nodes):
            name = net.name_of(number)
            yield NamedPipe(net.sym_name.data, name, nodes.source, nodes.first, nodes.last)


def _number(op: Operation, name: str) -> int:
    """Return the number in attribute `name`; 0 without one."""
    attribute = op.attributes.get(name)
    return attribute.value.data if isinstance(attribute, IntegerAttr) else 0


def _kernel(file: emitc.FileOp, cores: Sequence[Coordinate]) -> Kernel:
    printed = print_file(file)
    kind = ThreadKind(processor_of(file))
    names, arguments = _runtime_args(file, cores)
    return Kernel(
        name=file.id.data,
        thread=kind,
        cpp_source=printed.text,
        tensor_indices=_integers(file.attributes["ttl.crta_indices"]),
        config=_config(file) if kind is ThreadKind.COMPUTE else None,
        source_map=printed.source_map,
        runtime_arg_names=names,
        runtime_args=arguments,
        signposts=_signposts(file),
        marks=printed.marks,
        uses_pipe_scratch=bool(_number(file, "ttl.uses_pipe_scratch")),
    )


def _signposts(file: emitc.FileOp) -> tuple[tuple[str, str], ...]:
    zones = file.attributes.get("ttl.signposts")
    if not isinstance(zones, DictionaryAttr):
        return ()
    return tuple(
        (zone, name.data) for zone, name in zones.data.items() if isinstance(name, StringAttr)
    )


def _runtime_args(
    file: emitc.FileOp, cores: Sequence[Coordinate]
) -> tuple[tuple[str, ...], tuple[CoreArguments, ...]]:
    """Return names and words of the arguments; the attribute has each one's words by node."""
    attribute = file.attributes.get("ttl.runtime_args")
    if attribute is None:
        return (), ()
    assert isinstance(attribute, DictionaryAttr)
    words = [_integers(of_argument) for of_argument in attribute.data.values()]
    by_core = zip(cores, zip(*words, strict=True), strict=True)
    return tuple(attribute.data), tuple(CoreArguments(core, args) for core, args in by_core)


def _config(file: emitc.FileOp) -> ComputeConfig:
    explicit = file.attributes.get("math_fidelity")
    fidelity = explicit.data if isinstance(explicit, StringAttr) else "HiFi4"
    return ComputeConfig(
        math_fidelity=fidelity,
        fp32_dest_acc_en=bool(file.attributes["fp32_dest_acc_en"]),
        dst_full_sync_en=bool(file.attributes["dst_full_sync_en"]),
    )


def _buffer(declaration: ttl.DeclareBufferOp) -> Buffer:
    assert declaration.index is not None
    is_row_major = declaration.type.tile.layout is ROW_MAJOR_LAYOUT
    has_room = declaration.row_room is not None
    return Buffer(
        name=declaration.sym_name.data,
        index=declaration.index.value.data,
        data_format=declaration.type.tile.dtype.data_format,
        block_tiles=declaration.type.block_tiles,
        block_count=declaration.type.block_count.value.data,
        unpack_to_dest_fp32=bool(declaration.unpack_to_dest_fp32),
        span=span_of(declaration.location),
        compiler_allocated=declaration.compiler_allocated is not None,
        row_bytes=declaration.type.page_bytes(has_room) if is_row_major else None,
        tensor=None if declaration.tensor is None else _number_of(declaration.tensor),
        tensor_offset=_number_of(declaration.tensor_offset),
    )


def _number_of(attribute: IntegerAttr | None) -> int:
    return 0 if attribute is None else int(attribute.value.data)


def _integers(attribute: object) -> tuple[int, ...]:
    assert isinstance(attribute, ArrayAttr)
    return tuple(item.value.data for item in attribute)
