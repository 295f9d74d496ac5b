"""Every step of the protocol is needed: without it a run goes wrong, somewhere, under some order.

A mutant leaves out one step of passes/pipe_calls or passes/semaphore_calls. It is caught by what a
run does: another result, a fault, or a deadlock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from differential.pipe_programs import PATTERNS
from differential.test_pipes import arrays_of, run_on
from ttl.diagnostics import TTLError
from ttl.driver.launch import Driver
from ttl.passes.kernel import convert_ttl_to_ttkernel
from ttl.passes.kernel.kernel_calls import call
from ttl.passes.node_to_node import pipe_calls, semaphore_calls
from ttl.passes.node_to_node.node_calls import NodeCalls
from ttl.passes.node_to_node.own_posts import OwnPosts
from ttl.passes.node_to_node.pipe_calls import NetCalls
from ttl.passes.node_to_node.pipe_resources import NetResources

SEEDS = (None, *range(1, 9))


@dataclass(frozen=True)
class Mutant:
    owner: Any
    name: str
    replacement: Any
    pattern: str  # the program that shows it


def nothing(*arguments: Any, **keywords: Any) -> None:
    pass


def without(*names: str) -> Callable[..., Any]:
    """call(), but not of these functions."""

    def some_calls(make: Any, name: str, *arguments: Any, **keywords: Any) -> Any:
        return None if name in names else call(make, name, *arguments, **keywords)

    return some_calls


def always_the_first(self: Any, make: Any, role: str, place: Any) -> Any:
    """next_number() without counting."""
    return make.index(0)


def in_ascending_order(self: Any, make: Any, corners: Any, address: Any, hint: str) -> Any:
    is_reader, self.is_reader = self.is_reader, True
    try:
        return on_nodes(self, make, corners, address, hint)
    finally:
        self.is_reader = is_reader


on_nodes = NodeCalls.on_nodes


def to_one_place(self: Any, make: Any, turn: Any, address: Any, size: int) -> None:
    """multicast() that does not compare the places of the blocks."""
    block = self.block_of(make, turn, make.index(0))
    there = self.nodes.on_nodes(
        make, self.corners(turn.pipe), pipe_calls.add(make, self.nodes.scratch(), block), "there"
    )
    receivers = self.receivers(turn.pipe)
    name = f"noc_async_write_multicast{self.loopback}"
    call(make, name, address, there, make.index(size), receivers)


def zero(self: Any, make: Any, pipe: Any, change: int) -> Any:
    """change_balance() that forgets."""
    return make.index(0)


table_entry = NetCalls.table_entry


def one_slot(self: Any, make: Any, turn: Any, receiver: Any) -> Any:
    """table_entry() with one row for all posts."""
    return table_entry(self, make, replace(turn, slot=make.index(0)), receiver)


def one_done(self: Any, make: Any, pipe: Any) -> Any:
    """done() that all senders to a node share."""
    return self.nodes.semaphore(make, make.index(self.resources.done[0]), "done_address")


def one_staging(self: Any, make: Any) -> Any:
    """staging() that both data movement kernels share."""
    return pipe_calls.add(make, self.scratch(), make.index(0), "staging")


def only_flushed(self: Any, make: Any) -> None:
    """signal_flush() that leaves the order of the kernels' signals open."""
    call(make, "noc_async_writes_flushed")


complete_transfers = convert_ttl_to_ttkernel._complete_transfers


