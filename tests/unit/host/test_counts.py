"""Counting the calls of kernels."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import pytest

from ttl.artifact import ComputeConfig, ThreadKind
from ttl.host import CallCounts, counts_table, launch, record
from ttl.host.counts import BARRIERS, INIT, MATH, NOC, PACK, SECTIONS, UNPACK, columns_of
from ttl.semantics.ops import BLOCK_OPS, TileCall

HEAD = '#include "api/dataflow/dataflow_api.h"\nvoid kernel_main() {\n'


@pytest.mark.parametrize(
    ("call", "columns"),
    [
        ("tile_regs_acquire", (SECTIONS,)),
        ("tile_regs_commit", ()),
        ("copy_tile", (UNPACK, MATH)),
        ("add_tiles", (UNPACK, MATH)),
        ("mul_tiles_bcast", (UNPACK, MATH)),
        ("add_reuse_dest_tiles", (UNPACK, MATH)),
        ("matmul_block", (UNPACK, MATH)),
        ("reduce_tile", (UNPACK, MATH)),
        ("exp_tile", (MATH,)),
        ("sfpu_reduce", (MATH,)),
        ("add_binary_tile", (MATH,)),
        ("typecast_tile", (MATH,)),
        ("pack_tile", (PACK,)),
        ("pack_block", (PACK,)),
        ("exp_tile_init", (INIT,)),
        ("add_init", (INIT,)),
        ("reduce_uninit", (INIT,)),
        ("matmul_block_init", (INIT,)),
        ("binary_op_init_common", (INIT,)),
        ("compute_kernel_hw_startup", (INIT,)),
        ("reconfig_data_format", (INIT,)),
        ("pack_reconfig_data_format", (INIT,)),
        ("noc_async_read_page", (NOC,)),
        ("noc_semaphore_inc", (NOC,)),
        ("noc_async_read_barrier", (BARRIERS,)),
        ("noc_async_read_barrier_with_trid", (BARRIERS,)),
        ("noc_async_read_set_trid", ()),
        ("noc_async_writes_flushed", ()),
        ("noc_semaphore_wait", ()),
        ("get_tile_size", ()),
        ("cb_wait_front", ()),
        ("kernel_main", ()),
    ],
)
def test_what_a_call_is(call, columns):
    assert columns_of(call) == columns


def tile_calls(value):
    """Those that stand anywhere in a column of the op table."""
    if isinstance(value, TileCall):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    if is_dataclass(value):
        parts = [getattr(value, each.name) for each in fields(value)]
    for part in parts:
        yield from tile_calls(part)


def test_every_call_of_the_op_table_is_counted():
    calls = [call for op in BLOCK_OPS.values() for call in tile_calls(op.tile)]
    assert len(calls) > 100
    for call in calls:
        assert MATH in columns_of(call.call.split("<")[0]), call.call
        assert columns_of(call.init.split("<")[0]) in ((INIT,), ()), call.init


def operation(tiny, body):
    kernel = tiny.make_kernel("read", ThreadKind.READER, f"{HEAD}{body}\n}}\n")
    return tiny.make_operation([kernel], [tiny.make_buffer("a", 0, 1)], 0, corner=(1, 0))


def test_calls_are_counted_where_they_are_made(tiny, cache_dir):
    """Also without braces, in comments not at all, on every node, and again in the next run."""
    body = """
  // noc_async_atomic_barrier();
  int k_tile = 0;
  for (k_tile = 0; k_tile < 3; ++k_tile) noc_async_read_barrier();
  if (k_tile > 100) noc_async_write_barrier(); else noc_async_full_barrier();"""
    compiled = operation(tiny, body)
    counts = CallCounts()
    launch(compiled, [], cache_dir=cache_dir, counts=counts)
    expected = {"noc_async_read_barrier": 6, "noc_async_full_barrier": 2}
    assert {call: count for call, count in counts.calls.items() if count} == expected
    launch(compiled, [], cache_dir=cache_dir)  # not counted
    launch(compiled, [], cache_dir=cache_dir, counts=counts)
    assert counts.columns[BARRIERS] == 16


@pytest.mark.wrong_kernel("these names are gone from the headers")
def test_what_a_call_calls_in_turn_is_not_counted(tiny, cache_dir):
    """The names of 0.69 are made of those of 0.81, and these of each other."""
    body = """binary_op_init_common(0, 0, 0); add_tiles_init(0, 0); mm_block_init_short(0, 0);
  mul_bcast_rows_init_short(0, 0); reconfig_data_format(0, 0, 0, 0); copy_tile_init(0);
  cb_reserve_back(0, 1); cb_push_back(0, 1); cb_wait_front(0, 1);
  tile_regs_acquire(); copy_block(0, 0, 0, 1); tile_regs_commit(); tile_regs_wait();
  cb_pop_front(0, 1); cb_reserve_back(0, 1); pack_tile_block(0, 0, 1);
  tile_regs_release(); cb_push_back(0, 1); cb_wait_front(0, 1); cb_pop_front(0, 1);"""
    source = tiny.compute_source(body, ("bcast.h", "eltwise_unary/eltwise_unary.h"))
    kernel = tiny.make_kernel("compute", ThreadKind.COMPUTE, source, (), ComputeConfig())
    compiled = tiny.make_operation([kernel], [tiny.make_buffer("a", 0, 1)], 0)
    counts = CallCounts()
    launch(replace(compiled, device_api="0.69"), [], cache_dir=cache_dir, counts=counts)
    assert counts.calls == dict.fromkeys(
        (
            "binary_op_init_common",
            "add_tiles_init",
            "mm_block_init_short",
            "copy_tile_init",
            "mul_bcast_rows_init_short",
            "reconfig_data_format",
            "tile_regs_acquire",
            "pack_tile_block",
        ),
        1,
    )


def test_what_a_recording_has_of_calls(tiny, cache_dir):
    """Each with its line, its buffers and amounts; what would not be allowed is not computed."""
    body = """compute_kernel_hw_startup(0, 1);
