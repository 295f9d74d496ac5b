"""Semaphores: barriers of both directions, and every rule that can be broken."""

from __future__ import annotations

import pytest

import ttl
from ttl import sim
from ttl.target import load

TARGET = load("wormhole_b0")


def run(operation, *args, seed=None):
    program = operation.program(args, {}, TARGET.default_grid)
    sim.run(program, target=TARGET, seed=seed)


# The specification's barriers


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_one_to_many(tensor, seed, reverse) -> None:
    seen = []

    @ttl.operation(grid=(3, 2))
    def operation(a):
        node_num = ttl.node(dims=1)
        first = 5 if reverse else 0
        my_barrier = ttl.Semaphore()
        all_barrier = my_barrier.get_remote_multicast()

        @ttl.datamovement()
        def dm():
            if node_num == first:
                seen.append("done")
                all_barrier.set(1)
            else:
                my_barrier.wait_eq(1)
                seen.append(node_num)

    for _ in range(2):  # every launch starts from the initial value
        run(operation, tensor(), seed=seed)
        assert seen[0] == "done" and len(seen) == 6
        seen.clear()


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("call", ["wait_eq", "wait_ge"])
def test_many_to_one(tensor, seed, call) -> None:
    seen = []

    @ttl.operation(grid=(3, 2))
    def operation(a):
        node_num = ttl.node(dims=1)
        my_barrier = ttl.Semaphore()
        node_0_barrier = my_barrier.get_remote((0, 0))
        non_0_node_count = ttl.grid_size(dims=1) - 1

        @ttl.datamovement()
        def dm():
            if node_num != 0:
                seen.append(node_num)
                node_0_barrier.inc(1)
            else:
                getattr(my_barrier, call)(non_0_node_count)
                seen.append("done")

    run(operation, tensor(), seed=seed)
    assert seen[-1] == "done" and sorted(seen[:-1]) == [1, 2, 3, 4, 5]


def test_a_range_is_all_that_is_set(simulate, tensor) -> None:
    after = []

    @ttl.operation(grid=(4, 1))
    def operation(a):
        semaphore = ttl.Semaphore(initial=7)
        done = ttl.Semaphore()

        @ttl.datamovement()
        def dm():
            if ttl.node(1) == 0:
                semaphore.get_remote_multicast((slice(1, 3), 0)).set(9)
                done.get_remote_multicast().set(1)
            done.wait_ge(1)
            semaphore.wait_eq(9 if ttl.node(1) in (1, 2) else 7)
            after.append(ttl.node(1))

    simulate(operation, tensor())
    assert sorted(after) == [0, 1, 2, 3]


def test_values_are_32_bits_and_local(simulate, tensor) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        semaphore = ttl.Semaphore(2**32 - 1)

        @ttl.datamovement()
        def dm():
            if ttl.node(1) == 0:
                semaphore.get_remote(0).inc(3)
                semaphore.wait_eq(2)
                semaphore.set(5)
                semaphore.wait_ge(4)
                semaphore.get_remote((0, 0)).set(6)
                semaphore.wait_eq(6)
            else:
                semaphore.wait_eq(2**32 - 1)

    simulate(operation, tensor())


def test_two_kernels_of_a_node_share_the_value(simulate, tensor) -> None:
    seen = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        semaphore = ttl.Semaphore()

        @ttl.datamovement()
        def waits():
            semaphore.wait_eq(1)
            seen.append("waits")

        @ttl.datamovement()
        def sets():
            seen.append("sets")
            semaphore.set(1)

    simulate(operation, tensor())
    assert seen == ["sets", "waits"]


# Deadlocks


