"""How often statements are evaluated, and what the form before IR has in it."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects import arith, scf

from ttl import ttnn
from ttl.dialects import ttl as ttl_dialect
from ttl.frontend import build_module
from ttl.frontend.continuations import Steps
from ttl.frontend.environment import Environment
from ttl.frontend.hir import HeldBlock, Scalar
from ttl.frontend.language_calls import LANGUAGE
from ttl.frontend.nets import Nets
from ttl.frontend.translation import Translation
from ttl.source import tree
from ttl.target import load

TARGET = load("wormhole_b0")

PROGRAM = """
import ttl

@ttl.operation(grid=(8, 1))
def operation(a):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
{body}
"""


def program(lines: list[str], tmp_path: Path) -> Any:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(body="\n".join(f"        {line}" for line in lines)))
    spec = importlib.util.spec_from_file_location("program", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tensor = ttnn.zeros(
        (32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=ttnn.open_device(device_id=0)
    )
    return module.operation.program((tensor,), {}, TARGET.default_grid)


class Counting(Translation):
    """How often each statement is evaluated, by its line."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.counts: Counter[int] = Counter()

    def statement(self, node: tree.Statement, rest: Steps) -> Steps:
        self.counts[node.lineno] += 1
        return super().statement(node, rest)


def evaluated(lines: list[str], tmp_path: Path) -> Counting:
    made = program(lines, tmp_path)
    (kernel,) = made.kernels
    nets = Nets((), made.grid)
    environment = Environment((kernel.function,))
    translation = Counting(
        kernel, environment, made.grid, made.tensors, TARGET.device_api, nets, LANGUAGE
    )
    translation.evaluate_kernel()
    return translation


def inside_loops(depth: int, lines: list[str]) -> list[str]:
    loops = [f"{'    ' * level}for i{level} in range(3000):" for level in range(depth)]
    return [*loops, *(f"{'    ' * depth}{line}" for line in lines)]


def double_buffered(depth: int) -> list[str]:
    step = [
        "following = dfb.reserve()",
        "next_tx = ttl.copy(a[0, 0], following)",
        "tx.wait()",
        "block.push()",
        "block, tx = following, next_tx",
    ]
    start = ["block = dfb.reserve()", "tx = ttl.copy(a[0, 0], block)"]
    return [*start, *inside_loops(depth, step), "tx.wait()", "block.push()"]


def started_late(depth: int) -> list[str]:
    """The first iteration has no transfer to wait for: it stands apart, at each level."""
    step = [
        "block = dfb.reserve()",
        "tx = ttl.copy(a[0, 0], block)",
        "if before is not None:",
        "    before[0].wait()",
        "    before[1].push()",
        "before = (tx, block)",
    ]
    end = ["before[0].wait()", "before[1].push()"]
    return ["before = None", *inside_loops(depth, step), *end]


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_loops_in_loops_are_evaluated_once(depth: int, tmp_path: Path) -> None:
    lines = double_buffered(depth)
    translation = evaluated(lines, tmp_path)
    assert not translation.state.mistakes
    assert sum(translation.counts.values()) == len(lines)


def grown(depth: int) -> list[str]:
    """An int before the loops is a float in the innermost."""
    return ["total = 0", *inside_loops(depth, ["total = total + 0.5"]), "print(total)"]


@pytest.mark.parametrize("make", [started_late, grown])
@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_no_statement_is_evaluated_more_than_three_times(
    make: Any, depth: int, tmp_path: Path
) -> None:
    """As what cannot be carried, as a first iteration that stands apart, and as a loop."""
    translation = evaluated(make(depth), tmp_path)
    assert not translation.state.mistakes
    assert max(translation.counts.values()) <= 3


def loops_in(translation: Counting) -> int:
    return [op.becomes for op in translation.entry.walk()].count(scf.ForOp)


def test_a_loop_is_cut_where_its_condition_changes(tmp_path: Path) -> None:
    """All but the last iteration are a loop; the condition is evaluated for both of its sides."""
    start = ["block = dfb.reserve()", "tx = ttl.copy(a[0, 0], block)", "for i in range(3000):"]
    step = [
        "if i + 1 < 3000:",
        "    following = dfb.reserve()",
        "    next_tx = ttl.copy(a[0, 0], following)",
        "tx.wait()",
        "block.push()",
        "if i + 1 < 3000:",
        "    block, tx = following, next_tx",
    ]
    translation = evaluated([*start, *(f"    {line}" for line in step)], tmp_path)
    assert not translation.state.mistakes
    assert max(translation.counts.values()) <= 6 and loops_in(translation) == 1


