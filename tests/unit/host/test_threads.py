"""Nodes on several threads: nothing that a run shows depends on how many there are."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ttl.artifact import SemaphorePlan, ThreadKind
from ttl.diagnostics import KernelFault
from ttl.host import launch

HEAD = '#include "api/dataflow/dataflow_api.h"\nvoid kernel_main() {\n'
TENSOR = "const auto t = TensorAccessor(TensorAccessorArgs<1>(), get_common_arg_val<uint32_t>(0));"
THREADS = (1, 2, 5)
COLUMNS = 8

# Each node adds what its left neighbour sent to what it read, ten times round the ring.
RING = """
const uint32_t x = get_absolute_logical_x(), next = (x + 1) % 8;
volatile auto* ready = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0));
volatile auto* arrived = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(1));
const uint32_t left = worker_logical_col_to_virtual_col[(x + 7) % 8];
const uint32_t right = worker_logical_col_to_virtual_col[next];
const uint32_t row = worker_logical_row_to_virtual_row[0];
cb_reserve_back(0, 2);
const uint32_t own = get_write_ptr(0), other = own + 2048;
noc_async_read_page(x, t, own);
noc_async_read_barrier();
for (uint32_t i = 0; i < 10; ++i) {
  noc_semaphore_inc(get_noc_addr(left, row, get_semaphore(0)), 1);
  noc_async_atomic_barrier();
  noc_semaphore_wait_min(ready, i + 1);
  noc_async_write(own, get_noc_addr(right, row, other), 2048);
  noc_async_write_barrier();
  noc_semaphore_inc(get_noc_addr(right, row, get_semaphore(1)), 1);
  noc_async_atomic_barrier();
  noc_semaphore_wait_min(arrived, i + 1);
  volatile auto* mine = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(own);
  volatile auto* theirs = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(other);
  for (uint32_t k = 0; k < 512; ++k) mine[k] = mine[k] * 3u + theirs[k];
}
noc_async_write_page(x, t, own);
noc_async_write_barrier();
"""


def run(tiny, cache_dir, body, **options):
    """A kernel on eight nodes with two semaphores; gives the tensor's pages."""
    numbers = np.arange(COLUMNS * 512, dtype=np.uint32).view(np.float32)
    tensor = tiny.Tensor(numbers.reshape(-1, 512))
    text = f"{HEAD}{TENSOR} (void)t;\n{body}\n}}\n"
    kernels = [tiny.make_kernel("work", ThreadKind.READER, text, (0,))]
    buffers = [tiny.make_buffer("in0", 0, 1, 2)]
    operation = tiny.make_operation(kernels, buffers, 1, (COLUMNS - 1, 0))
    operation = replace(operation, semaphores=(SemaphorePlan(0), SemaphorePlan(1)))
    launch(operation, [tensor], cache_dir=cache_dir, **options)
    return tensor.tiles.copy().view(np.uint32)


def ring_by_numpy():
    values = np.arange(COLUMNS * 512, dtype=np.uint32).reshape(-1, 512)
    for _ in range(10):
        values = values * np.uint32(3) + np.roll(values, 1, axis=0)
    return values


@pytest.mark.parametrize("options", [*({"threads": n} for n in THREADS), {"seed": 3}], ids=str)
def test_a_ring(tiny, cache_dir, options):
    for _ in range(5):
        assert (run(tiny, cache_dir, RING, **options) == ring_by_numpy()).all()


# Node 0 sends page 0 to nodes 1 .. 4, then page 7 to nodes 3 .. 7, then signals 5 .. 7. It waits
# for them before it waits for what it sent.
OVERLAPPING = """
const uint32_t x = get_absolute_logical_x();
const auto column = worker_logical_col_to_virtual_col;
const uint32_t row = worker_logical_row_to_virtual_row[0];
const auto to = [&](uint32_t first, uint32_t last, uint32_t address) {
  return get_noc_multicast_addr(column[first], row, column[last], row, address);
};
volatile auto* signal = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0));
volatile auto* over = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(1));
cb_reserve_back(0, 2);
const uint32_t own = get_write_ptr(0), other = own + 2048;
if (x == 0) {
  noc_semaphore_wait_min(over, 7);
  for (uint32_t i = 0; i < 2; ++i) {
    noc_async_read_page(7 * i, t, own);
    noc_async_read_barrier();
    noc_async_write_multicast(own, i ? to(3, 7, other) : to(1, 4, other), 2048, i ? 5 : 4);
    noc_async_writes_flushed();
  }
  noc_semaphore_set(signal, 1);
  noc_semaphore_set_multicast(get_semaphore(0), to(5, 7, get_semaphore(0)), 3);
  noc_semaphore_wait_min(over, 10);
  noc_async_write_barrier();
  noc_semaphore_inc_multicast(to(1, 7, get_semaphore(1)), 1, 7);
  noc_async_atomic_barrier();
  return;
}
const auto tell_node_0 = [&] {
  noc_semaphore_inc(get_noc_addr(column[0], row, get_semaphore(1)), 1);
  noc_async_atomic_barrier();
};
tell_node_0();
if (x >= 5) {
  noc_semaphore_wait_min(signal, 1);
  noc_async_write_page(x, t, other);
  noc_async_write_barrier();
  tell_node_0();
}
noc_semaphore_wait_min(over, 1);
if (x < 5) noc_async_write_page(x, t, other);
noc_async_write_barrier();
"""