def test_a_value_that_is_never_reached(report, tensor) -> None:
    @ttl.operation(grid=(3, 1))
    def operation(a):
        barrier = ttl.Semaphore()
        remote = barrier.get_remote((0, 0))

        @ttl.datamovement()
        def dm():
            if ttl.node(1):
                remote.inc(1)
            else:
                barrier.wait_ge(3)

    found = report(operation, tensor())
    assert (found.code, found.primary) == ("deadlock", "barrier.wait_ge(3)")
    assert (
        "deadlock: `dm` on node (0, 0) waits for `barrier` to be at least 3 (it is 2), "
        "but no other kernel is left to do it" in found.text
    )
    assert "ttl.Semaphore()" in found.marked("-")
    assert "semaphore `barrier` declared here" in found.text
    assert "add up to the value that is waited for" in found.text


def test_wait_eq_wants_the_very_value(report, tensor) -> None:
    found = report(kernel_of(lambda s: s.wait_eq(1), make=lambda: ttl.Semaphore(2)), tensor())
    assert "waits for `semaphore` to be 1 (it is 2)" in found.text


def test_a_semaphore_of_another_operation(report, tensor) -> None:
    kept = []

    def keep():
        kept.extend(ttl.Semaphore() for _ in range(3))
        return kept[2]

    report(kernel_of(lambda s: s.wait_eq(1), make=keep), tensor())
    found = report(kernel_of(lambda s: kept[2].set(1)), tensor())
    assert (found.code, found.primary) == ("wrong-argument", "kept[2].set(1)")
    assert "semaphore `semaphore` belongs to another operation" in found.text


def test_nodes_that_wait_for_each_other(report, tensor) -> None:
    @ttl.operation(grid=(2, 1))
    def operation(a):
        ready = ttl.Semaphore()

        @ttl.datamovement()
        def dm():
            ready.wait_eq(1)
            ready.get_remote(1 - ttl.node(1)).set(1)

    found = report(operation, tensor())
    assert "deadlock: `dm` on 2 nodes waits for `dm` on other nodes" in found.text
    assert "= cycle: `dm` on node (0, 0) waits for `ready` to be 1 (it is 0); `dm` on" in found.text
    assert "= help: change the semaphore that others wait for before" in found.text


def test_many_that_could_change_it(report, tensor) -> None:
    @ttl.operation(grid=(2, 2))
    def operation(a):
        ready = ttl.Semaphore()

        @ttl.datamovement()
        def dm():
            ready.wait_eq(1)
            ready.get_remote(0).set(1)

    found = report(operation, tensor())
    assert "deadlock: `dm` on 4 nodes waits on semaphore `ready` for ever" in found.text
    assert "cycle" not in found.text


def test_a_mixture_with_a_buffer_and_a_pipe(report, tensor) -> None:
    """(0, 0) waits for a semaphore, the one who would set it for a post of (0, 0)."""

    @ttl.operation(grid=(2, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe(1, 0)])
        start = ttl.Semaphore()

        @ttl.compute()
        def compute():
            if ttl.node(1) == 0:
                dfb.wait()

        @ttl.datamovement()
        def dm():
            with dfb.reserve() as block:
                if net.is_src():
                    ttl.copy(a[0, 0], block).wait()
                    net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                    start.get_remote(0).set(1)
                else:
                    start.wait_eq(1)
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

    found = report(operation, tensor())
    assert (
        "= cycle: `dm` on node (0, 0) waits for `start` to be 1 (it is 0); `dm` on node (1, 0) "
        "waits for node (0, 0) to post a receive on pipe (1,) -> (0,)" in found.text
    )
    assert "`compute` waits for a block in `dfb` (0 of 2 filled)" in found.text


# Rules that can be broken


def kernel_of(body, kind="datamovement", make=ttl.Semaphore):
    @ttl.operation(grid=(2, 2))
    def operation(a):
        semaphore = make()

        @getattr(ttl, kind)()
        def kernel():
            body(semaphore)

    return operation


