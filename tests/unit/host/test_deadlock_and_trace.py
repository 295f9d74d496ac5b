"""Fibers that wait, and what a run records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recorded_events import events_of
from ttl.artifact import Mark, ThreadKind
from ttl.diagnostics import KernelFault, codes
from ttl.host import launch
from ttl.host.buffer_ends import consumers, producers
from ttl.trace import EventKind, Recorder

HEAD = '#include "api/dataflow/dataflow_api.h"\nvoid kernel_main() {\n'


def _pair(tiny, first: str, second: str, corner=(0, 0)):
    kernels = [
        tiny.make_kernel("read", ThreadKind.READER, f"{HEAD}{first}\n}}\n"),
        tiny.make_kernel("write", ThreadKind.WRITER, f"{HEAD}{second}\n}}\n"),
    ]
    buffers = [tiny.make_buffer("a", 0, 2, 2), tiny.make_buffer("b", 1, 2, 2)]
    return tiny.make_operation(kernels, buffers, 0, corner)


def _deadlock(operation, cache_dir):
    with pytest.raises(KernelFault) as caught:
        launch(operation, [], cache_dir=cache_dir)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code is codes.DEADLOCK
    return diagnostic


FILL = "for (int i = 0; i < {n}; ++i) {{ cb_reserve_back({b}, 2); cb_push_back({b}, 2); }}"
DRAIN = "for (int i = 0; i < {n}; ++i) {{ cb_wait_front({b}, 2); cb_pop_front({b}, 2); }}"


def test_cycle(tiny, cache_dir):
    fill_a, fill_b = FILL.format(n=3, b=0), FILL.format(n=3, b=1)
    drain_a, drain_b = DRAIN.format(n=3, b=0), DRAIN.format(n=3, b=1)
    operation = _pair(tiny, f"{fill_a}\n{fill_b}", f"\n{drain_b}\n{drain_a}", corner=(1, 1))
    diagnostic = _deadlock(operation, cache_dir)
    assert diagnostic.message == "deadlock: 2 kernels on 4 nodes wait for each other"
    assert diagnostic.primary.text == "`read` waits for space in `a` (2 of 2 filled)"
    assert diagnostic.primary.span.line == 3
    assert diagnostic.secondary[0].text == "`write` waits for a block in `b` (0 of 2 filled)"
    assert diagnostic.secondary[0].span.line == 4
    assert "cycle: read -> a -> write -> b -> read" in diagnostic.notes
    assert "seen on all nodes; first on node (0, 0)" in diagnostic.notes


def test_nobody_pushes(tiny, cache_dir):
    diagnostic = _deadlock(_pair(tiny, "", "cb_wait_front(1, 2); cb_pop_front(1, 2);"), cache_dir)
    assert diagnostic.message == "deadlock: `write` waits on `b`, to which no kernel pushes"


def test_the_producer_has_ended(tiny, cache_dir):
    operation = _pair(tiny, FILL.format(n=3, b=0), DRAIN.format(n=4, b=0))
    diagnostic = _deadlock(operation, cache_dir)
    assert diagnostic.message == (
        "deadlock: `write` waits on `a`, but `read` has ended pushing to it"
    )


def test_only_some_nodes(tiny, cache_dir):
    drain = "if (get_absolute_logical_x() == 1) cb_wait_front(0, 2);\ncb_pop_front(0, 0);"
    operation = _pair(tiny, "cb_push_back(0, 0);", drain, corner=(1, 1))
    diagnostic = _deadlock(operation, cache_dir)
    assert "seen on 2 of 4 nodes; first on node (1, 0)" in diagnostic.notes


def test_ends_are_read_from_the_text(tiny):
    named = "constexpr uint32_t b_dfb = get_compile_time_arg_val(1); cb_push_back(b_dfb, 2);"
    operation = _pair(tiny, named, "cb_pop_front(1, 2);")
    assert producers(operation) == {"a": None, "b": "read"}
    assert consumers(operation) == {"a": None, "b": "write"}
    assert producers(_pair(tiny, "uint32_t c = 1; cb_push_back(c, 2);", "")) == {}


def test_many_blocks_flow_through(tiny, cache_dir):
    launch(
        _pair(tiny, FILL.format(n=5000, b=0), DRAIN.format(n=5000, b=0), corner=(3, 3)),
        [],
        cache_dir=cache_dir,
    )


def test_partial_waits_count_from_the_front(tiny, cache_dir):
    consumer = "cb_wait_front(0, 1);\ncb_wait_front(0, 4);\ncb_pop_front(0, 1);cb_pop_front(0, 3);"
    launch(_pair(tiny, FILL.format(n=2, b=0), consumer), [], cache_dir=cache_dir)


def test_trace(run_compute, tiny):
    recorder = Recorder()
    body = """compute_kernel_hw_startup(0, 1);
