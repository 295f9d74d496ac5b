"""What a page has of a compiled operation: stages with their lines, memory, ends of buffers."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ttgraph.dialects import make_context
from ttl.artifact import Buffer, CompiledOperation, Kernel, Memory, Operand, ThreadKind
from ttl.diagnostics import Span
from ttl.dialects import print_module
from ttl.dialects.locations import location_of
from ttl.dialects.reading import parse_module
from ttl.studio.view.memory import count_node_bytes, l1_map
from ttl.studio.view.operations import operation_values, stages_values
from ttl.studio.view.sources import Sources
from ttl.studio.view.stages import Stage, stage_of
from ttl.target import load

TARGET = load("wormhole_b0")


def buffer(name: str, index: int, **more: object) -> Buffer:
    return Buffer(name, index, "BFloat16", 2, 2, **more)  # type: ignore[arg-type]


def operation(*buffers: Buffer, **more: object) -> CompiledOperation:
    cores = ((0, 0), (1, 0))
    return CompiledOperation("op", "wormhole_b0", "0.81", (), buffers, (), cores, **more)  # type: ignore[arg-type]


def regions(compiled: CompiledOperation) -> list[tuple[str, str, int, int]]:
    found = l1_map(compiled)["regions"]
    return [(each["kind"], each["name"], each["start"], each["bytes"]) for each in found]


def test_buffers_follow_each_other_and_the_rest_is_free() -> None:
    compiled = operation(buffer("a", 0), buffer("own", 1, compiler_allocated=True))
    size = 4 * 2048
    assert regions(compiled) == [
        ("buffer", "a", 0, size),
        ("compiler", "own", size, size),
        ("free", "free", 2 * size, TARGET.worker_l1_bytes - 2 * size),
    ]


def test_shared_memory_and_words_of_pipes() -> None:
    compiled = operation(buffer("a", 0), buffer("b", 1, shares=0), pipe_scratch_bytes=64)
    size = 4 * 2048
    assert regions(compiled)[:3] == [
        ("buffer", "a", 0, size),
        ("buffer", "b", 0, size),
        ("pipes", "words of pipes", size, 64),
    ]


def test_tensors_of_l1_lie_at_the_other_end() -> None:
    sharded = Memory("L1", "HEIGHT_SHARDED", (((0, 0), (1, 0)),), (32, 64))
    operands = (
        Operand("x", (64, 64), "bfloat16", "TILE", sharded),
        Operand("rows", (64, 64), "float32", "ROW_MAJOR", Memory("L1")),
        Operand("far", (64, 64), "bfloat16", "TILE"),
    )
    held = buffer("in x", 0, tensor=0)
    compiled = replace(operation(held), operands=operands)
    *low, rows, x = regions(compiled)
    top = TARGET.worker_l1_bytes
    assert x == ("tensor", "x", top - 2 * 2048, 2 * 2048)
    assert rows == ("tensor", "rows", top - 2 * 2048 - 256, 256)  # of 64 nodes
    assert low == [("free", "free", 0, rows[2])]


@pytest.mark.parametrize(("shape", "tiles"), [((40,), 2), ((20, 40), 2), ((2, 33, 33), 8)])
def test_shards_take_whole_tiles(shape: tuple[int, ...], tiles: int) -> None:
    sharded = Memory("L1", "HEIGHT_SHARDED", (((0, 0), (1, 0)),), shape)
    held = count_node_bytes(Operand("x", shape, "bfloat16", "TILE", sharded), TARGET)
    assert held == tiles * 2048


def test_kernels_have_the_ends_of_their_buffers_and_tensors() -> None:
    text = """void kernel_main() {
  constexpr uint32_t a = get_compile_time_arg_val(0);
  constexpr uint32_t b = get_compile_time_arg_val(1);
  noc_async_read_page(page, x_accessor, address);
  cb_push_back(a, 2);
  cb_pop_front(b, 2);
  noc_async_write_page(page, y_accessor, address);
}
"""
    span = Span("program.py", 3, 1, 3, 9)
    kernel = Kernel("move", ThreadKind.READER, text, source_map=((4, span),))
    compiled = replace(operation(buffer("a_dfb", 0), buffer("b_dfb", 1)), kernels=(kernel,))
    sources = Sources()
    (shown,) = operation_values(compiled, sources)["kernels"]
    assert (shown["pushes"], shown["pops"]) == (["a_dfb"], ["b_dfb"])
    assert (shown["reads"], shown["writes"]) == (["x"], ["y"])
    assert shown["spans"] == [[4, 0]]
    assert sources.described()["spans"] == [(0, 3, 1, 3, 9)]


def test_lines_of_a_stage_have_the_places_they_come_from() -> None:
    text = """builtin.module {
  func.func @kernel() {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    func.return
  }
}
"""
    module = parse_module(text, "x.mlir", make_context())
    constants = [op for op in module.walk() if op.name == "arith.constant"]
    spans = [Span("p.py", line, 1, line, 4) for line in (10, 12)]
    for op, span in zip(constants, spans, strict=True):
        op.location = location_of(span)
    stage = stage_of("frontend", module)
    assert stage.text == print_module(module)
    lines = stage.text.splitlines()
    own = {lines[line - 1].strip(): span for line, span in stage.spans if span in spans}
    assert own == {
        "%zero = arith.constant 0 : index": spans[0],
        "%one = arith.constant 1 : index": spans[1],
    }


def test_a_stage_that_changes_nothing_is_named_only() -> None:
    stages = [Stage("a", "x\n", ()), Stage("b", "x\n", ()), Stage("c", "y\n", ())]
    values = stages_values(stages, Sources())
    assert [each.get("text") for each in values] == ["x\n", None, "y\n"]


def test_a_program_that_has_moved_is_read_where_it_is_now(tmp_path: Path) -> None:
    now = tmp_path / "program.py"
    now.write_text("x = 1\n")
    sources = Sources(str(now))
    sources.file("/nowhere/program.py")
    sources.file("/nowhere/other.py")
    texts = [each["text"] for each in sources.described()["files"]]
    assert texts == ["x = 1\n", ""]


def test_an_interrupt_ends_a_server(tmp_path: Path) -> None:
    import signal
    import subprocess
    from urllib.request import urlopen

    trace = tmp_path / "trace.jsonl"
    trace.write_text(
        '{"tick": 0, "kind": "kernel_start", "node": [0, 0], "kernel": "k", '
        '"subject": "", "value": 0, "line": 0}\n'
    )
    # Who runs the tests in the background of a shell may have it ignored.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from ttl.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "view", "--port", "0", str(trace)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = next(word for word in server.stderr.readline().split() if "http" in word)
        first = urlopen(address).read().decode()
        assert "trace.jsonl" in first
        trace.write_text(trace.read_text().replace('"k"', '"other"'))
        assert urlopen(address).read().decode() != first  # what is in the file now
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0
