"""The deadlock report: cause, labels, notes, help."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from ttl.diagnostics import Span, codes, render_json, render_text
from ttl.diagnostics.deadlock import Waiting, WaitingForNodes, deadlock_diagnostic
from ttl.diagnostics.waiting import AnyWaiting


def span(line: int) -> Span:
    return Span("program.py", line, 1, line, 5)


def waiting(
    kernel: str,
    action: Literal["wait", "reserve"],
    buffer: str,
    filled: int,
    node: tuple[int, ...] = (0, 0),
    line: int = 10,
) -> Waiting:
    return Waiting(kernel, node, span(line), action, buffer, span(ord(buffer[0]) - 96), filled, 2)


PRODUCERS = {"a_dfb": "read", "b_dfb": "read", "y_dfb": "compute"}
CONSUMERS = {"a_dfb": "compute", "b_dfb": "compute", "y_dfb": "write"}


def report(*entries: AnyWaiting, producers=PRODUCERS, consumers=CONSUMERS, node_count: int = 1):
    return deadlock_diagnostic(
        entries, producers=producers, consumers=consumers, node_count=node_count
    )


def cycle(node: tuple[int, ...] = (0, 0)) -> list[Waiting]:
    return [
        waiting("compute", "wait", "a_dfb", 0, node, 37),
        waiting("read", "reserve", "b_dfb", 2, node, 53),
        waiting("write", "wait", "y_dfb", 0, node, 61),
    ]


def test_cycle():
    diagnostic = report(*cycle((0, 0)), *cycle((1, 0)), node_count=2)
    assert diagnostic.code is codes.DEADLOCK
    assert diagnostic.message == "deadlock: 3 kernels on 2 nodes wait for each other"
    assert diagnostic.primary.text == "`compute` waits for a block in `a_dfb` (0 of 2 filled)"
    assert [label.text for label in diagnostic.secondary] == [
        "`read` waits for space in `b_dfb` (2 of 2 filled)",
        "`write` waits for a block in `y_dfb` (0 of 2 filled)",
        "`a_dfb` declared here",
        "`b_dfb` declared here",
        "`y_dfb` declared here",
    ]
    assert diagnostic.notes == (
        "cycle: compute -> a_dfb -> read -> b_dfb -> compute",
        "seen on all nodes; first on node (0, 0)",
    )
    assert diagnostic.helps == ("fill `a_dfb` before `b_dfb` in `read`",)


def test_a_size_is_named_if_it_is_known_to_help():
    known = {"producers": PRODUCERS, "consumers": CONSUMERS, "node_count": 1}
    (found,) = deadlock_diagnostic(cycle(), **known, enough={"b_dfb": 3}).helps
    assert found == "fill `a_dfb` before `b_dfb` in `read`, or declare `b_dfb` with block_count=3"
    (found,) = deadlock_diagnostic(cycle(), **known, enough={"b_dfb": None}).helps
    assert "block_count" not in found


@pytest.mark.parametrize(
    ("filled", "expected"),
    [
        (0, "push a block of `a_dfb` before reserving the next in `read`"),
        (2, "pop a block of `a_dfb` before waiting for the next in `compute`"),
    ],
)
def test_both_ends_of_one_buffer(filled, expected):
    diagnostic = report(
        waiting("read", "reserve", "a_dfb", filled),
        waiting("compute", "wait", "a_dfb", filled, line=20),
    )
    assert diagnostic.helps == (expected,)


def test_cycle_that_the_first_kernel_is_not_part_of():
    entries = cycle()
    diagnostic = report(entries[2], *entries[:2])
    assert diagnostic.notes[0] == "cycle: compute -> a_dfb -> read -> b_dfb -> compute"
    assert diagnostic.primary.span.line == 37
    assert "`write` waits for a block in `y_dfb` (0 of 2 filled)" in {
        label.text for label in diagnostic.secondary
    }


def test_nobody_pushes():
    diagnostic = report(
        waiting("read", "reserve", "a_dfb", 2),
        waiting("compute", "wait", "z_dfb", 0, line=20),
        producers={**PRODUCERS, "z_dfb": None},
    )
    assert diagnostic.message == "deadlock: `compute` waits on `z_dfb`, to which no kernel pushes"
    assert diagnostic.primary.span.line == 20
    assert diagnostic.notes[:2] == (
        "nobody pushes to `z_dfb`",
        "chain: read -> a_dfb -> compute -> z_dfb",
    )
    assert "push a block to `z_dfb`" in diagnostic.helps[0]


def test_nobody_pops():
    diagnostic = report(
        waiting("compute", "reserve", "y_dfb", 2), consumers={**CONSUMERS, "y_dfb": None}
    )
    assert diagnostic.message == (
        "deadlock: `compute` waits for space in `y_dfb`, which no kernel pops"
    )
    assert diagnostic.notes[0] == "nobody pops `y_dfb`"
    assert "pop `y_dfb`" in diagnostic.helps[0]


def test_the_other_end_has_ended():
    produced = report(waiting("write", "wait", "y_dfb", 0))
    assert produced.message == (
        "deadlock: `write` waits on `y_dfb`, but `compute` has ended pushing to it"
    )
    assert produced.notes[0] == "`compute`, which fills `y_dfb`, has ended"
    consumed = report(waiting("compute", "reserve", "y_dfb", 2))
    assert consumed.message == (
        "deadlock: `compute` waits for space in `y_dfb`, but `write` has ended popping it"
    )
    assert "agree on the number of blocks" in consumed.helps[0]


def test_a_pipe_that_is_waited_on_elsewhere_may_be_the_reason():
    pipe, partners = "pipe (0, 0) -> (1, 0)", ((("read", (1, 0)),),)
    send = WaitingForNodes("read", (0, 0), span(5), "send", pipe, "a post", partners)
    found = report(waiting("write", "wait", "y_dfb", 0), send, node_count=2)
    assert [pipe in text for text in found.helps] == [False, True]


def test_a_kernel_that_waits_for_itself():
    diagnostic = report(waiting("compute", "wait", "t_dfb", 0), producers={"t_dfb": "compute"})
    assert diagnostic.message == "deadlock: `compute` on 1 node waits for itself"
    assert diagnostic.notes[0] == "cycle: compute -> t_dfb -> compute"


def test_only_the_nodes_that_wait_for_themselves_are_counted():
    """Others wait elsewhere, for these."""
    alike = [waiting("compute", "wait", "t_dfb", 0, (0, row)) for row in range(4)]
    others = [waiting("compute", "wait", "u_dfb", 0, (1, row), 20) for row in range(12)]
    diagnostic = report(*alike, *others, producers={"t_dfb": "compute"}, node_count=16)
    assert diagnostic.message == "deadlock: `compute` on 4 nodes waits for itself"


def test_ends_that_are_not_known():
    diagnostic = report(waiting("compute", "wait", "a_dfb", 0), producers={}, consumers={})
    assert diagnostic.message == "deadlock: `compute` on 1 node waits on `a_dfb` for ever"
    two = report(*cycle()[:2], producers={}, consumers={})
    assert two.message == "deadlock: 2 kernels on 1 node wait for each other"
    assert two.notes == ("seen on all nodes; first on node (0, 0)",)


def test_some_nodes():
    diagnostic = report(*cycle((3, 1)), node_count=64)
    assert diagnostic.notes[-1] == "seen on 1 of 64 nodes; first on node (3, 1)"


def test_without_spans():
    entry = Waiting("write", (0,), None, "wait", "y_dfb", None, 0, 2)
    diagnostic = report(entry)
    assert diagnostic.primary is None and diagnostic.secondary == ()
    assert "first on node (0,)" in render_text(diagnostic)


def test_facts_are_json():
    facts = json.loads(render_json(report(*cycle())))["facts"]
    assert facts["cause"] == "cycle"
    assert facts["waiting"][1] == {
        "kernel": "read",
        "node": [0, 0],
        "action": "reserve",
        "buffer": "b_dfb",
        "filled": 2,
        "capacity": 2,
    }


def test_a_buffer_nobody_pushes_and_one_nobody_pops_are_mixed_up() -> None:
    stuck = [
        waiting("compute", action="reserve", buffer="y_dfb", filled=2),
        waiting("write", action="wait", buffer="z_dfb", filled=0),
    ]
    diagnostic = deadlock_diagnostic(
        stuck,
        producers={"y_dfb": "compute", "z_dfb": None},
        consumers={"y_dfb": None, "z_dfb": "write"},
        node_count=1,
    )
    assert diagnostic.message == "deadlock: `write` waits on `z_dfb`, to which no kernel pushes"
    assert diagnostic.notes[:2] == ("nobody pushes to `z_dfb`", "nobody pops `y_dfb`")
    assert diagnostic.helps[0] == "should `write` wait for `y_dfb`, which no kernel pops?"