def without_last(name: str) -> Callable[[Any], None]:
    """_complete_transfers() without one of its barriers."""

    def complete(kernel: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(convert_ttl_to_ttkernel, "call", without(name))
            complete_transfers(kernel)

    return complete


MUTANTS = {
    "the address is not published": Mutant(NetCalls, "publish", nothing, "two_posts_at_a_time"),
    "the post overtakes the address": Mutant(
        NetCalls, "publish_barrier", nothing, "two_posts_at_a_time"
    ),
    "the post is not counted": Mutant(NetCalls, "count_post", nothing, "two_posts_at_a_time"),
    "the send does not wait": Mutant(NetCalls, "await_posts", nothing, "two_posts_at_a_time"),
    "a multicast does not wait": Mutant(NetCalls, "await_posts", nothing, "slow_receiver"),
    "no data is written": Mutant(NetCalls, "unicast", nothing, "two_posts_at_a_time"),
    "no data is multicast": Mutant(NetCalls, "multicast", nothing, "slow_receiver"),
    "the signal overtakes the data": Mutant(
        NetCalls, "data_barrier", nothing, "two_posts_at_a_time"
    ),
    "the multicast signal overtakes the data": Mutant(
        NetCalls, "data_barrier", nothing, "receivers_with_other_addresses"
    ),
    "no signal": Mutant(NetCalls, "signal_one", nothing, "two_posts_at_a_time"),
    "no multicast signal": Mutant(NetCalls, "signal_all", nothing, "slow_receiver"),
    "the signal's word is used again too early": Mutant(
        NetCalls, "signal_flush", nothing, "multicasts_of_blocks_and_of_a_semaphore"
    ),
    "one word for the signals of both kernels": Mutant(
        NodeCalls, "staging", one_staging, "both_kernels_multicast"
    ),
    "a signal overtakes that of the other kernel": Mutant(
        NetCalls, "signal_flush", only_flushed, "late_signal_of_the_other_kernel"
    ),
    "the receive does not wait": Mutant(NetCalls, "wait", nothing, "two_posts_at_a_time"),
    "transfers are not counted": Mutant(
        NetCalls, "next_number", always_the_first, "two_posts_at_a_time"
    ),
    "one place for all addresses": Mutant(NetCalls, "table_entry", one_slot, "slow_receiver"),
    "one ready counter for all slots": Mutant(
        NetResources, "ready_slots", property(lambda self: 1), "slow_receiver"
    ),
    "receivers that differ are not written one by one": Mutant(
        NetCalls, "multicast", to_one_place, "receivers_with_other_addresses"
    ),
    "the source is left out of a multicast": Mutant(
        NetCalls, "loopback", property(lambda self: ""), "cross_buffer_loopback"
    ),
    "a source does not post for itself": Mutant(OwnPosts, "post_by_send", nothing, "own_blocks"),
    "a source always posts for itself": Mutant(OwnPosts, "change_balance", zero, "own_blocks"),
    "a multicast has its corners the wrong way round": Mutant(
        NodeCalls, "on_nodes", in_ascending_order, "multicast_matmul_8x8"
    ),
    "one count for all senders": Mutant(NetCalls, "done", one_done, "gather_multiblock"),
    "the kernel ends before its increments": Mutant(
        convert_ttl_to_ttkernel,
        "_complete_transfers",
        without_last("noc_async_atomic_barrier"),
        "two_posts_at_a_time",
    ),
    "the kernel ends before its writes": Mutant(
        convert_ttl_to_ttkernel,
        "_complete_transfers",
        without_last("noc_async_write_barrier"),
        "slow_receiver",
    ),
    "a semaphore is not incremented": Mutant(
        semaphore_calls, "call", without("noc_semaphore_inc"), "slow_receiver"
    ),
    "a semaphore is not set": Mutant(
        semaphore_calls,
        "call",
        without("noc_inline_dw_write<InlineWriteDst::L1>"),
        "changes_stay_in_order",
    ),
    "a semaphore is not waited for": Mutant(
        semaphore_calls,
        "call",
        without("noc_semaphore_wait", "noc_semaphore_wait_min"),
        "written_before_it_is_read",
    ),
    "a semaphore's own copy is left out": Mutant(
        semaphore_calls,
        "call",
        without("noc_semaphore_set_multicast_loopback_src"),
        "multicasts_of_blocks_and_of_a_semaphore",
    ),
    "a set overtakes an increment": Mutant(
        semaphore_calls, "call", without("noc_async_atomic_barrier"), "changes_stay_in_order"
    ),
    "an increment overtakes a set": Mutant(
        semaphore_calls, "call", without("noc_async_write_barrier"), "changes_stay_in_order"
    ),
    "an increment overtakes a multicast": Mutant(
        semaphore_calls,
        "call",
        without("noc_async_write_barrier"),
        "multicasts_of_blocks_and_of_a_semaphore",
    ),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_by_a_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    monkeypatch.setattr(mutant.owner, mutant.name, mutant.replacement)
    pattern = PATTERNS[mutant.pattern]
    arrays = arrays_of(pattern)
    expected = [array.copy() for array in arrays]
    pattern.expected(*expected)
    assert any(not is_right(mutant.pattern, seed, arrays, expected) for seed in SEEDS)


def is_right(
    name: str, seed: int | None, arrays: list[np.ndarray], expected: list[np.ndarray]
) -> bool:
    """Is the result right? A driver of its own: others have kept what they compiled."""
    operation, driver = PATTERNS[name].make(), Driver()

    def launch(*tensors: Any) -> None:
        driver.launch(operation, tensors, {})

    try:
        results = run_on("host", seed, launch, arrays)
    except TTLError as error:
        assert "internal" not in error.diagnostics[0].code.slug, error
        return False
    return all(map(np.array_equal, expected, results))