matmul_block_init(0, 1);
tile_regs_acquire();
for (int i = 0; i < 2; ++i) matmul_block(1, 0, 0, 0, 0, 0, 3, 2, 1); exp_tile(7);
cb_reserve_back(1, 4); pack_block(0, 1, 4);
cb_push_back(1, 4); cb_wait_front(1, 4); cb_pop_front(1, 4);"""
    kernel = tiny.make_kernel(
        "compute", ThreadKind.COMPUTE, tiny.compute_source(body), (), ComputeConfig()
    )
    buffers = [tiny.make_buffer("a", 0, 1), tiny.make_buffer("b", 1, 4)]
    compiled = tiny.make_operation([kernel], buffers, 0, corner=(1, 0))
    recording = record(compiled, [], cache_dir=cache_dir)
    for node in (0, 1):
        found = [
            (site.name, site.line - tiny.header_lines, site.buffers, (first, second))
            for number, first, second, _ in recording.of(node).tolist()
            for site in [recording.sites[number]]
        ]
        assert found == [
            ("compute_kernel_hw_startup", 1, (), (1, 1)),
            ("matmul_block_init", 2, (), (1, 1)),
            ("tile_regs_acquire", 3, (), (1, 1)),
            ("matmul_block", 4, (1, 0), (3, 2)),
            ("matmul_block", 4, (1, 0), (3, 2)),
            ("exp_tile", 4, (), (1, 1)),
            ("cb_reserve_back", 5, (1,), (4, 0)),
            ("pack_block", 5, (1,), (4, 1)),
            ("cb_push_back", 6, (1,), (4, 0)),
            ("cb_wait_front", 6, (1,), (4, 0)),
            ("cb_pop_front", 6, (1,), (4, 0)),
        ]


def test_the_table():
    counts = CallCounts()
    counts.calls.update({"exp_tile": 6, "copy_tile": 3, "pack_tile": 4})
    counts.result_pages = 4
    table = [line.split() for line in counts_table({"f": counts}).splitlines()]
    assert table[1] == ["f", "0", "3", "9", "4", "0", "0", "0"]
    assert table[2] == ["per", "result", "page", "0", "0.75", "2.25", "1", "0", "0", "0"]


def test_operations_of_one_name_show_each_configuration() -> None:
    counts = CallCounts(configurations={"HiFi2": None, "LoFi": None})
    assert counts_table({"f": counts}).splitlines()[-2:] == ["f: HiFi2", "f: LoFi"]