def test_iterations_stand_apart_until_their_state_comes_back(tmp_path: Path) -> None:
    """Two are apart, then two are the body of a loop, and one is left."""
    lines = [
        "one, other = dfb.reserve(), dfb.reserve()",
        "for i in range(2999):",
        "    ttl.copy(a[0, 0], one).wait()",
        "    one, other = other, one",
    ]
    translation = evaluated(lines, tmp_path)
    ops = [op.becomes for op in translation.entry.walk()]
    assert not translation.state.mistakes
    assert loops_in(translation) == 1 and ops.count(ttl_dialect.CopyOp) == 5


def test_what_is_refused_is_not_tried_more_often_in_deeper_loops(tmp_path: Path) -> None:
    step = [
        "block = dfb.reserve()",
        "tx = ttl.copy(a[0, 0], block)",
        "if before is not None:",
        "    before[0].wait()",
        "    before[1].push()",
        "k += 1",
        "before = (tx, block) if k % 3 else older",
        "older = (tx, block)",
    ]
    start = ["before = None", "older = None", "k = 0"]
    found = [evaluated([*start, *inside_loops(depth, step)], tmp_path) for depth in (2, 5)]
    assert all(each.state.mistakes for each in found)
    few, many = (sum(each.counts.values()) for each in found)
    assert many < few * 5 / 2


def test_loops_in_a_row_are_evaluated_once(tmp_path: Path) -> None:
    loop = [
        "for i in range(2000):",
        "    with dfb.reserve() as block:",
        "        ttl.copy(a[0, 0], block).wait()",
    ]
    translation = evaluated(loop * 100, tmp_path)
    assert sum(translation.counts.values()) == 300


def test_a_rotating_reader_is_not_refused_for_what_was_only_tried(tmp_path: Path) -> None:
    """Iterations of ways that were dropped do not count as unrolled."""
    lines = [
        "pending = []",
        "for i in range(12):",
        "    for j in range(12):",
        "        block = dfb.reserve()",
        "        pending.append((ttl.copy(a[0, 0], block), block))",
        "        if len(pending) == 2:",
        "            tx, ready = pending.pop(0)",
        "            tx.wait()",
        "            ready.push()",
        "for tx, ready in pending:",
        "    tx.wait()",
        "    ready.push()",
    ]
    build_module(program(lines, tmp_path), TARGET).verify()


def test_conditions_on_ways_that_were_dropped_do_not_count(tmp_path: Path) -> None:
    step = [
        "k += 1",
        "if k < 27:",
        "    following = dfb.reserve()",
        "    next_tx = ttl.copy(a[0, 0], following)",
        "tx.wait()",
        "block.push()",
        "if k < 27:",
        "    block, tx = following, next_tx",
    ]
    start = ["block = dfb.reserve()", "tx = ttl.copy(a[0, 0], block)", "k = 0"]
    lines = [*start, *(line.replace("3000", "3") for line in inside_loops(3, step))]
    build_module(program(lines, tmp_path), TARGET).verify()


def test_values_have_types(tmp_path: Path) -> None:
    lines = ["x = ttl.node(dims=1) * 2 + 1", "block = dfb.reserve()", "block.push()"]
    translation = evaluated(lines, tmp_path)
    values = {each.name: value for each, value in translation.state.values.items()}
    assert isinstance(values["x"], Scalar) and values["x"].kind is int and values["x"].is_natural
    assert isinstance(values["block"], HeldBlock) and not values["block"].is_waited
    assert values["block"] in translation.state.released


def test_a_branch_that_only_calculates_is_a_selection(tmp_path: Path) -> None:
    lines = ["n = ttl.node(dims=1)", "m = n + 1 if n > 2 else n", "print(m)"]
    kinds = [op.becomes for op in evaluated(lines, tmp_path).entry.walk()]
    assert arith.SelectOp in kinds and scf.IfOp not in kinds


def test_what_is_dropped_leaves_nothing(tmp_path: Path) -> None:
    """A loop over a list of blocks is tried as a loop, then unrolled: no acquire stays behind."""
    lines = [
        "blocks = [dfb.reserve(), dfb.reserve()]",
        "for i in range(2):",
        "    blocks[i].push()",
    ]
    ops = [op.becomes for op in evaluated(lines, tmp_path).entry.walk()]
    assert ops.count(ttl_dialect.ReserveOp) == 2 and ops.count(ttl_dialect.PushOp) == 2
    assert scf.ForOp not in ops
