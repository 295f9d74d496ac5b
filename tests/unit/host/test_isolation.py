"""Kernels in a process of their own: what they do there is reported, and this process goes on."""

from __future__ import annotations

import ctypes
import os
import resource
import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ttl.artifact import ThreadKind
from ttl.diagnostics import KernelFault, UsageError, codes
from ttl.host import CallCounts, isolation, launch, sandbox, system_calls
from ttl.host.program import ReportStruct
from ttl.host.system_calls import ALLOW, EVERYWHERE, MACHINES
from ttl.trace import Recorder

HEAD = """#include "api/dataflow/dataflow_api.h"
extern "C" {
void abort(); void _exit(int); int raise(int); int kill(int, int); int getppid();
int open(const char*, int, ...); int socket(int, int, int); int connect(int, const void*, unsigned);
long write(int, const void*, unsigned long); int close(int); int pause();
int socketpair(int, int, int, int*); int fork();
int execve(const char*, char* const*, char* const*);
int getpid(); int setrlimit(int, const void*); long syscall(long, ...); int* __errno_location();
void* malloc(unsigned long); void* mmap(void*, unsigned long, int, int, int, long);
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
        "for (int fd = 3; fd < 40; ++fd) write(fd, HEAD, 16);",
        "what it reported cannot be read",
    ),
    "a report that names nothing": (
        "for (int fd = 3; fd < 40; ++fd) { write(fd, SIZE, 8); write(fd, REPORT, sizeof(REPORT)); }"
        "pause();",
        "what it reported cannot be read",
    ),
}
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


# Each is done by a kernel, and has to fail; 1 is EPERM.
NUMBERS = {"x86_64": {"io_uring_setup": 425, "clone": 56, "tkill": 200, "pidfd_open": 434}}
NUMBERS["aarch64"] = NUMBERS["x86_64"] | {"clone": 220, "tkill": 130}
REFUSED = {
    "a socket of this machine": "socket(1, 1, 0)",
    "a datagram socket of this machine": "socket(1, 2, 0)",
    "a pair of sockets": "socketpair(1, 1, 0, pair)",
    "a socket of the internet": "socket(2, 1, 0)",
    "a socket of the kernel": "socket(16, 3, 0)",
    "a ring": "syscall({io_uring_setup}, 8, zeros)",
    "a connection": "connect(0, zeros, 16)",
    "a process": "fork()",
    "a process, asked of the kernel": "syscall({clone}, 17, 0, 0, 0, 0)",
    "a program": 'execve("/bin/true", nullptr, nullptr)',
    "a signal to the process that started it": "kill(getppid(), 0)",
    "a signal to all": "kill(-1, 0)",
    "a signal to a thread": "syscall({tkill}, getppid(), 0)",
    "a handle of a process": "syscall({pidfd_open}, getppid(), 0)",
    "more memory": "setrlimit(9, zeros)",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_reaches_out_of_the_process_is_refused(tiny, cache_dir, name):
    call = REFUSED[name].format(**NUMBERS[os.uname().machine])
    body = f"""
        static char zeros[256]; int pair[2]; (void)zeros; (void)pair;
        if ({call} != -1) abort();
        if (*__errno_location() != 1) _exit(*__errno_location());
    """
    assert run(tiny, cache_dir, body) == []


@pytest.mark.parametrize("name", ["by its path", "by a name without a path"])
def test_a_socket_of_this_machine_is_not_reached(tiny, cache_dir, tmp_path, name):
    """As that of an agent, which kernels could ask to sign."""
    path = str(tmp_path / "agent") if "its path" in name else f"\0agent-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(path)
        agent.listen()
        agent.setblocking(False)
        data = b"\1\0" + path.encode()
        body = f"""
            unsigned char address[{len(data)}] = {{{", ".join(map(str, data))}}};
            for (int fd = 0; fd < 64; ++fd) if (connect(fd, address, sizeof(address)) == 0) abort();
            if (connect(socket(1, 1, 0), address, sizeof(address)) == 0) abort();
        """
        assert run(tiny, cache_dir, body) == []
        with pytest.raises(BlockingIOError):
            agent.accept()


def test_its_own_signals_work(tiny, cache_dir):
    run(tiny, cache_dir, "if (kill(getpid(), 0) != 0) abort();")


def test_without_a_filter_of_system_calls(tiny, cache_dir, monkeypatch, tmp_path):
    """On another processor, say. The network is closed all the same, as files are."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os; os.uname = lambda: os.uname_result(('Linux', 'n', 'r', 'v', 'riscv64'))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    run(tiny, cache_dir, "", report=found.append)
    (warning,) = found
    assert warning.code is codes.ISOLATION_PARTIAL
    assert warning.facts["open"] == ["sockets of this machine", "other processes"]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_filter_ends_for_every_call(machine):
    """What the kernel would do with it, for each number of a call; all jumps go forward."""
    code = system_calls.program(MACHINES[machine], 77)
    refused = {each for each in range(600) if _judged(code, machine, each) != ALLOW}
    wanted = {*MACHINES[machine].refused.values(), *EVERYWHERE.values(), *SIGNALS[machine]}
    assert refused == wanted | {MACHINES[machine].clone3, MACHINES[machine].clone}
    for number in SIGNALS[machine]:
        assert _judged(code, machine, number, 77) == ALLOW
    assert _judged(code, machine, MACHINES[machine].clone, 0x3D0F00) == ALLOW  # a thread
    assert _judged(code, machine, 1, architecture=0x40000003) != ALLOW  # of 32 bits
    if machine == "x86_64":
        assert _judged(code, machine, 0x40000001) != ALLOW


