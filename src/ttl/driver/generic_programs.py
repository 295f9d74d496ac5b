"""A ProgramDescriptor of kernels that were written by hand, on the executor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ttl import ttnn
from ttl.artifact import (
    PAGE_BYTES,
    Buffer,
    CompiledOperation,
    ComputeConfig,
    CoreArguments,
    Kernel,
    OwnArguments,
    Rectangle,
    Rectangles,
    SemaphorePlan,
    ThreadKind,
    check_fits,
)
from ttl.config import Config
from ttl.diagnostics import Span
from ttl.driver import PROCESS_DRIVER
from ttl.driver.operands import operand_of
from ttl.semantics.dtypes import DType
from ttl.target import Target
from ttl.ttnn.faults import wrong, wrong_type

FEWEST_TENSORS = 2  # of the real one
OTHERS = "give other cores, numbers or configurations in the descriptors"


def launch(tensors: Sequence[Any], program: Any) -> None:
    """UsageError for what the device would refuse; KernelFault for what the kernels do wrong."""
    from ttl import host

    if len(tensors) < FEWEST_TENSORS:
        raise wrong(
            f"generic_op with {len(tensors)} tensors needs {FEWEST_TENSORS}",
            "give a single tensor twice: [tensor, tensor]",
        )
    for tensor in tensors:
        tensor.buffer_address()  # reports one that is not on a device
    config = Config.current()
    compiled = compiled_program(program, tensors, tensors[0].device().target)
    PROCESS_DRIVER.artifacts.write(compiled, config)
    if config.compile_only:
        return
    storages = [tensor.storage for tensor in tensors]
    traces, remarks = PROCESS_DRIVER.runs.traces, PROCESS_DRIVER.remarks
    names = {f"tensor_{n}": tensor for n, tensor in enumerate(tensors)}
    with traces.recorded(config, names) as recorder, remarks.of_a_run(config) as report:
        host.launch(
            compiled,
            storages,
            cache_dir=config.cache_dir,
            recorder=recorder,
            seed=config.seed,
            report=report,
            isolate=config.isolate,
            memory_bytes=config.isolate_memory,
        )


def compiled_program(program: object, tensors: Sequence[Any], target: Target) -> CompiledOperation:
    if not isinstance(program, ttnn.ProgramDescriptor):
        raise wrong_type("program_descriptor", program, "a ttnn.ProgramDescriptor")
    kernels: tuple[Kernel, ...] = ()
    for each in program.kernels:
        kernels += (_kernel(each, {kernel.name for kernel in kernels}),)
    if not kernels:
        raise wrong("a program without kernels", "give ProgramDescriptor(kernels=[...])")
    buffers = tuple(_buffers(program))
    everywhere = [rectangle for kernel in kernels for rectangle in _own(kernel).cores]
    compiled = CompiledOperation(
        name="generic_op",
        target=target.name,
        device_api=target.device_api,
        kernels=kernels,
        buffers=buffers,
        operands=tuple(
            operand_of(f"tensor_{number}", tensor, tensor.buffer_address())
            for number, tensor in enumerate(tensors)
        ),
        core_range=_bounding_box(everywhere),
        semaphores=tuple(SemaphorePlan(each.id, each.initial_value) for each in program.semaphores),
    )
    try:
        check_fits(compiled, target)
    except ValueError as error:
        raise wrong(str(error), OTHERS) from None
    return compiled


def _own(kernel: Kernel) -> OwnArguments:
    assert kernel.own is not None
    return kernel.own


def _bounding_box(cores: Sequence[Rectangle]) -> Rectangle:
    x0, y0 = (min(first[axis] for first, _ in cores) for axis in range(2))
    x1, y1 = (max(last[axis] for _, last in cores) for axis in range(2))
    return (x0, y0), (x1, y1)


def _rectangles(cores: Any, name: str) -> Rectangles:
    if not isinstance(cores, ttnn.CoreRangeSet) or cores.empty():
        raise wrong_type(name, cores, "a set of cores", "use CoreRangeSet([CoreRange(start, end)])")
    corners = [(each.start, each.end) for each in cores.ranges()]
    return tuple(((first.x, first.y), (last.x, last.y)) for first, last in corners)


# Kernels ------------------------------------------------------------------------------------------


def _kernel(given: Any, taken: Collection[str]) -> Kernel:
    thread, noc = _processor(given.config)
    source, file = _source(given)
    cores = _rectangles(given.core_ranges, "core_ranges")
    return Kernel(
        name=_name(file, taken),
        thread=thread,
        cpp_source=source,
        config=_compute_config(given.config) if thread is ThreadKind.COMPUTE else None,
        source_map=tuple(_lines(source, file)) if file is not None else (),
        runtime_args=tuple(_core_arguments(given, cores)),
        own=OwnArguments(
            compile_time=_words(given.compile_time_args, "compile_time_args"),
            named=tuple((str(name), value) for name, value in given.named_compile_time_args),
            defines=tuple(_define(name, value) for name, value in given.defines),
            common=_words(given.common_runtime_args, "common_runtime_args"),
            noc=noc,
            cores=cores,
        ),
    )


def _processor(config: object) -> tuple[ThreadKind, int | None]:
    if isinstance(config, ttnn.ComputeConfigDescriptor):
        return ThreadKind.COMPUTE, None
    if isinstance(config, ttnn.ReaderConfigDescriptor):
        return ThreadKind.READER, 0
    if isinstance(config, ttnn.WriterConfigDescriptor):
        return ThreadKind.WRITER, 1
    if not isinstance(config, ttnn.DataMovementConfigDescriptor):
        raise wrong_type(
            "config",
            config,
            "the configuration of a kernel",
            "use ReaderConfigDescriptor(), WriterConfigDescriptor(), ...",
        )
    is_first = config.processor is ttnn.DataMovementProcessor.RISCV_0
    return (ThreadKind.WRITER if is_first else ThreadKind.READER), config.noc.value


def _compute_config(config: Any) -> ComputeConfig:
    names = ("fp32_dest_acc_en", "dst_full_sync_en", "math_approx_mode", "bfp8_pack_precise")
    flags = {name: bool(getattr(config, name)) for name in names}
    return ComputeConfig(math_fidelity=config.math_fidelity.name, **flags)


def _source(given: Any) -> tuple[str, str | None]:
    """The text of a kernel, and the file it is from."""
    if given.source_type is ttnn.KernelDescriptor.SourceType.SOURCE_CODE:
        return given.kernel_source, None
    try:
        return Path(given.kernel_source).read_text(encoding="utf-8"), str(given.kernel_source)
    except (OSError, UnicodeDecodeError) as error:
        raise wrong(
            f"kernel_source={given.kernel_source!r}: {error}",
            "for C++ as a text give source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE",
        ) from None


def _name(file: str | None, taken: Collection[str]) -> str:
    """Return the name of the kernel's file, if no other kernel has it."""
    stem = "" if file is None else Path(file).stem
    name = stem if stem.isidentifier() else f"kernel_{len(taken)}"
    while name in taken:
        name = f"{name}_{len(taken)}"
    return name


