"""Running traces against each other: skipping periods changes nothing, nor does the order."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttl.passes.verify import machine
from ttl.passes.verify.events import NumberedPipe, WalkEventKind
from ttl.passes.verify.machine import MachineStart, TraceMachine
from ttl.passes.verify.statements import BudgetSpent, Items, Repeat

NODES = {(0, 0): 0, (1, 0): 1}
PIPES = (
    NumberedPipe("net", 0, (0, 0), ((1, 0),), "0 -> 1", None),
    NumberedPipe("net", 1, (1, 0), ((0, 0), (1, 0)), "1 -> both", None),
)
BUFFERS = 3
OP = None  # events carry the operation they came from


def buffer_step(number: int, is_producer: bool) -> Items:
    if is_producer:
        return ((WalkEventKind.RESERVE, number, OP), (WalkEventKind.PUSH, number, OP))
    return ((WalkEventKind.WAIT, number, OP), (WalkEventKind.POP, number, OP))


def transfer(kind: WalkEventKind, pipe: int) -> Items:
    return ((kind, pipe, OP, (kind, pipe)), (WalkEventKind.FINISH, (kind, pipe), OP))


def steps_of(kernel: int, node: int) -> list[Items]:
    """What a kernel may do: buffers have one kernel at each end, pipes one at theirs."""
    # buffer 0: kernel 0 to 1, buffer 1: kernel 1 to 0, buffer 2: kernel 0 to itself
    steps = [buffer_step(0, kernel == 0), buffer_step(1, kernel == 1)]
    if kernel == 0:
        steps += [buffer_step(2, True), buffer_step(2, False)]
        steps += (
            [transfer(WalkEventKind.SEND, 0)] if node == 0 else [transfer(WalkEventKind.SEND, 1)]
        )
    else:
        steps += [transfer(WalkEventKind.POST, 1)]
        steps += [transfer(WalkEventKind.POST, 0)] if node == 1 else []
    return steps


def traces_of(kernel: int, node: int) -> st.SearchStrategy[Items]:
    step = st.sampled_from(steps_of(kernel, node))
    flat = st.lists(step, min_size=1, max_size=3).map(lambda parts: sum(parts, ()))
    looped = st.builds(lambda n, items: (Repeat(n, items),), st.integers(1, 14), flat)
    part = st.one_of(flat, looped)
    nested = st.builds(
        lambda n, parts: (Repeat(n, sum(parts, ())),),
        st.integers(1, 12),
        st.lists(part, min_size=1, max_size=2),
    )
    return st.lists(st.one_of(part, nested), max_size=3).map(lambda parts: sum(parts, ()))


PROGRAMS = st.fixed_dictionaries(
    {node: st.tuples(traces_of(0, node), traces_of(1, node)) for node in (0, 1)}
)


def outcome(traces: dict[int, tuple[Items, ...]], seed: int | None = None) -> object:
    start = MachineStart((2,) * BUFFERS, PIPES, NODES, (), seed=seed)
    ran = TraceMachine(start, traces, 10**9)
    ran.run()
    stuck = [(task.node, task.kernel, task.blocked) for task in ran.stuck]
    left = [
        (task.node, task.kernel, task.remaining_iterations(), task.position) for task in ran.stuck
    ]
    return stuck, left, ran.level, ran.free


@settings(max_examples=120, deadline=None)
@given(traces=PROGRAMS)
def test_skipping_periods_changes_nothing(traces: dict[int, tuple[Items, ...]]) -> None:
    skipped = outcome(traces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "LONE_ITERATIONS", 2)
        assert outcome(traces) == skipped
        patch.setattr(machine, "SHORTEST_SKIPPED", 10**9)
        assert outcome(traces) == skipped


@settings(max_examples=50, deadline=None)
@given(traces=PROGRAMS, seed=st.integers(0, 3))
def test_the_order_of_the_kernels_does_not_matter(
    traces: dict[int, tuple[Items, ...]], seed: int
) -> None:
    assert outcome(traces, seed) == outcome(traces)


def test_loops_in_loops_are_skipped() -> None:
    inner = Repeat(10**6, buffer_step(0, True)), *buffer_step(1, False)
    producer = (Repeat(10**6, inner),)
    inner = Repeat(10**6, buffer_step(0, False)), *buffer_step(1, True)
    consumer = (Repeat(10**6, inner),)
    start = MachineStart((2,) * BUFFERS, PIPES, NODES, ())
    assert TraceMachine(start, {0: (producer, consumer)}, 10_000).run()


def test_loops_that_do_not_depend_on_each_other_are_skipped() -> None:
    """Each node has loops of its own, of different lengths."""
    lengths = {0: 10**6, 1: 7 * 10**5}
    traces = {
        node: ((Repeat(n, buffer_step(0, True)),), (Repeat(n, buffer_step(0, False)),))
        for node, n in lengths.items()
    }
    assert TraceMachine(MachineStart((2,) * BUFFERS, PIPES, NODES, ()), traces, 10_000).run()


def test_the_last_iteration_of_a_skipped_loop_is_still_seen() -> None:
    """One block more is pushed than is taken, after a million that were."""
    producer = (Repeat(10**6 + 3, buffer_step(0, True)),)
    consumer = (Repeat(10**6, buffer_step(0, False)),)
    ran = TraceMachine(
        MachineStart((2,) * BUFFERS, PIPES, NODES, ()), {0: (producer, consumer)}, 10_000
    )
    assert not ran.run()
    (stuck,) = ran.stuck
    assert stuck.blocked == (WalkEventKind.RESERVE, 0, OP)
    assert ran.level[0][0] == 2


def test_what_cannot_be_skipped_ends_at_the_budget() -> None:
    numbers = count()
    never_the_same = tuple(
        event
        for _ in range(2000)
        for event in (
            (WalkEventKind.SEMAPHORE_INC, 0, OP, 1, (0,)),
            (WalkEventKind.SEMAPHORE_WAIT, 0, OP, next(numbers) + 1, True),
        )
    )
    with pytest.raises(BudgetSpent):
        TraceMachine(MachineStart((), (), NODES, (0,)), {0: (never_the_same,)}, 1000).run()
