"""All kernels of an operation as one translation unit, or each as one of its own.

The text of a kernel is not changed, except that its include lines are moved to the top: inside
the kernel's namespace they would declare the device functions once more; and that pipes and
semaphores are marked for traces. `#line` keeps the kernel's own line numbers, in compiler messages
and in __builtin_LINE().

A kernel that was written by hand may define what headers look at, or what others define too: it is
a unit of its own, without a namespace, and includes stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ttl.artifact import PAGE_BYTES, CompiledOperation, Kernel, OwnArguments, ThreadKind
from ttl.target import load as load_target

from .build import RUNTIME_FOLDER
from .marks import marked_lines
from .program import TensorPlan, noc_of
from .vector_headers import declarations

_MACRO = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
_INCLUDE = re.compile(r'^\s*#\s*include\b(?:\s*"(.+)")?')


@dataclass(frozen=True, slots=True)
class TranslationUnit:
    """C++ that exports ttl_kernel_0, ttl_kernel_1, ...: those of the kernels at these positions."""

    text: str
    kernels: tuple[int, ...]


def translation_units(
    compiled: CompiledOperation, tensors: Sequence[TensorPlan]
) -> list[TranslationUnit]:
    if any(kernel.own is not None for kernel in compiled.kernels):
        return [_lone_unit(compiled, n) for n in range(len(compiled.kernels))]
    text = _common_unit(compiled, tensors)
    return [TranslationUnit(text, tuple(range(len(compiled.kernels))))]


def _lone_unit(compiled: CompiledOperation, position: int) -> TranslationUnit:
    kernel = compiled.kernels[position]
    assert kernel.own is not None
    is_compute = kernel.thread is ThreadKind.COMPUTE
    lines = [f"#define {name} {value}" for name, value in kernel.own.defines]
    lines += _prelude(compiled)
    if not is_compute:  # there without an include, as on the device
        lines.append('#include "api/dataflow/dataflow_api.h"')
    lines += _scope_lines(kernel, kernel.own.compile_time)
    lines += _named_arguments(kernel.own)
    lines.append(f'#line 1 "{kernel_file(kernel)}"')
    lines += _text_with_rows(kernel)
    lines.append('extern "C" __attribute__((visibility("default")))')
    lines.append(f"void ttl_kernel_{position}() {{ kernel_main(); }}")
    return TranslationUnit("\n".join(lines) + "\n", (position,))


def _text_with_rows(kernel: Kernel) -> Iterator[str]:
    """The text; where a header is made of rows these stand in the line of its include."""
    rows = declarations(RUNTIME_FOLDER)
    declared: set[str] = set()
    for number, line in enumerate(kernel.cpp_source.splitlines(), start=1):
        include = _INCLUDE.match(line)
        header = include[1] if include is not None else None
        if header not in rows:
            yield line
            continue
        if header not in declared:
            declared.add(header)
            yield from rows[header]
        if (RUNTIME_FOLDER / "include" / header).is_file():
            yield line
        yield f'#line {number + 1} "{kernel_file(kernel)}"'


def _named_arguments(own: OwnArguments) -> Iterator[str]:
    if own.named:
        pairs = ", ".join(f'{{"{name}", {value}u}}' for name, value in own.named)
        yield f"TTL_NAMED_ARGUMENTS({pairs})"


def _common_unit(compiled: CompiledOperation, tensors: Sequence[TensorPlan]) -> str:
    lines = list(_prelude(compiled))
    declared: set[str] = set()
    for kernel in compiled.kernels:
        lines += _hoisted_includes(kernel, declared)
    for position, kernel in enumerate(compiled.kernels):
        arguments = compile_time_arguments(compiled, kernel, tensors)
        lines += _kernel_scope(kernel, position, arguments, marked_lines(compiled, kernel))
    return "\n".join(lines) + "\n"


def compile_time_arguments(
    compiled: CompiledOperation, kernel: Kernel, tensors: Sequence[TensorPlan]
) -> list[int]:
    """The convention is stated in ttl.artifact.operation."""
    arguments = [buffer.index for buffer in compiled.buffers]
    if kernel.thread is not ThreadKind.COMPUTE:
        for tensor in tensors:
            arguments += tensor.accessor_words
    return arguments


def kernel_file(kernel: Kernel) -> str:
    """The name under which the compiler knows the kernel's text."""
    return f"{kernel.name}.cpp"


