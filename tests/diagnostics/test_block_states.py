"""Every event that is illegal in a state of a block, in a program, on the simulator and compiled.

The table of semantics/block_protocol says which are legal. A kernel brings a block into a state and
then does what it may not.
"""

from __future__ import annotations

import linecache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import TTLError
from ttl.driver import PROCESS_DRIVER
from ttl.driver.remarks import Remarks
from ttl.semantics.block_protocol import STATES, TOLERATED, TRANSITIONS, Event, State

DEVICE = ttnn.open_device(device_id=0)

PROGRAM = """
import ttl

@ttl.operation(grid=(1, 1))
def operation(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    other = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.{kind}()
    def kernel():
{body}

    @ttl.datamovement()
    def fill():
{fill}
"""
FILL = """\
with dfb.reserve() as filled:
    ttl.copy(a[0, 0], filled).wait()
"""


class Way(NamedTuple):
    """How a kernel brings `blk` into a state."""

    kind: str
    steps: tuple[str, ...]

    @property
    def is_waited(self) -> bool:
        return "wait()" in self.steps[0]


RESERVE, WAIT = "blk = dfb.reserve()", "blk = dfb.wait()"
STORE, READ = "blk.store(ttl.math.fill(1, shape=(1, 1)))", "out = other.reserve()\nout.store(blk)"
LOAD, SAVE = "ttl.copy(a[0, 0], blk)", "ttl.copy(blk, y[0, 0])"

WAYS: dict[State, tuple[Way, ...]] = {
    State.MUST_WRITE: (Way("compute", (RESERVE,)), Way("datamovement", (RESERVE,))),
    State.MUST_READ: (
        Way("compute", (RESERVE, STORE)),
        Way("compute", (WAIT,)),
        Way("datamovement", (RESERVE, f"{LOAD}.wait()")),
        Way("datamovement", (WAIT,)),
    ),
    State.READ_WRITE: (Way("compute", (WAIT, READ)), Way("datamovement", (WAIT, f"{SAVE}.wait()"))),
    State.READ_BY_TRANSFERS: (
        Way("datamovement", (WAIT, f"tx = {SAVE}")),
        Way("datamovement", (RESERVE, f"{LOAD}.wait()", f"tx = {SAVE}")),
    ),
    State.WRITTEN_BY_TRANSFER: (Way("datamovement", (RESERVE, f"tx = {LOAD}")),),
    State.RELEASED: (
        Way("compute", (RESERVE, STORE, "blk.push()")),
        Way("compute", (WAIT, READ, "blk.pop()")),
        Way("datamovement", (RESERVE, f"{LOAD}.wait()", "blk.push()")),
        Way("datamovement", (WAIT, f"{SAVE}.wait()", "blk.pop()")),
    ),
}

COMPUTE_EVENTS = {
    Event.STORE: STORE,
    Event.ACCUMULATE: "blk += ttl.math.fill(1, shape=(1, 1))",
    Event.READ: READ,
}
MOVING_EVENTS = {
    Event.COPY_INTO: LOAD,
    Event.COPY_FROM: SAVE,
    Event.READ_ELEMENT: "ttl.raw_element_read(blk, 0, 0)",
    Event.WRITE_ELEMENT: "ttl.raw_element_write(blk, 0, 0, 1.0)",
}
RELEASES = {Event.PUSH: "blk.push()", Event.POP: "blk.pop()"}

# The end of a transfer is its wait(): twice is TTL3017, and nothing else ends one.
ENDS_OF_TRANSFERS = {Event.COPY_INTO_DONE, Event.COPY_FROM_DONE}


def events_in(kind: str) -> dict[Event, str]:
    return RELEASES | (COMPUTE_EVENTS if kind == "compute" else MOVING_EVENTS)


