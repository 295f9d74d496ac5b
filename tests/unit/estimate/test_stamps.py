"""Estimated times for the events of traces."""

from __future__ import annotations

from typing import Any

import pytest

from ttl.studio.estimate import KernelTimeline, StepTime, Timeline
from ttl.studio.estimate.stamps import add_times

NODE = (0, 0)


def step(name: str, line: int, begin: float, end: float, **details: Any) -> StepTime:
    return StepTime("reader", name, line, begin, end, details)


READ = KernelTimeline(
    (NODE,),
    "read",
    "program.py",
    1.0,
    9.0,
    (
        step("cb_reserve_back", 5, 1.0, 1.5, buffer="x_dfb", pages=1),
        step("noc_async_read_page", 6, 1.5, 2.0, transfers=1, bytes=2048),
        step("noc_async_read_barrier", 7, 2.0, 4.0),
        step("cb_push_back", 5, 4.0, 4.5, buffer="x_dfb", pages=1),
        step("cb_reserve_back", 5, 4.5, 6.0, buffer="x_dfb", pages=1),
        step("noc_async_read_page", 6, 6.0, 6.5, transfers=1, bytes=2048),
        step("noc_async_read_barrier", 7, 6.5, 8.5),
        step("cb_push_back", 5, 8.5, 9.0, buffer="x_dfb", pages=1),
    ),
    (),
)
MADE = Timeline("twice", 10.0, (READ,))


def events(*kinds: tuple[str, str, int]) -> list[dict[str, Any]]:
    own = [
        {"kind": kind, "node": list(NODE), "kernel": "read", "subject": subject, "line": line}
        for kind, subject, line in kinds
    ]
    whole = {"node": [], "kernel": "", "subject": "twice", "line": 0}
    all_of_them = [
        {"kind": "operation_start", **whole},
        *own,
        {"kind": "operation_end", **whole},
    ]
    return [{"tick": tick, "value": 0, **event} for tick, event in enumerate(all_of_them)]


ROUND = (
    ("buffer_reserve", "x_dfb", 5),
    ("copy_start", "x", 6),
    ("copy_end", "x", 7),
    ("buffer_push", "x_dfb", 5),
)


def times(*kinds: tuple[str, str, int]) -> list[float]:
    return [event["us"] for event in add_times(events(*kinds), lambda name: MADE)]


def test_each_event_has_the_time_of_its_step() -> None:
    found = times(("kernel_start", "", 0), *ROUND, *ROUND, ("kernel_end", "", 0))
    assert found == [0.0, 1.0, 1.5, 1.5, 4.0, 4.5, 6.0, 6.0, 8.5, 9.0, 9.0, 10.0]


def test_a_blocked_kernel_goes_on_with_its_next_event() -> None:
    blocked = (("kernel_blocked", "x_dfb", 5), ("kernel_resumed", "x_dfb", 5))
    found = times(("kernel_start", "", 0), *ROUND, *blocked, *ROUND, ("kernel_end", "", 0))
    assert found[6:9] == [4.5, 6.0, 6.0]


def test_events_of_operations_follow_each_other_and_ticks_stay() -> None:
    records = [*events(*ROUND, *ROUND), *events(*ROUND, *ROUND)]
    found = add_times(records, lambda name: MADE)
    assert [event["us"] for event in found][-1] == 20.0
    assert [event["tick"] for event in found] == [event["tick"] for event in records]


def test_what_has_no_estimate_has_no_time() -> None:
    found = add_times(events(*ROUND), lambda name: None)
    assert all("us" not in event for event in found)


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_more_events_than_steps_are_spread_over_them(rounds: int) -> None:
    found = times(*(ROUND * rounds))
    copies = found[2:-1:4]
    assert copies == sorted(copies) and copies[0] == 1.5 and copies[-1] in (1.5, 6.0)