SIGNALS = {machine: MACHINES[machine].signals for machine in MACHINES}


def _judged(code: bytes, machine: str, number: int, first: int = 0, architecture: int = 0) -> int:
    """What a packet filter returns, as the kernel runs it."""
    fields = {
        system_calls.NUMBER: number,
        system_calls.ARCHITECTURE: architecture or MACHINES[machine].architecture,
        system_calls.FIRST_ARGUMENT: first,
    }
    tests = {
        system_calls.IF_EQUAL: lambda value, k: value == k,
        system_calls.IF_AT_LEAST: lambda value, k: value >= k,
        system_calls.IF_ANY_BIT: lambda value, k: bool(value & k),
    }
    place, value = 0, 0
    while True:
        what, yes, no, k = system_calls.INSTRUCTION.unpack_from(code, place * 8)
        place += 1
        if what == system_calls.RETURN:
            return k
        if what == system_calls.LOAD:
            value = fields[k]
        else:
            place += yes if tests[what](value, k) else no


TAKES = """
    const unsigned long step = 64ul << 20;
    for (unsigned long taken = 0; taken < (20ul << 30); taken += step) {
      {how}
      for (unsigned long at = 0; at < step; at += 4096) part[at] = 1;
    }
    abort();
"""
WAYS = {
    "by malloc": "char* part = (char*)malloc(step); if (!part) return;",
    "private": "char* part = (char*)mmap(0, step, 3, 0x22, -1, 0); if (part == (char*)-1) return;",
    "shared": "char* part = (char*)mmap(0, step, 3, 0x21, -1, 0); if (part == (char*)-1) return;",
}


@pytest.mark.parametrize("way", WAYS)
def test_twenty_gigabytes_are_not_given(tiny, cache_dir, way):
    """With the machine's memory as the limit, this took all of it."""
    body = TAKES.replace("{how}", WAYS[way])
    assert run(tiny, cache_dir, body, memory_bytes=256 << 20) == []


def test_the_memory_that_is_given_by_default(tiny, cache_dir):
    fits, does_not = 1 << 30, 5 << 30
    body = f"""
        if (mmap(0, {fits}ul, 3, 0x4022, -1, 0) == (void*)-1) abort();
        if (mmap(0, {does_not}ul, 3, 0x4022, -1, 0) != (void*)-1) _exit(1);
    """
    assert run(tiny, cache_dir, body) == []


def test_too_little_memory_to_load_the_kernels_names_the_variable(tiny, cache_dir):
    with pytest.raises(KernelFault) as ended:
        run(tiny, cache_dir, "", memory_bytes=1)
    assert ended.value.diagnostics[0].helps == isolation.MORE_MEMORY


def test_too_little_memory_for_the_nodes_names_the_variable(tiny, cache_dir):
    kernel = tiny.make_kernel("read", ThreadKind.READER, f"{HEAD}void kernel_main() {{}}\n")
    operation = tiny.make_operation([kernel], [tiny.make_buffer("in0", 0, 1, 600)], 0)
    operation = replace(operation, core_range=((0, 0), (7, 7)))
    with pytest.raises(UsageError, match="too little for the L1") as refused:
        launch(operation, [], cache_dir=cache_dir, isolate=True, memory_bytes=32 << 20)
    assert "TTL_ISOLATE_MEMORY=8G" in refused.value.diagnostics[0].helps[0]
    launch(operation, [], cache_dir=cache_dir, isolate=True, memory_bytes=512 << 20)


def test_the_system_ends_it_first(tiny, cache_dir, tmp_path, monkeypatch):
    """Where memory is short; a kernel cannot see that file."""
    monkeypatch.setattr(sandbox, "VICTIM", tmp_path / "score")
    sandbox.offer_as_victim()
    assert (tmp_path / "score").read_text() == "1000"
    seen, own = [], Path("/proc/self/oom_score_adj").read_text()
    monkeypatch.setattr(isolation, "_go_on", _noting(isolation._go_on, seen))
    run(tiny, cache_dir, "")
    assert seen == ["1000\n"] and Path("/proc/self/oom_score_adj").read_text() == own


def _noting(go_on, seen):
    def noting(process):
        seen.append(Path(f"/proc/{process.pid}/oom_score_adj").read_text())
        go_on(process)

    return noting


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
