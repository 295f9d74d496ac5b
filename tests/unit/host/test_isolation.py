"""Kernels in a process of their own: what they do there is reported, and this process goes on."""

from __future__ import annotations

import ctypes
import os
import resource
import socket
from contextlib import ExitStack

import numpy as np
import pytest

from ttl.artifact import ThreadKind
from ttl.diagnostics import KernelFault, UsageError, codes
from ttl.host import CallCounts, isolation, launch
from ttl.host.program import ReportStruct
from ttl.trace import Recorder

HEAD = """#include "api/dataflow/dataflow_api.h"
extern "C" {
void abort(); void _exit(int); int raise(int); int kill(int, int); int getppid();
int open(const char*, int, ...); int socket(int, int, int); int connect(int, const void*, unsigned);
long write(int, const void*, unsigned long); int close(int); int pause();
void* mmap(void*, unsigned long, int, int, int, long);
}
"""


def run(tiny, cache_dir, body: str, before: str = "", **options) -> list[str]:
    """What was warned of."""
    source = f"{HEAD}{before}\nvoid kernel_main() {{\n{body}\n}}\n"
    kernel = tiny.make_kernel("read", ThreadKind.READER, source)
    operation = tiny.make_operation([kernel], [tiny.make_buffer("in0", 0, 1, 2)], 0)
    found = []
    options = {"isolate": True, "report": found.append} | options
    launch(operation, [], cache_dir=cache_dir, **options)
    return [each.code.code for each in found]


BREAKS = {
    "it is told to end": ("abort();", "SIGABRT"),
    "it ends itself": ("_exit(0);", "it ended with status 0"),
    "it ends while it is loaded": ("", "SIGABRT"),
    "memory that is not the kernel's": ("raise(9);", "SIGKILL"),
    "an answer of its own": (
        "for (int fd = 3; fd < 40; ++fd) write(fd, HEAD, 16);", "what it reported cannot be read",
    ),
    "a report that names nothing": (
        "for (int fd = 3; fd < 40; ++fd) { write(fd, SIZE, 8); write(fd, REPORT, sizeof(REPORT)); }"
        "pause();",
        "what it reported cannot be read",
    ),
}  # fmt: skip
AT_LOADING = "__attribute__((constructor)) static void first() { abort(); }"
ANSWERS = """
static const char HEAD[] = "xxxxxxxxxxxxxxxx";
static unsigned REPORT[{words}] = {{1, 9999, 9999}};
static unsigned long SIZE[] = {{sizeof(REPORT)}};
"""


