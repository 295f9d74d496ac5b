"""Data movement beyond reads and writes of pages: when transfers land, node to node, semaphores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ttl.artifact import CoreArguments, SemaphorePlan, ThreadKind
from ttl.diagnostics import KernelFault, codes
from ttl.host import launch

HEAD = '#include "api/dataflow/dataflow_api.h"\nvoid kernel_main() {\n'
TENSOR = "const auto t = TensorAccessor(TensorAccessorArgs<1>(), get_common_arg_val<uint32_t>(0));"
READ, WRITE = ThreadKind.READER, ThreadKind.WRITER


def run(tiny, cache_dir, kernels, pages=2, corner=(0, 0), semaphores=(), **options):
    """Kernels by name on one buffer of two pages and one tensor; gives the tensor's pages."""
    tensor = tiny.Tensor(np.arange(pages * 512, dtype=np.float32).reshape(pages, 512))
    made = [
        tiny.make_kernel(name, thread, f"{HEAD}{TENSOR} (void)t;\n{body}\n}}\n", (0,))
        for name, (thread, body) in kernels.items()
    ]
    operation = tiny.make_operation(made, [tiny.make_buffer("in0", 0, 1, 2)], 1, corner)
    operation = replace(operation, semaphores=tuple(semaphores))
    launch(operation, [tensor], cache_dir=cache_dir, **options)
    return tensor.tiles


COPY = """for (uint32_t i = 0; i < 8; ++i) {{
  cb_reserve_back(0, 1); noc_async_read_page(i, t, get_write_ptr(0));
  {read_barrier} cb_push_back(0, 1);
}}
noc_async_read_barrier();"""
BACK = """for (uint32_t i = 0; i < 8; ++i) {{
  cb_wait_front(0, 1); noc_async_write_page(8 + i, t, get_read_ptr(0));
  {write_barrier} cb_pop_front(0, 1);
}}
noc_async_write_barrier();"""
BARRIERS = {
    "all there": ("noc_async_read_barrier();", "noc_async_write_barrier();", True),
    "writes flushed is enough to pop": (
        "noc_async_read_barrier();",
        "noc_async_writes_flushed();",
        True,
    ),
    "no read barrier before push": ("", "noc_async_write_barrier();", False),
    "no write barrier before pop": ("noc_async_read_barrier();", "", False),
}


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("case", BARRIERS)
def test_a_missing_barrier_shows(tiny, cache_dir, case, seed):
    read_barrier, write_barrier, is_right = BARRIERS[case]
    kernels = {
        "read": (READ, COPY.format(read_barrier=read_barrier)),
        "write": (WRITE, BACK.format(write_barrier=write_barrier)),
    }
    pages = run(tiny, cache_dir, kernels, pages=16, seed=seed)
    assert (pages[8:] == pages[:8]).all() == is_right


def test_a_seed_changes_the_order_in_which_transfers_land(tiny, cache_dir):
    """Eight reads into one place: without a seed the last one lands last."""
    body = """cb_reserve_back(0, 1);
for (uint32_t i = 0; i < 8; ++i) noc_async_read_page(i, t, get_write_ptr(0));
noc_async_read_barrier();
noc_async_write_page(8, t, get_write_ptr(0)); noc_async_write_barrier();"""
    last = {
        seed: int(run(tiny, cache_dir, {"read": (READ, body)}, 9, seed=seed)[8, 0]) // 512
        for seed in (None, *range(8))
    }
    assert last[None] == 7
    assert len(set(last.values())) > 2
    again = int(run(tiny, cache_dir, {"read": (READ, body)}, 9, seed=3)[8, 0]) // 512
    assert again == last[3]


