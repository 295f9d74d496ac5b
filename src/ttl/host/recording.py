"""Records what the kernels of a run call, and with what, for estimates of their time.

The unit of kernels is another text: a line that calls the chip records the call first, and the
calls of compute units are recorded and not made. So the results are not to be used; waits, loops
and branches are those of a run.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ttl.artifact import CompiledOperation, ThreadKind
from ttl.diagnostics import codes, usage_error
from ttl.target import load as load_target
from ttl.trace.calls import CallSite, Recording

from .counts import columns_of
from .execution import execute
from .memory import PagedTensor, TensorMemory, shard_words_of, tensor_memories
from .program import (
    ReportStruct,
    RunOptions,
    TensorPlan,
    make_program,
    nodes_of,
    plan_tensor,
    program_parts,
)
from .report import raise_if_failed

MOST_CALLS = 1 << 25  # 512 MB of them

_STATEMENT = re.compile(r"^(\s*)([a-z_]\w*)(?:<([^;{}()]*)>)?\((.*)\);(\s*(?://.*)?)$")
_BUFFER = re.compile(r"constexpr uint32_t (\w+) = get_compile_time_arg_val\((\d+)\);")
_POLL = re.compile(r"cb_pages_reservable_at_back\((\w+), (\w+)\)")
_POLLED = "bool has_room = "  # of passes that read ahead: what is to come next is in order anyway

# What is recorded of a call: target or first count, bytes or value or second count, address or
# third count. {0}, {1}, ... are its arguments; the first pattern that fits holds.
_NOTHING = ("0", "0", "0")
_PAGES = ("{1}", "0", "0")
_OPERANDS: tuple[tuple[str, tuple[str, str, str]], ...] = (
    (r"cb_\w+", _PAGES),
    (
        r"noc_async_(read|write)_page",
        ("ttl_target({1}.get_noc_addr({0}))", "{1}.get_aligned_page_size()", "0"),
    ),
    (r"noc_async_read", ("ttl_target({0})", "{2}", "0")),
    (r"noc_async_write_multicast\w*", ("ttl_target({1})", "{2}", "{3}")),
    (r"noc_async_write", ("ttl_target({1})", "{2}", "0")),
    (r"noc_inline_dw_write", ("ttl_target({0})", "4", "0")),
    (r"noc_semaphore_inc\w*", ("ttl_target({0})", "{1}", "ttl_semaphore({0})")),
    (r"noc_semaphore_wait\w*|noc_semaphore_set", ("0", "{1}", "ttl_semaphore((uintptr_t){0})")),
    (r"noc_semaphore_set_\w+", ("ttl_target({1})", "*(volatile uint32_t*)(uintptr_t){0}",
                                "ttl_semaphore({1})")),
    (r"noc_async_\w+_(set_|with_)trid", ("0", "{0}", "0")),
    (r"noc_async_\w+", _NOTHING),
)  # fmt: skip
_COUNTS: tuple[tuple[str, tuple[str, str, str]], ...] = (
    (r"matmul_block", ("{6}", "{7}", "1")),
    (r"pack_block\w*", ("{2}", "1", "1")),
    (r"(un)?tilize_block", ("{1}", "1", "1")),
    (r"copy_block_matmul_partials", ("{3}", "1", "1")),
    (r"\w+", ("1", "1", "1")),
)


class RecordedUnit:
    """The text of kernels that record their calls."""

    def __init__(self, compiled: CompiledOperation):
        self.compiled = compiled
        self.capacities = {each.index: each.block_tiles * each.block_count
                           for each in compiled.buffers}  # fmt: skip
        self.sites: list[CallSite] = []
        self.lines = [list(self._kernel(n)) for n in range(len(compiled.kernels))]

    def _kernel(self, position: int) -> Iterator[str]:
        kernel = self.compiled.kernels[position]
        buffers = {name: int(n) for name, n in _BUFFER.findall(kernel.cpp_source)}
        reads_ahead = _POLLED in kernel.cpp_source
        for number, line in enumerate(kernel.cpp_source.splitlines(), 1):
            if reads_ahead and (poll := _POLL.search(line)) is not None:
                yield self._polled(line, poll, position, number, buffers)
            elif (call := _STATEMENT.match(line)) is not None:
                yield self._recorded(line, call, position, number, buffers)
            else:
                yield line

    def _polled(
        self, line: str, poll: re.Match[str], position: int, number: int, buffers: dict[str, int]
    ) -> str:
        """Whether there is room depends on times, which are not those of the chip: the estimate
        decides, and here the answer is yes wherever it can be.
        """
        name, pages = poll.groups()
        index = self.compiled.buffers[buffers[name]].index
        site = self._site(position, number, "cb_pages_reservable_at_back", "", (index,))
        has_room = f"((int64_t){pages} <= {self.capacities[index]})"
        return f"ttl_record({site}, {pages}, 0, 0); {line.replace(poll[0], has_room)}"

    def _recorded(
        self, line: str, call: re.Match[str], position: int, number: int, buffers: dict[str, int]
    ) -> str:
        indent, name, template, text, rest = call.groups()
        kernel = self.compiled.kernels[position]
        is_compute = kernel.thread is ThreadKind.COMPUTE and bool(columns_of(name))
        is_section = re.fullmatch(r"tile_regs_\w+", name) is not None
        operands = _operands(name, is_compute or is_section)
        if operands is None:
            return line
        arguments = [each.strip() for each in _split(text)]
        used = tuple(
            self.compiled.buffers[buffers[each]].index for each in arguments if each in buffers
        )
        site = self._site(position, number, name, template or "", used)
        words = ", ".join(f"(uint32_t)({each.format(*arguments)})" for each in operands)
        record = f"ttl_record({site}, {words});"
        if is_compute or is_section:
            return f"{indent}{record}{rest}"
        return f"{indent}{{ {record} {line.strip().split(');')[0]}); }}{rest}"

    def _site(
        self, position: int, number: int, name: str, template: str, buffers: tuple[int, ...]
    ) -> int:
        span = self.compiled.kernels[position].span_of(number)
        line = 0 if span is None else span.line
        self.sites.append(CallSite(position, name, template, buffers, line, columns_of(name)))
        return len(self.sites) - 1

    def prelude(self, tensors: Sequence[TensorPlan]) -> list[str]:
        """C++ for the place between the includes and the kernels."""
        sizes = ", ".join(f"{each.aligned_page_bytes}u" for each in tensors) or "1u"
        (first_x, first_y), (last_x, _) = self.compiled.core_range
        node = (
            f"(ttl_kernel::get_absolute_logical_y() - {first_y}) * {last_x - first_x + 1} + "
            f"ttl_kernel::get_absolute_logical_x() - {first_x}"
        )
        return [
            "struct TtlCall { uint32_t site, target, value, address; };",
            "static TtlCall* ttl_calls = nullptr;",
            "static uint64_t ttl_call_count = 0, ttl_call_room = 0;",
            "static inline void ttl_record(uint32_t site, uint32_t a, uint32_t b, uint32_t c) {",
            "  if (ttl_call_count == ttl_call_room) {",
            f"    if (ttl_call_count >= {MOST_CALLS}u) return;",
            "    ttl_call_room = ttl_call_room ? 2 * ttl_call_room : 65536;",
            "    const uint64_t bytes = ttl_call_room * sizeof(TtlCall);",
            "    ttl_calls = (TtlCall*)__builtin_realloc(ttl_calls, bytes);",
            "  }",
            f"  ttl_calls[ttl_call_count++] = {{({node}) * {len(self.sites)}u + site, a, b, c}};",
            "}",
            f"static const uint32_t ttl_page_bytes[] = {{{sizes}}};",
            "[[maybe_unused]] static uint32_t ttl_target(uint64_t address) {",
            "  const uint32_t kind = address >> 56;",
            "  if (kind == 1) return 1u << 30 | ((uint32_t)(address >> 32) & 0xffffu);",
            "  if (kind == 3) return 3u << 30 | ((uint32_t)(address >> 32) & 0xffffffu);",
            "  const uint32_t tensor = (uint32_t)(address >> 40) & 0x3fu;",
            "  const uint64_t byte = address & 0xffffffffffull;",
            "  const uint64_t page = byte / ttl_page_bytes[tensor];",
            "  return 2u << 30 | tensor << 24 | ((uint32_t)page & 0xffffffu);",
            "}",
            *self._semaphore_lines(),
            'extern "C" __attribute__((visibility("default")))',
            "TtlCall* ttl_unit_calls(uint64_t* count) {",
            "  *count = ttl_call_count; ttl_call_count = ttl_call_room = 0;",
            "  TtlCall* calls = ttl_calls; ttl_calls = nullptr; return calls;",
            "}",
            'extern "C" __attribute__((visibility("default")))',
            "void ttl_free_calls(TtlCall* calls) { __builtin_free(calls); }",
        ]

    def _semaphore_lines(self) -> list[str]:
        """An address in L1 as the distance from the first semaphore of the node that uses it."""
        if all(kernel.thread is ThreadKind.COMPUTE for kernel in self.compiled.kernels):
            return []
        return [
            "[[maybe_unused]] static uint32_t ttl_semaphore(uint64_t address) {",
            "  return (uint32_t)address - (uint32_t)ttl_dataflow::get_semaphore(0);",
            "}",
        ]


def _operands(name: str, is_compute: bool) -> tuple[str, str, str] | None:
    rules = _COUNTS if is_compute else _OPERANDS
    if not is_compute and not name.startswith(("cb_", "noc_")):
        return None
    return next((operands for pattern, operands in rules if re.fullmatch(pattern, name)), None)


def _split(text: str) -> Iterator[str]:
    """At the commas that are in no brackets."""
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            yield text[start:position]
            start = position + 1
    yield text[start:]


def record(
    compiled: CompiledOperation, tensors: Sequence[PagedTensor], *, cache_dir: Path
) -> Recording:
    """The calls of a run; what the tensors hold then is not to be used.

    Raises what a launch raises; UsageError for kernels that were written by hand.
    """
    from .launcher import STEP_BUDGET, addresses_of, load

    target = load_target(compiled.target)
    plans = [
        plan_tensor(address, tensor.page_bytes, tensor.memory, target, shard_words_of(tensor))
        for address, tensor in zip(addresses_of(compiled), tensors, strict=True)
    ]
    unit = RecordedUnit(compiled)
    runtime, libraries, entries = load(compiled, plans, cache_dir, unit)
    memories: list[TensorMemory] = tensor_memories(tensors)
    options = RunOptions(trace=False, step_budget=STEP_BUDGET, is_in_turn=True)
    program = make_program(program_parts(compiled, target, plans, entries), memories, options)
    program.struct.follows_writes = 0
    report = ReportStruct()
    interruption = execute(runtime, program, report)
    try:
        calls = _taken(libraries[0])
        if interruption is not None:
            raise interruption
        raise_if_failed(compiled, report)
    finally:
        runtime.ttl_free_report(ctypes.byref(report))
    if len(calls) >= MOST_CALLS:
        message = f"the kernels of `{compiled.name}` make more than {MOST_CALLS} calls"
        raise usage_error(codes.WRONG_FILE, message, "estimate a smaller problem")
    written = tuple(bool(each.written) for each in program.tensors)
    return Recording(tuple(unit.sites), tuple(nodes_of(compiled)), calls, written)


def _taken(kernels: ctypes.CDLL) -> np.ndarray:
    kernels.ttl_unit_calls.restype = ctypes.c_void_p
    kernels.ttl_free_calls.argtypes = [ctypes.c_void_p]
    count = ctypes.c_uint64()
    calls = kernels.ttl_unit_calls(ctypes.byref(count))
    if not count.value:
        return np.zeros((0, 4), np.uint32)
    data = ctypes.string_at(calls, 16 * count.value)
    kernels.ttl_free_calls(calls)
    return np.frombuffer(data, np.uint32).reshape(-1, 4)