cb_wait_front(0, 2); cb_reserve_back(1, 1);
tile_regs_acquire(); copy_init(0); copy_tile(0, 0, 0); tile_regs_commit();
tile_regs_wait(); pack_tile(0, 1); tile_regs_release();
cb_push_back(1, 1); cb_pop_front(0, 2);"""
    run_compute(body, [[1.0, 2.0]], recorder=recorder)
    events = events_of(recorder)
    assert [event.tick for event in events] == list(range(len(events)))
    seen = [(event.kind, event.kernel, event.subject, event.value) for event in events]
    assert seen == [
        (EventKind.KERNEL_START, "compute", "", 0),
        (EventKind.KERNEL_BLOCKED, "compute", "in0", 0),
        (EventKind.KERNEL_START, "read", "", 0),
        (EventKind.BUFFER_RESERVE, "read", "in0", 0),
        (EventKind.COPY_START, "read", "tensor0", 4096),
        (EventKind.COPY_END, "read", "tensor0", 4096),
        (EventKind.BUFFER_PUSH, "read", "in0", 1),
        (EventKind.KERNEL_END, "read", "", 0),
        (EventKind.KERNEL_START, "write", "", 0),
        (EventKind.KERNEL_BLOCKED, "write", "out", 0),
        (EventKind.KERNEL_RESUMED, "compute", "in0", 1),
        (EventKind.BUFFER_WAIT, "compute", "in0", 1),
        (EventKind.BUFFER_RESERVE, "compute", "out", 0),
        (EventKind.BUFFER_PUSH, "compute", "out", 1),
        (EventKind.BUFFER_POP, "compute", "in0", 0),
        (EventKind.KERNEL_END, "compute", "", 0),
        (EventKind.KERNEL_RESUMED, "write", "out", 1),
        (EventKind.BUFFER_WAIT, "write", "out", 1),
        (EventKind.COPY_START, "write", "tensor1", 2048),
        (EventKind.COPY_END, "write", "tensor1", 2048),
        (EventKind.BUFFER_POP, "write", "out", 0),
        (EventKind.KERNEL_END, "write", "", 0),
    ]
    wait = next(event for event in events if event.kind is EventKind.BUFFER_WAIT)
    assert wait.line == tiny.header_lines + 2 and wait.node == (0, 0)


def test_a_tensor_given_twice_is_one_memory(tiny, cache_dir):
    source = f"""{HEAD}
  const auto from = TensorAccessor(TensorAccessorArgs<1>(), get_common_arg_val<uint32_t>(0));
  const auto to = TensorAccessor(TensorAccessorArgs<3>(), get_common_arg_val<uint32_t>(1));
  cb_reserve_back(0, 1);
  noc_async_read_page(0, from, get_write_ptr(0)); noc_async_read_barrier();
  noc_async_write_page(1, to, get_write_ptr(0)); noc_async_write_barrier();
}}
"""
    kernel = tiny.make_kernel("read", ThreadKind.READER, source, (0, 1))
    operation = tiny.make_operation([kernel], [tiny.make_buffer("in0", 0, 1, 2)], 2)
    tensor = tiny.Tensor(np.arange(1024, dtype=np.float32).reshape(2, 512))
    launch(operation, [tensor, tensor], cache_dir=cache_dir)
    np.testing.assert_array_equal(tensor.tiles[1], np.arange(512))


def test_tensors_that_were_not_written_are_not_written_back(run_compute, tiny, cache_dir):
    tensor = tiny.Tensor(np.ones((2, 512), np.float32))
    kernel = tiny.make_kernel("read", ThreadKind.READER, f"{HEAD}}}\n", (0,))
    launch(tiny.make_operation([kernel], [], 1), [tensor], cache_dir=cache_dir)
    assert tensor.writes == 0


def test_operations_of_one_process_share_no_data(tiny, cache_dir):
    """Both have a static of the same name; with a second push the wait would never end."""
    source = """#include "api/dataflow/dataflow_api.h"
template <int> int next() { static int calls = PAGES - 1; return ++calls; }
void kernel_main() { cb_reserve_back(0, next<0>()); cb_wait_front(0, next<0>() - PAGES - 1); }
"""
    for pages in (1, 2):
        text = source.replace("PAGES", str(pages))
        kernel = tiny.make_kernel("read", ThreadKind.READER, text)
        operation = tiny.make_operation([kernel], [tiny.make_buffer("in0", 0, 1, pages)], 0)
        launch(operation, [], cache_dir=cache_dir)


def test_marks_are_in_the_kernels_of_a_traced_run_alone(tiny, cache_dir):
    """These are other machine code: a run without a trace comes before, and one after."""
    body = "int turn = 5;\n(void)turn;"
    kernel = tiny.make_kernel("read", ThreadKind.READER, f"{HEAD}{body}\n}}\n")
    marked = replace(kernel, marks=(Mark(4, "semaphore_set", "ready", "0", "turn + 2", 9),))
    compiled = tiny.make_operation([marked], [], 0)
    launch(compiled, [], cache_dir=cache_dir)
    recorder = Recorder()
    launch(compiled, [], cache_dir=cache_dir, recorder=recorder)
    launch(compiled, [], cache_dir=cache_dir)
    found = [each for each in events_of(recorder) if each.kind is EventKind.SEMAPHORE_SET]
    assert [(each.subject, each.value, each.line) for each in found] == [("ready", 7, 9)]