def test_writes_to_one_node_stay_in_order(tiny, cache_dir):
    """Two writes to one place of L1: the second one lands second, whatever the seed is."""
    body = """cb_reserve_back(0, 2); const uint32_t l1 = get_write_ptr(0);
noc_async_read_page(0, t, l1); noc_async_read_barrier();
noc_inline_dw_write<InlineWriteDst::L1>(get_noc_addr(l1), 1);
noc_inline_dw_write<InlineWriteDst::L1>(get_noc_addr(l1), 2);
noc_async_write_barrier();
noc_async_write_page(1, t, l1); noc_async_write_barrier();"""
    for seed in range(6):
        pages = run(tiny, cache_dir, {"read": (READ, body)}, seed=seed)
        assert pages[1].view(np.uint32)[0] == 2


def test_node_to_node_and_stateful_forms(tiny, cache_dir):
    """Node (1, 0) sends its L1 to node (0, 0), which waits and writes it to page 1."""
    body = """cb_reserve_back(0, 2); const uint32_t l1 = get_write_ptr(0);
volatile tt_l1_ptr uint32_t* done =
    reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)get_semaphore(1));
const auto there = get_virtual_coord_from_worker_logical_coord(0, 0);
if (my_x[0] == there.x) {
  noc_semaphore_wait_min(done, 6);
  noc_async_write_page(1, t, l1 + 2048); noc_async_write_barrier();
} else {
  noc_async_read_one_packet_set_state(t.get_noc_addr(0), 1024);
  noc_async_read_one_packet_with_state((uint32_t)t.get_noc_addr(0), l1);
  noc_async_read_one_packet_with_state((uint32_t)t.get_noc_addr(0, 1024), l1 + 1024);
  noc_async_read_barrier();
  const uint64_t to = get_noc_addr(there.x, there.y, l1 + 2048);
  noc_async_write_one_packet_set_state(to, 1024);
  noc_async_write_one_packet_with_state(l1, (uint32_t)to);
  noc_async_write_one_packet_with_trid(l1 + 1024, to + 1024, 1024, 3);
  noc_async_write_barrier();
  noc_semaphore_inc(get_noc_addr(there.x, there.y, get_semaphore(1)), 3);
  noc_async_atomic_barrier();
}"""
    pages = run(
        tiny,
        cache_dir,
        {"read": (READ, body)},
        corner=(1, 0),
        semaphores=[SemaphorePlan(0), SemaphorePlan(1, 3)],
    )
    np.testing.assert_array_equal(pages[1], pages[0])


def test_arguments_of_a_core(tiny, cache_dir):
    kernel = tiny.make_kernel("read", READ, f"{HEAD}cb_reserve_back(0, get_arg_val<int>(1));\n}}")
    arguments = (CoreArguments((0, 0), (9, 1)), CoreArguments((1, 0), (9, 3)))
    operation = tiny.make_operation(
        [replace(kernel, runtime_args=arguments)], [tiny.make_buffer("in0", 0, 1, 2)], 0, (1, 0)
    )
    with pytest.raises(KernelFault, match=r"node \(1, 0\): cb_reserve_back asks for 3 pages"):
        launch(operation, [], cache_dir=cache_dir)


POLLS = {
    "buffer": (
        "while (!cb_pages_available_at_front(0, 1));",
        "cb_reserve_back(0, 1);cb_push_back(0, 1);",
    ),
    "word": ("while (*p != 5) invalidate_l1_cache();", "noc_semaphore_set(p, 5);"),
}
POINTER = """volatile tt_l1_ptr uint32_t* p =
    reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)get_semaphore(0)); (void)p;\n"""


@pytest.mark.parametrize("what", POLLS)
def test_polling_lets_others_run(tiny, cache_dir, what):
    poll, change = POLLS[what]
    kernels = {
        "read": (
            READ,
            f"{POINTER}{poll}"
            + ("cb_wait_front(0, 1); cb_pop_front(0, 1);" if what == "buffer" else ""),
        ),
        "write": (WRITE, POINTER + change),
    }
    run(tiny, cache_dir, kernels, semaphores=[SemaphorePlan(0)])
    with pytest.raises(KernelFault) as caught:
        run(
            tiny,
            cache_dir,
            {"read": kernels["read"]},
            semaphores=[SemaphorePlan(0)],
            step_budget=1000,
        )
    assert caught.value.diagnostics[0].code is codes.SPINNING