def _lines(source: str, file: str) -> Iterator[tuple[int, Span]]:
    """Each line of the C++ is its own."""
    for number, text in enumerate(source.splitlines(), start=1):
        column = len(text) - len(text.lstrip()) + 1
        yield number, Span(file, number, column, number, max(len(text.rstrip()), column) + 1)


def _define(name: str, value: str) -> tuple[str, str]:
    for text in (name, value):
        if not isinstance(text, str) or "\n" in text:
            raise wrong_type("defines", text, "the name or the value of a macro")
    return name, value


def _words(values: Iterable[Any], name: str) -> tuple[int, ...]:
    words = tuple(values)
    for word in words:
        if isinstance(word, bool) or not isinstance(word, int) or not 0 <= word < 2**32:
            raise wrong(
                f"{name} has {word!r}, which is no number of 32 bits without a sign",
                "mask a negative number with & 0xFFFFFFFF",
            )
    return words


def _core_arguments(given: Any, cores: Rectangles) -> Iterator[CoreArguments]:
    for core, values in given.runtime_args:
        x, y = core.x, core.y
        if not any(x0 <= x <= x1 and y0 <= y <= y1 for (x0, y0), (x1, y1) in cores):
            raise wrong(
                f"runtime_args for core {(x, y)}, where the kernel does not run",
                "give arguments for the cores of core_ranges",
            )
        yield CoreArguments((x, y), _words(values, "runtime_args"))


# Buffers and semaphores ---------------------------------------------------------------------------


def _buffers(program: Any) -> Iterator[Buffer]:
    wide = _wide_buffers(program)
    position = 0
    for given in program.cbs:
        cores = _rectangles(given.core_ranges, "core_ranges")
        first = position
        for form in given.format_descriptors:
            yield _buffer(given, form, cores, wide, first if position > first else None)
            position += 1


def _wide_buffers(program: Any) -> set[int]:
    """Find the buffers whose tiles the unpacker writes to DST in 32 bits."""
    modes = [getattr(kernel.config, "unpack_to_dest_mode", ()) for kernel in program.kernels]
    wanted = ttnn.UnpackToDestMode.UnpackToDestFp32
    return {index for each in modes for index, mode in enumerate(each) if mode is wanted}


def _buffer(given: Any, form: Any, cores: Rectangles, wide: set[int], shares: int | None) -> Buffer:
    index, page, total = form.buffer_index, form.page_size, given.total_size
    if page <= 0 or total <= 0 or total % page:
        raise wrong(
            f"buffer {index} has {total} bytes in pages of {page}",
            "give a total_size that is a multiple of page_size",
        )
    if not isinstance(form.data_format, DType):
        raise wrong_type("data_format", form.data_format, "an element type", "use ttnn.bfloat16")
    data_format = form.data_format.data_format
    return Buffer(
        name=f"buffer {index}",
        index=index,
        data_format=data_format,
        block_tiles=1,
        block_count=total // page,
        unpack_to_dest_fp32=index in wide,
        row_bytes=None if page == PAGE_BYTES[data_format] else page,
        cores=cores,
        shares=shares,
    )
