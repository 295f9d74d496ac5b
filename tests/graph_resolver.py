"""Resolvers for ttnn-resolve-tt-lang-kernels that need no torch: `python-module=graph_resolver`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ttl
from ttl.artifact import (
    Buffer,
    CompiledOperation,
    CoreArguments,
    Kernel,
    Operand,
    SemaphorePlan,
    ThreadKind,
    to_json,
)
from ttl.driver.specs import TensorSpec, compile_from_spec
from ttl.semantics.dtypes import bfloat16, float32
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT
from ttl.semantics.tensor_layout import parse_layout
from ttl.ttnn.memory_config import memory_config_of

FOREIGN = Path(__file__).parent / "host" / "foreign" / "0.81"
ASKED: list[dict[str, Any]] = []  # what resolve_operation() was called with


def describe(**asked: Any) -> bytes:
    """What it was asked with."""
    return json.dumps(asked, sort_keys=True).encode()


def nothing(**asked: Any) -> bytes:
    return b""


def failing(**asked: Any) -> bytes:
    raise KeyError(asked["operation_id"])


def resolve_operation(
    *, operation_id: str, shapes: Any, dtypes: Any, layouts: Any, **other: Any
) -> bytes:
    """The artifact of one of the operations below, compiled for the operands described."""
    ASKED.append({"operation_id": operation_id, "shapes": shapes, **other})
    elements = {"bf16": bfloat16, "f32": float32}
    specs = []
    for shape, dtype, text in zip(shapes, dtypes, layouts, strict=True):
        layout = parse_layout(text)
        arranged = TILE_LAYOUT if layout.is_tiled else ROW_MAJOR_LAYOUT
        config = memory_config_of(layout)
        specs.append(TensorSpec(tuple(shape), elements[dtype], arranged, config))
    compiled = compile_from_spec(OPERATIONS[operation_id], specs)
    return json.dumps(to_json(compiled)).encode()


@ttl.operation(grid=(2, 2))
def add(a, b, out):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1))
    out_dfb = ttl.make_dataflow_buffer_like(out, shape=(1, 1))
    rows, columns = out.shape[0] // 32, out.shape[1] // 32

    @ttl.compute()
    def compute():
        x, y = ttl.node(dims=2)
        for _ in range(y, rows, 2):
            for _ in range(x, columns, 2):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, out_dfb.reserve() as out_blk:
                    out_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read():
        x, y = ttl.node(dims=2)
        for row in range(y, rows, 2):
            for column in range(x, columns, 2):
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    a_copy = ttl.copy(a[row, column], a_blk)
                    b_copy = ttl.copy(b[row, column], b_blk)
                    a_copy.wait()
                    b_copy.wait()

    @ttl.datamovement()
    def write():
        x, y = ttl.node(dims=2)
        for row in range(y, rows, 2):
            for column in range(x, columns, 2):
                with out_dfb.wait() as out_blk:
                    ttl.copy(out_blk, out[row, column]).wait()


@ttl.operation(grid=(2, 1))
def sum_and_product(a, b, total, product):
    """Two outputs, and words that differ between the nodes."""
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1))
    total_dfb = ttl.make_dataflow_buffer_like(total, shape=(1, 1))
    product_dfb = ttl.make_dataflow_buffer_like(product, shape=(1, 1))
    column, _ = ttl.node(dims=2)
    rows = range(column, a.shape[0] // 32, 2)
    first, count = rows.start, len(rows)

    @ttl.compute()
    def compute():
        for _ in range(count):
            with (
                a_dfb.wait() as a_blk,
                b_dfb.wait() as b_blk,
                total_dfb.reserve() as total_blk,
                product_dfb.reserve() as product_blk,
            ):
                total_blk.store(a_blk + b_blk)
                product_blk.store(a_blk * b_blk)

    @ttl.datamovement()
    def read():
        for step in range(count):
            with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                a_copy = ttl.copy(a[first + step * 2, 0], a_blk)
                b_copy = ttl.copy(b[first + step * 2, 0], b_blk)
                a_copy.wait()
                b_copy.wait()

    @ttl.datamovement()
    def write():
        for step in range(count):
            with total_dfb.wait() as total_blk, product_dfb.wait() as product_blk:
                ttl.copy(total_blk, total[first + step * 2, 0]).wait()
                ttl.copy(product_blk, product[first + step * 2, 0]).wait()


def multicast(**asked: Any) -> bytes:
    """Kernels written by hand: node (0, 0) sends every tile to all nodes, with two semaphores."""
    tiles, last = 2, (1, 1)
    nodes = [(x, y) for y in range(last[1] + 1) for x in range(last[0] + 1)]
    sent = tuple(CoreArguments(node, (tiles, *last)) for node in nodes)
    written = tuple(CoreArguments(node, (tiles, tiles * n)) for n, node in enumerate(nodes))
    texts = {
        name: (FOREIGN / f"{name}.cpp").read_text() for name in ("multicast", "multicast_write")
    }
    compiled = CompiledOperation(
        "multicast",
        "wormhole_b0",
        "0.81",
        (
            Kernel("send", ThreadKind.READER, texts["multicast"], (0,), runtime_args=sent),
            Kernel(
                "write", ThreadKind.WRITER, texts["multicast_write"], (1,), runtime_args=written
            ),
        ),
        (Buffer("tile", 0, "BFloat16", 1, 2), Buffer("word", 1, "BFloat16", 2, 1)),
        tuple(Operand(f"t{sum(s)}", tuple(s), "bfloat16", "TILE") for s in asked["shapes"]),
        ((0, 0), last),
        (SemaphorePlan(0), SemaphorePlan(1)),
    )
    return json.dumps(to_json(compiled, format_version=2)).encode()


OPERATIONS = {"add": add, "sum_and_product": sum_and_product}


@ttl.operation(grid=(4, 1))
def spread(a, out):
    """Node 0 sends its row of tiles to the others through a pipe; each adds its own."""
    net = ttl.PipeNet([ttl.Pipe(src=(0, 0), dst=(slice(1, 4), 0))])
    own_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    sent_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    out_dfb = ttl.make_dataflow_buffer_like(out, shape=(1, 1))

    @ttl.datamovement()
    def read():
        with own_dfb.reserve() as own:
            ttl.copy(a[0, ttl.node(1)], own).wait()

        def send(pipe):
            with sent_dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()
                ttl.copy(block, pipe).wait()

        def receive(pipe):
            with sent_dfb.reserve() as block:
                ttl.copy(pipe, block).wait()

        net.if_src(send)
        net.if_dst(receive)

    @ttl.compute()
    def add_up():
        with own_dfb.wait() as own, sent_dfb.wait() as sent, out_dfb.reserve() as block:
            block.store(own + sent)

    @ttl.datamovement()
    def write():
        with out_dfb.wait() as block:
            ttl.copy(block, out[0, ttl.node(1)]).wait()


OPERATIONS["spread"] = spread
