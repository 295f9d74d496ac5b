"""Every pair of a state and an event, against the table of the language written out by hand."""

from __future__ import annotations

import itertools

import pytest

from ttl.diagnostics import RuleBroken
from ttl.semantics.block_protocol import STATES as ALL_STATES
from ttl.semantics.block_protocol import Event, Life, State

LEGAL = {
    ("MW", "STORE"): "MR",
    ("RW", "STORE"): "MR",
    ("MW", "ACCUMULATE"): "MR",
    ("MR", "ACCUMULATE"): "MR",
    ("RW", "ACCUMULATE"): "MR",
    ("MR", "READ"): "RW",
    ("RW", "READ"): "RW",
    ("MR", "READ_ELEMENT"): "RW",
    ("RW", "READ_ELEMENT"): "RW",
    ("MW", "WRITE_ELEMENT"): "MR",
    ("MR", "WRITE_ELEMENT"): "MR",
    ("RW", "WRITE_ELEMENT"): "MR",
    ("MW", "COPY_INTO"): "NAW",
    ("RW", "COPY_INTO"): "NAW",
    ("NAW", "COPY_INTO_DONE"): "MR",
    ("MR", "COPY_FROM"): "ROR",
    ("RW", "COPY_FROM"): "ROR",
    ("ROR", "COPY_FROM"): "ROR",
    ("ROR", "COPY_FROM_DONE"): "RW",
    ("MR", "PUSH"): "OS",
    ("RW", "PUSH"): "OS",
    ("RW", "POP"): "OS",
}
# Warnings: what was not read is gone.
UNREAD = {("MR", "POP"): "popped-unread", ("MR", "STORE"): "overwritten-unread"}
STATES = ("MW", "MR", "RW", "ROR", "NAW", "OS")
EVENTS = (
    "STORE",
    "ACCUMULATE",
    "READ",
    "READ_ELEMENT",
    "WRITE_ELEMENT",
    "COPY_INTO",
    "COPY_INTO_DONE",
    "COPY_FROM",
    "COPY_FROM_DONE",
    "PUSH",
    "POP",
)


def life_in(state: str) -> Life:
    life = Life(next(each for each in ALL_STATES if each.value == state))
    life.transfers_reading = 1 if state == "ROR" else 0
    return life


def test_the_table_here_is_about_all_states_and_events() -> None:
    assert {state.value for state in ALL_STATES} == set(STATES)
    assert {event.name for event in Event} == set(EVENTS)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(STATES, EVENTS)))
def test_every_event_in_every_state(state: str, event: str) -> None:
    life = life_in(state)
    if (state, event) in LEGAL:
        life.step(Event[event], "the block")
        assert life.state.value == LEGAL[state, event]
    else:
        with pytest.raises(RuleBroken) as caught:
            life.step(Event[event], "the block")
        assert life.state.value == state
        slug = UNREAD.get((state, event))
        assert caught.value.code.slug == (slug or "block-state")
        assert slug or caught.value.facts == {"state": state, "event": event}


def test_a_block_is_read_until_the_last_of_its_transfers_is_waited_for() -> None:
    life = Life(State.MUST_READ)
    for _ in range(3):
        life.step(Event.COPY_FROM, "the block")
    states = []
    for _ in range(3):
        life.step(Event.COPY_FROM_DONE, "the block")
        states.append(life.state.value)
    assert states == ["ROR", "ROR", "RW"]
    with pytest.raises(RuleBroken):
        life.step(Event.COPY_FROM_DONE, "the block")


def test_the_message_names_the_block_and_the_reason() -> None:
    with pytest.raises(RuleBroken, match=r"the block of `a` cannot be pushed now: nothing has"):
        Life(State.MUST_WRITE).step(Event.PUSH, "the block of `a`")