def _prelude(compiled: CompiledOperation) -> Iterator[str]:
    configs = [kernel.config for kernel in compiled.kernels if kernel.config is not None]
    assert len({config.fp32_dest_acc_en for config in configs}) <= 1
    is_fp32 = any(config.fp32_dest_acc_en for config in configs)
    yield f"#define DST_ACCUM_MODE {'true' if is_fp32 else 'false'}"
    yield "#include <cstdint>"
    yield "namespace ttl_unit {"
    yield f"constexpr uint32_t unpack_tile_size[] = {_tile_sizes(compiled)};"
    target = load_target(compiled.target)
    yield f"constexpr uint32_t burst_bytes = {target.noc_burst_bytes};"
    yield f"constexpr uint32_t l1_alignment = {target.l1_alignment_bytes};"
    yield f"constexpr uint32_t dram_alignment = {target.dram_alignment_bytes};"
    yield f"constexpr uint32_t dram_banks = {target.dram_banks};"
    yield "}"
    if any("std::" in kernel.cpp_source for kernel in compiled.kernels):
        yield "#include <type_traits>"  # the device's headers have it; it is most of a unit's text
    yield '#include "api/compile_time_args.h"'
    yield '#include "hostdevcommon/recorded_calls.h"'
    # A kernel that includes nothing then fails on the names it lacks, not on these.
    yield "namespace ckernel {} namespace ttl_dataflow {}"


def _tile_sizes(compiled: CompiledOperation) -> str:
    sizes = {buffer.index: PAGE_BYTES[buffer.data_format] for buffer in compiled.buffers}
    count = max(sizes, default=0) + 1
    return "{" + ", ".join(str(sizes.get(index, 0)) for index in range(count)) + "}"


def _hoisted_includes(kernel: Kernel, declared: set[str]) -> Iterator[str]:
    """The headers, once each where they are rows of the vector unit and no files."""
    rows = declarations(RUNTIME_FOLDER)
    for number, line in enumerate(kernel.cpp_source.splitlines(), start=1):
        if (include := _INCLUDE.match(line)) is None:
            continue
        header = include[1]
        if header in rows and header not in declared:
            declared.add(header)
            yield from rows[header]
        if header not in rows or (RUNTIME_FOLDER / "include" / header).is_file():
            yield f'#line {number} "{kernel_file(kernel)}"'
            yield line


def _kernel_scope(
    kernel: Kernel, position: int, arguments: Sequence[int], text: Iterable[str]
) -> Iterator[str]:
    macros = _own_macros(kernel)
    yield from (f'#pragma push_macro("{name}")' for name in macros)
    yield f"namespace ttl_kernel_scope_{position} {{"
    yield from _scope_lines(kernel, arguments)
    yield f'#line 1 "{kernel_file(kernel)}"'
    for line in text:
        yield "" if _INCLUDE.match(line) else line
    yield "}"
    yield from (f'#pragma pop_macro("{name}")' for name in macros)
    yield 'extern "C" __attribute__((visibility("default")))'
    yield f"void ttl_kernel_{position}() {{ ttl_kernel_scope_{position}::kernel_main(); }}"


def _own_macros(kernel: Kernel) -> list[str]:
    """They end with the kernel: the next one may have a guard or a macro of the same name."""
    return list(dict.fromkeys(_MACRO.findall(kernel.cpp_source)))


def _scope_lines(kernel: Kernel, arguments: Sequence[int]) -> Iterator[str]:
    is_compute = kernel.thread is ThreadKind.COMPUTE
    words = "".join(f", {word}u" for word in arguments)
    names = "ckernel" if is_compute else "ttl_dataflow"
    yield f"using namespace {names};"
    yield f"TTL_KERNEL_SCOPE({len(arguments)}{words})"
    if not is_compute:
        yield from ("#ifdef TTL_DATAFLOW_SCOPE", "TTL_DATAFLOW_SCOPE", "#endif")
        yield f"constexpr uint8_t noc_index = {noc_of(kernel)};"
    yield from ("#ifdef TTL_EXPERIMENTAL_SCOPE", f"TTL_EXPERIMENTAL_SCOPE({names})", "#endif")