@pytest.mark.parametrize("options", [*({"threads": n} for n in THREADS), {"seed": 3}], ids=str)
def test_multicasts_land_in_order_on_every_receiver(tiny, cache_dir, options):
    pages = np.arange(COLUMNS * 512, dtype=np.uint32).reshape(-1, 512)
    expected = pages[[0, 0, 0, 7, 7, 7, 7, 7]]
    assert (run(tiny, cache_dir, OVERLAPPING, **options) == expected).all()


@pytest.mark.parametrize("threads", THREADS)
def test_the_first_node_that_fails_is_reported(tiny, cache_dir, threads):
    """The later ones have less to do before they fail."""
    body = """const uint32_t x = get_absolute_logical_x();
for (uint32_t i = 0; i < 4000u * (8 - x); ++i) get_semaphore(0);
if (x > 1) cb_pop_front(0, 1);"""
    for _ in range(5):
        with pytest.raises(KernelFault) as caught:
            run(tiny, cache_dir, body, threads=threads)
        assert "(2, 0)" in str(caught.value)


def test_a_deadlock_is_reported_alike(tiny, cache_dir):
    body = """noc_semaphore_wait_min(
  reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0)), get_absolute_logical_x());"""
    reports = set()
    for options in (*({"threads": n} for n in THREADS), {"seed": 1}):
        with pytest.raises(KernelFault) as caught:
            run(tiny, cache_dir, body, **options)
        reports.add(str(caught.value))
    assert len(reports) == 1


POLLING = """const uint32_t x = get_absolute_logical_x();
if (x == 7) {
  for (uint32_t i = 0; i < 7; ++i)
    noc_semaphore_inc(get_noc_addr(worker_logical_col_to_virtual_col[i],
                                   worker_logical_row_to_virtual_row[0], get_semaphore(0)), 1);
  %s
} else {
  volatile auto* word = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0));
  while (*word == 0) invalidate_l1_cache();
}"""


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("barrier", ["noc_async_atomic_barrier();", "invalidate_l1_cache();"])
def test_nodes_that_poll_see_what_lands(tiny, cache_dir, threads, barrier):
    """Also where no barrier asks for it: the signals of node 7 land when nobody gets on."""
    body = POLLING % f"{barrier} noc_async_atomic_barrier();"
    run(tiny, cache_dir, body, threads=threads, step_budget=100_000)


@pytest.mark.parametrize("threads", THREADS)
def test_nodes_that_poll_in_vain_are_found(tiny, cache_dir, threads):
    with pytest.raises(KernelFault, match="steps"):
        run(
            tiny,
            cache_dir,
            POLLING.replace("x == 7", "x == 9") % "",
            threads=threads,
            step_budget=100_000,
        )


def test_two_runs_at_once(tiny, cache_dir):
    """One of them has the helpers, the other none."""
    results = []
    workers = [
        threading.Thread(target=lambda: results.append(run(tiny, cache_dir, RING, threads=3)))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 4
    assert all((result == ring_by_numpy()).all() for result in results)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted in /proc")
def test_launches_one_after_the_other_share_a_thread(tiny, cache_dir):
    run(tiny, cache_dir, "", threads=2)
    before = len(os.listdir("/proc/self/task"))
    for _ in range(300):
        run(tiny, cache_dir, "", threads=2)
    assert len(os.listdir("/proc/self/task")) <= before


def allowed_processors():
    """Of each thread of this process."""
    tasks = Path("/proc/self/task").glob("*/status")
    lines = [line for task in tasks for line in task.read_text().splitlines()]
    return {line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:")}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_threads_may_run_where_they_could_before(tiny, cache_dir):
    """Those who are called begin on another processor than their caller's, and come back."""
    before = allowed_processors()
    for _ in range(50):
        run(tiny, cache_dir, RING, threads=5)
    until = time.monotonic() + 10
    while allowed_processors() != before and time.monotonic() < until:
        time.sleep(0.01)
    assert allowed_processors() == before


def test_a_child_of_fork_has_threads_of_its_own(tiny, cache_dir):
    run(tiny, cache_dir, RING, threads=3)
    child = os.fork()
    if child == 0:
        is_right = (run(tiny, cache_dir, RING, threads=3) == ring_by_numpy()).all()
        os._exit(0 if is_right else 1)
    assert os.waitpid(child, 0)[1] == 0