WRONG = {
    "semaphore 1 is used, but the operation has 1": "\nget_semaphore(1);",
    "no node of the operation has the NoC coordinates (3, 4)": (
        "cb_reserve_back(0, 1);\nnoc_async_write(get_write_ptr(0), get_noc_addr(3, 4, "
        "get_write_ptr(0)), 32);"
    ),
    "there is no column 99": (
        "get_write_ptr(0);\nuint32_t x = worker_logical_col_to_virtual_col[99]; (void)x;"
    ),
    "one packet takes 8192 bytes, not 16384": (
        "\nnoc_async_read_one_packet(t.get_noc_addr(0), get_write_ptr(0), 16384);"
    ),
    "there is no transaction id 16": "\nnoc_async_read_set_trid(16);",
    "ended without noc_async_atomic_barrier": (
        "\nnoc_semaphore_inc(get_noc_addr((uint32_t)get_semaphore(0)), 1);"
    ),
    "is not the address of a word in L1": (
        "\nnoc_semaphore_set(reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)3), 1);"
    ),
    "an inline write goes to L1": "\nnoc_inline_dw_write(t.get_noc_addr(0), 1);",
}


@pytest.mark.parametrize("message", WRONG)
def test_faults(tiny, cache_dir, message):
    with pytest.raises(KernelFault) as caught:
        run(tiny, cache_dir, {"read": (READ, WRONG[message])}, semaphores=[SemaphorePlan(0)])
    diagnostic = caught.value.diagnostics[0]
    assert message in diagnostic.message
    assert diagnostic.primary.span.line == (4 if "column" in message else 5)


def test_what_is_left_in_a_buffer(tiny, cache_dir):
    push = "cb_reserve_back(0, 1); cb_push_back(0, 1);"
    pop = "cb_wait_front(0, 1); cb_pop_front(0, 1);"
    kernels = {
        "read": (READ, f"for (int i = 0; i < 3; ++i) {{ {push} }}"),
        "write": (WRITE, f"for (int i = 0; i < 2; ++i) {{ {pop} }}"),
    }
    found = []
    run(tiny, cache_dir, kernels, corner=(1, 1), report=found.append)
    (diagnostic,) = found
    assert diagnostic.code is codes.BUFFER_LEFTOVER
    assert diagnostic.message == "1 block is left in `in0` at the end of the operation"
    assert diagnostic.notes == (
        "on node (0, 0) `read` calls push() 3 times, `write` calls pop() 2 times",
        "seen on 4 of 4 nodes",
    )
    assert diagnostic.primary.span.file == "buffers.py"


def test_circular_buffers_as_objects(tiny, cache_dir):
    include = '#include "api/dataflow/circular_buffer.h"\n'
    bodies = {
        READ: """CircularBuffer in(0); in.reserve_back(1);
noc_async_read_page(0, t, in.get_write_ptr()); noc_async_read_barrier(); in.push_back(1);""",
        WRITE: """CircularBuffer in(0); in.wait_front(1);
noc_async_write_page(1, t, in.get_read_ptr()); noc_async_write_barrier(); in.pop_front(1);""",
    }
    kernels = [
        tiny.make_kernel(thread.value, thread, f"{include}{HEAD}{TENSOR}\n{body}\n}}\n", (0,))
        for thread, body in bodies.items()
    ]
    tensor = tiny.Tensor(np.arange(1024, dtype=np.float32).reshape(2, 512))
    operation = tiny.make_operation(kernels, [tiny.make_buffer("in0", 0, 1, 2)], 1)
    launch(operation, [tensor], cache_dir=cache_dir)
    np.testing.assert_array_equal(tensor.tiles[1], tensor.tiles[0])
