"""The program in the help of a deadlock runs, and does what the refused one was meant to do."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn

FORWARD = """
import ttl

@ttl.operation(grid=(2, 4))
def operation(a, out):
    dfb_to_send = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    dfb_received = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    grid_x, grid_y = ttl.grid_size()
    net = ttl.PipeNet([
        ttl.Pipe(src=(x, y), dst=(x, (y + 1) % grid_y))
        for x in range(grid_x) for y in range(grid_y)
    ])

    @ttl.datamovement()
    def dm():
        x, y = ttl.node()
        with dfb_to_send.reserve() as blk_to_send, dfb_received.reserve() as blk_received:
            def pipe_src(pipe):
                ttl.copy(a[x, y], blk_to_send).wait()
                xf = ttl.copy(blk_to_send, pipe)
                xf.wait()

            def pipe_dst(pipe):
                xf = ttl.copy(pipe, blk_received)
                xf.wait()
                ttl.copy(blk_received, out[x, y]).wait()

            net.if_src(pipe_src)
            net.if_dst(pipe_dst)
"""

SCATTER_GATHER = """
import ttl

@ttl.operation(grid=(2, 4))
def operation(a, out):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    grid_x, grid_y = ttl.grid_size()
    net = ttl.PipeNet([
        ttl.Pipe(src=(x, y), dst=(x, slice(0, grid_y)))
        for x in range(grid_x) for y in range(grid_y)
    ])

    @ttl.datamovement()
    def dm():
        x, y = ttl.node()
        with dfb.reserve() as blk:
            def pipe_src(pipe):
                ttl.copy(a[x, y], blk).wait()
                xf = ttl.copy(blk, pipe)
                xf.wait()

            def pipe_dst(pipe):
                xf = ttl.copy(pipe, blk)
                xf.wait()
                ttl.copy(blk, out[x, y]).wait()

            net.if_src(pipe_src)
            net.if_dst(pipe_dst)
"""


def load(text: str, folder: Path, name: str) -> Any:
    file = folder / f"{name}.py"
    file.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), names)
    return names["operation"]


def corrected(text: str, help_text: str) -> str:
    """The operation with what the help prints in place of what it declares again."""
    tree, new = ast.parse(text), ast.parse(textwrap.dedent(help_text))
    operation = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    names = {_declared(node) for node in new.body}
    kept = [node for node in operation.body if _declared(node) not in names]
    operation.body = [*kept, *new.body]
    return ast.unparse(tree)


def _declared(node: ast.stmt) -> str | None:
    match node:
        case ast.FunctionDef(name) | ast.Assign([ast.Name(name)]):
            return name
    return None


def tensor(values: np.ndarray[Any, Any]) -> ttnn.Tensor:
    return ttl.from_numpy(values, dtype=ttnn.float32, device=ttnn.open_device(device_id=0))


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize(
    ("text", "of_column"),
    [
        (FORWARD, [3, 0, 1, 2]),
        (
            FORWARD.replace("net = ", "nets = {0: ")
            .replace("    ])\n", "    ])}\n")
            .replace("net.", "nets[0]."),
            [3, 0, 1, 2],
        ),
        (SCATTER_GATHER, [3, 3, 3, 3]),
    ],
)
def test_the_program_in_the_help_runs(
    text: str, of_column: list[int], backend: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    values = np.arange(8, dtype=np.float32).reshape(2, 4).repeat(32, 0).repeat(32, 1)
    with pytest.raises(ttl.TTLError) as caught:
        load(text, tmp_path, "printed")(tensor(values), tensor(values))
    (diagnostic,) = caught.value.diagnostics
    program = diagnostic.helps[-1].removeprefix("this order works:\n")
    assert "if_src(pipe_src)" in program and "if_dst(pipe_dst)" in program
    load(corrected(text, program), tmp_path, "corrected")(tensor(values), out := tensor(values))
    expected = values.reshape(2, 32, 4, 32)[:, :, of_column].reshape(values.shape)
    assert np.array_equal(ttl.to_numpy(out), expected)


# Both data movement kernels are in use, and the source receives into the block that it sends.
TO_ITSELF = """
import ttl

@ttl.operation(grid=(2, 4))
def operation(a, out):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    net = ttl.PipeNet([ttl.Pipe(src=(x, 0), dst=(x, slice(0, 4))) for x in range(2)])

    @ttl.datamovement()
    def read():
        x, y = ttl.node()
        with a_dfb.reserve() as blk:
            def send(pipe):
                ttl.copy(a[x, y], blk).wait()
                ttl.copy(blk, pipe).wait()

            net.if_src(send)
            net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())

    @ttl.datamovement()
    def write():
        x, y = ttl.node()
        with a_dfb.wait() as blk:
            ttl.copy(blk, out[x, y]).wait()
"""
NAMED = TO_ITSELF.replace(
    "net.if_dst(lambda pipe: ttl.copy(pipe, blk).wait())",
    """def receive(pipe):
                ttl.copy(pipe, blk).wait()

            net.if_dst(receive)""",
)
INTO_ANOTHER = "a_dfb.reserve() as blk, a_dfb.reserve() as got", "copy(pipe, got)"
# Every node is a source: to leave it out would not be enough.
ALL_TO_ALL = TO_ITSELF.replace(
    "ttl.Pipe(src=(x, 0), dst=(x, slice(0, 4))) for x in range(2)",
    "ttl.Pipe(src=(x, y), dst=(x, slice(0, 4))) for x in range(2) for y in range(4)",
)


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("text", [TO_ITSELF, NAMED])
def test_a_source_that_receives_into_another_block_is_told_what_to_do(
    text: str, backend: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    values = np.arange(8, dtype=np.float32).reshape(2, 4).repeat(32, 0).repeat(32, 1)
    block, receive = INTO_ANOTHER
    wrong = text.replace("a_dfb.reserve() as blk", block).replace("copy(pipe, blk)", receive)
    first, second, *program = _helps(wrong, tmp_path, values)
    assert first.startswith("the source has the data already: receive it into the very block that")
    assert "or leave the source out of the pipe's `dst`" in first
    assert second.startswith("or post before sending")
    assert all(each.index("def receive") < each.index("if_dst(receive)") for each in program)
    for name, fixed in ("same", text), ("others", text.replace("slice(0, 4)", "slice(1, 4)")):
        load(fixed, tmp_path, name)(tensor(values), out := tensor(values))
        expected = values.reshape(2, 32, 4, 32)[:, :, [0] * 4].reshape(values.shape)
        assert np.array_equal(ttl.to_numpy(out), expected)


@pytest.mark.parametrize("backend", ["sim", "host"])
def test_sources_that_also_wait_for_others_are_told_to_post_first(
    backend: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    values = np.zeros((64, 128), np.float32)
    assert _helps(ALL_TO_ALL, tmp_path, values)[0].startswith("post before sending")


def _helps(text: str, folder: Path, values: np.ndarray[Any, Any]) -> tuple[str, ...]:
    with pytest.raises(ttl.TTLError) as caught:
        load(text, folder, "printed")(tensor(values), tensor(values))
    return caught.value.diagnostics[0].helps