def is_illegal(state: State, way: Way, event: Event) -> bool:
    if event in RELEASES and way.is_waited is (event is Event.PUSH):
        return True  # of a block that was acquired for the other
    if event is Event.ACCUMULATE and way.is_waited:
        return (state, Event.READ) not in TRANSITIONS  # a read and a store
    return (state, event) not in TRANSITIONS


ILLEGAL = [
    (state, way, event)
    for state in STATES
    for way in WAYS[state]
    for event in events_in(way.kind)
    if is_illegal(state, way, event)
]


def is_harmless(state: State, way: Way, event: Event) -> bool:
    return (state, event) in TOLERATED and (way.is_waited or event not in RELEASES)


CASES = [case for case in ILLEGAL if not is_harmless(*case)]
HARMLESS = [case for case in ILLEGAL if is_harmless(*case)]


def source(way: Way, event: Event) -> str:
    # A wait that comes too late is not left out.
    late = ["tx.wait()"] if way.steps[-1].startswith("tx = ") else []
    lines = "\n".join([*way.steps, events_in(way.kind)[event], *late]).splitlines()
    fill = FILL if way.is_waited else "pass"
    return PROGRAM.format(
        kind=way.kind,
        body="\n".join(f"        {line}" for line in lines),
        fill="\n".join(f"        {line}" for line in fill.splitlines()),
    )


def named(case: object) -> str:
    if isinstance(case, State):
        return case.value
    if isinstance(case, Way):
        return f"{case.kind}-{'waited' if case.is_waited else 'reserved'}"
    return str(getattr(case, "name", case))


def run(text: str) -> None:
    Path("program.py").write_text(text)
    linecache.clearcache()
    module = ModuleType("program")
    exec(compile(text, "program.py", "exec"), module.__dict__)
    a, y = (ttl.from_numpy(np.ones((32, 32)), dtype=ttnn.bfloat16, device=DEVICE) for _ in "ay")
    module.operation(a, y)


MENTIONED = {
    Event.POP: ("popped-unread", "TTL3016", "is popped"),
    Event.STORE: ("overwritten-unread", "TTL3019", "is overwritten"),
}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize(("state", "way", "event"), HARMLESS, ids=named)
def test_it_is_mentioned(
    state: State,
    way: Way,
    event: Event,
    backend: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TTL_BACKEND", backend)
    monkeypatch.setattr(PROCESS_DRIVER, "remarks", Remarks())
    text = source(way, event)
    run(text)
    slug, code, what = MENTIONED[event]
    assert f"warning[{code}]: the block of `dfb` {what}" in capsys.readouterr().err
    monkeypatch.setenv("TTL_WARNINGS", f"error={code}")
    with pytest.raises(TTLError) as caught:
        run(text)
    assert [each.code.slug for each in caught.value.diagnostics] == [slug]


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize(("state", "way", "event"), CASES, ids=named)
def test_it_is_refused(
    state: State,
    way: Way,
    event: Event,
    backend: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TTL_BACKEND", backend)
    text = source(way, event)
    with pytest.raises(TTLError) as caught:
        run(text)
    found = caught.value.diagnostics[0]
    assert found.code.slug == "block-state", str(caught.value)
    assert found.helps
    assert found.primary is not None
    line = text.splitlines()[found.primary.span.line - 1].strip()
    assert line == events_in(way.kind)[event].splitlines()[-1]


def test_all_cells_are_covered() -> None:
    """Those of transfers and of expressions in data movement kernels cannot be reached."""
    assert {(state, event) for state, _, event in HARMLESS} == set(TOLERATED)
    covered = {(state, event) for state, _, event in ILLEGAL}
    unreachable = {
        (state, event)
        for state in STATES
        for event in Event
        if event in ENDS_OF_TRANSFERS
        or (event in COMPUTE_EVENTS and all(way.kind != "compute" for way in WAYS[state]))
    }
    illegal = {(s, e) for s in STATES for e in Event if (s, e) not in TRANSITIONS}
    assert illegal - unreachable <= covered