@pytest.mark.parametrize(
    ("body", "call"),
    [
        (lambda s: s.wait_eq(0), "Semaphore.wait_eq()"),
        (lambda s: s.wait_ge(0), "Semaphore.wait_ge()"),
        (lambda s: s.set(0), "Semaphore.set()"),
        (lambda s: s.get_remote(0).set(0), "UnicastRemoteSemaphore.set()"),
        (lambda s: s.get_remote(0).inc(0), "UnicastRemoteSemaphore.inc()"),
        (lambda s: s.get_remote_multicast().set(0), "MulticastRemoteSemaphore.set()"),
    ],
)
def test_semaphores_are_not_for_compute_kernels(report, tensor, body, call) -> None:
    found = report(kernel_of(body, "compute"), tensor())
    assert found.code == "wrong-kernel-kind"
    assert f"error[TTL1002]: {call} is not allowed in a compute kernel" in found.text


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (lambda s: s.set(-1), "wrong-argument", "the value set is -1"),
        (lambda s: s.set(2**32), "wrong-argument", "the value set is 4294967296"),
        (lambda s: s.set("1"), "wrong-argument", "the value set is '1'"),
        (lambda s: s.wait_ge(1.5), "wrong-argument", "the value waited for is 1.5"),
        (lambda s: s.get_remote(0).inc(-2), "wrong-argument", "the value added is -2"),
        (lambda s: s.get_remote((2, 0)), "node-outside-grid", "node (2, 0) does not lie"),
        (lambda s: s.get_remote((0, slice(2))), "wrong-argument", "is not a node coordinate"),
        (
            lambda s: s.get_remote_multicast((0, slice(0, 3))),
            "node-outside-grid",
            "range (0, 0:3) does not lie in the grid (2, 2)",
        ),
    ],
)
def test_wrong_values_and_nodes(report, tensor, body, code, message) -> None:
    found = report(kernel_of(body), tensor())
    assert found.code == code
    assert message in found.text
    assert found.primary.startswith("s.")


def test_wrong_nodes_in_the_body(report, tensor) -> None:
    found = report(kernel_of(None, make=lambda: ttl.Semaphore().get_remote(4)), tensor())
    assert (found.code, found.primary) == ("node-outside-grid", "ttl.Semaphore().get_remote(4)")


def test_a_multicast_cannot_increment(report, tensor) -> None:
    found = report(kernel_of(lambda s: s.get_remote_multicast().inc(1)), tensor())
    assert (found.code, found.primary) == ("unknown-name", "s.get_remote_multicast().inc")
    assert "a semaphore on several nodes has no `inc`" in found.text
    assert "semaphore.get_remote(coord).inc(value)" in found.text


def test_a_wrong_initial_value(report, tensor) -> None:
    found = report(kernel_of(None, make=lambda: ttl.Semaphore(initial=-1)), tensor())
    assert (found.code, found.primary) == ("wrong-argument", "ttl.Semaphore(initial=-1)")
    assert "from 0 to 2**32 - 1" in found.text


def test_semaphores_belong_to_an_operation(report, tensor) -> None:
    with pytest.raises(ttl.UsageError, match=r"ttl\.Semaphore\(\) works only in the body of an op"):
        ttl.Semaphore()
    found = report(kernel_of(lambda s: ttl.Semaphore()), tensor())
    assert (found.code, found.primary) == ("outside-operation", "ttl.Semaphore()")


def test_too_many(report, simulate, tensor) -> None:
    def declaring(count):
        @ttl.operation(grid=(1, 1))
        def operation(a):
            many = [ttl.Semaphore(i) for i in range(count)]

            @ttl.datamovement()
            def dm():
                many[-1].set(1)

        return operation

    simulate(declaring(16), tensor())
    found = report(declaring(17), tensor())
    assert (found.code, found.primary) == ("too-many-semaphores", "ttl.Semaphore(i)")
    assert "error[TTL4004]: 17 semaphores; a node of wormhole_b0 has 16" in found.text
    assert "many_0(0), many_1(1)," in found.text