@pytest.mark.parametrize("name", BREAKS)
def test_what_ends_or_breaks_the_process(tiny, cache_dir, name):
    body, why = BREAKS[name]
    before = AT_LOADING if "loaded" in name else ""
    if "answer" in name or "report" in name:
        before = ANSWERS.format(words=isolation.ctypes.sizeof(isolation.ReportStruct) // 4)
    with pytest.raises(KernelFault) as caught:
        run(tiny, cache_dir, body, before)
    (found,) = caught.value.diagnostics
    assert found.code is codes.EXECUTOR_FAULT
    assert found.message.endswith(f"`tiny` broke the process in which they ran: {why}")


@pytest.mark.parametrize("before", ["", "for (int fd = 3; fd < 40; ++fd) close(fd);"])
def test_a_process_that_shows_no_sign_of_life(tiny, cache_dir, monkeypatch, before):
    """Also where nothing can come from it any more: it has not ended."""
    monkeypatch.setattr(isolation, "SILENT_SECONDS", 2.0)
    with pytest.raises(KernelFault, match="no sign of life for 2 s"):
        run(tiny, cache_dir, f"{before} raise(19);")


def test_a_program_with_many_open_files(tiny, cache_dir):
    """Descriptors beyond 1024, which select() does not take."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as later:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, limits[1]), limits[1]))
        later.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        for _ in range(1024):
            later.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        run(tiny, cache_dir, "get_write_ptr(0);")


def test_a_loop_of_calls(tiny, cache_dir):
    with pytest.raises(KernelFault) as caught:
        run(tiny, cache_dir, "while (true) get_write_ptr(0);", step_budget=1000)
    assert caught.value.diagnostics[0].code is codes.SPINNING


@pytest.mark.full
def test_a_loop_without_calls(tiny, cache_dir):
    with pytest.raises(KernelFault) as caught:
        run(tiny, cache_dir, "while (true);")
    assert caught.value.diagnostics[0].code is codes.SPINNING


def test_a_wild_pointer_is_reported_with_its_line(tiny, cache_dir):
    wild = "*reinterpret_cast<volatile uint32_t*>((uintptr_t)64) = 1;"
    with pytest.raises(KernelFault, match="the kernel uses address 0x40"):
        run(tiny, cache_dir, f"cb_reserve_back(0, 1);\n{wild}")


def test_files_the_network_and_other_processes_are_closed(tiny, cache_dir, tmp_path):
    """Needs the extra `isolate`, and a system with Landlock and network namespaces."""
    secret, written = tmp_path / "secret", tmp_path / "written"
    secret.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        address = f"{{2, 0, {port >> 8}, {port & 255}, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}}"
        body = f"""
            if (open("{secret}", 0) >= 0) abort();
            if (open("{written}", 0101, 0600) >= 0) _exit(1);
            unsigned char address[16] = {address};
            if (connect(socket(2, 1, 0), address, 16) == 0) _exit(2);
            if (kill(getppid(), 0) == 0) _exit(3);
        """
        assert run(tiny, cache_dir, body) == []
    assert not written.exists()


def test_what_could_not_be_closed_is_reported(tiny, cache_dir, tmp_path, monkeypatch):
    (tmp_path / "landlockpy.py").write_text("raise ImportError\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(tiny, cache_dir, "") == ["TTL6016"]


def test_memory_is_limited(tiny, cache_dir):
    run(tiny, cache_dir, "if (mmap(0, 1ul << 44, 0, 0x4022, -1, 0) != (void*)-1) abort();")


def test_the_tensors_are_what_they_are_in_one_process(tiny, cache_dir):
    values = np.arange(3 * 1024, dtype=np.uint32).reshape(3, 1024)
    read = """#include "api/dataflow/dataflow_api.h"
void kernel_main() {
  const auto from = TensorAccessor(TensorAccessorArgs<1>(), get_common_arg_val<uint32_t>(0));
  const auto to = TensorAccessor(TensorAccessorArgs<3>(), get_common_arg_val<uint32_t>(1));
  cb_reserve_back(0, 1);
  for (uint32_t page = 0; page < 3; ++page) {
    noc_async_read_page(page, from, get_write_ptr(0));
    noc_async_read_barrier();
    noc_async_write_page(2 - page, to, get_write_ptr(0));
    noc_async_write_barrier();
  }
}
"""
    kernel = tiny.make_kernel("read", ThreadKind.READER, read, (0, 1))
    buffer = tiny.make_buffer("in0", 0, 1, 2, data_format="UInt32")
    operation = tiny.make_operation([kernel], [buffer], 2)
    source, result = tiny.Tensor(values), tiny.Tensor(np.zeros_like(values))
    launch(operation, [source, result], cache_dir=cache_dir, isolate=True)
    np.testing.assert_array_equal(result.tiles, values[::-1])
    assert (source.writes, result.writes) == (0, 1)


def test_what_is_open_is_refused_before_the_kernels_run(tiny, cache_dir, tmp_path, monkeypatch):
    (tmp_path / "landlockpy.py").write_text("raise ImportError\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def refuse(found):
        raise UsageError(found)

    with pytest.raises(UsageError) as refused:  # not KernelFault
        run(tiny, cache_dir, "", AT_LOADING, report=refuse)
    assert refused.value.diagnostics[0].code is codes.ISOLATION_PARTIAL


CALLS = """for (int i = 0; i < 3; ++i) {
  cb_reserve_back(0, 1);
  cb_push_back(0, 1);
  noc_async_read_barrier();
  cb_wait_front(0, 1);
  cb_pop_front(0, 1);
}"""


def test_counts_and_events_are_those_of_one_process(tiny, cache_dir):
    counts, events = [], []
    for isolate in (False, True):
        counts.append(CallCounts())
        recorder = Recorder()
        run(tiny, cache_dir, CALLS, counts=counts[-1], recorder=recorder, isolate=isolate)
        ((_, recorded),) = recorder.bulks
        events.append((recorded.said, recorded.data))
    assert counts[0] == counts[1] and counts[1].calls["noc_async_read_barrier"] == 3
    assert events[0] == events[1]


@pytest.mark.parametrize("event", ["99, 0, 0", "0, 99, 0", "0, 0, 99"])
def test_an_event_that_names_nothing(tiny, cache_dir, event):
    """Of an unknown kind, node or kernel, in a report that the kernels wrote."""
    size, offset = ctypes.sizeof(ReportStruct), ReportStruct.event_count.offset // 4
    before = f"""
static unsigned long SIZE[] = {{{size + 32}}};
static unsigned REPORT[{size // 4}], EVENT[8] = {{{event}}};
"""
    body = f"""REPORT[{offset}] = 1;
for (int fd = 3; fd < 40; ++fd) {{
  write(fd, SIZE, 8); write(fd, REPORT, sizeof(REPORT)); write(fd, EVENT, sizeof(EVENT));
}}
pause();"""
    with pytest.raises(KernelFault, match="what it reported cannot be read"):
        run(tiny, cache_dir, body, before, recorder=Recorder())
