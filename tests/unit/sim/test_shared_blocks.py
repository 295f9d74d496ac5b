"""Blocks, transfers and buffers that a kernel looks at, or that reach another kernel."""

from __future__ import annotations

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import CompileError, KernelFault

DEVICE = ttnn.open_device(device_id=0)


def tensor():
    return ttl.from_numpy(np.ones((64, 32), np.float32), dtype=ttnn.bfloat16, device=DEVICE)


def handing_over(use):
    """`read` fills a block of `a_dfb` and hands the object to `write`, which uses it."""
    shared = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        go_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            block = a_dfb.reserve()
            ttl.copy(a[0, 0], block).wait()
            shared.append(block)
            with go_dfb.reserve() as go:
                ttl.copy(a[0, 0], go).wait()
            with go_dfb.reserve() as go:  # waits until `write` has popped, with two blocks
                ttl.copy(a[0, 0], go).wait()
            block.push()

        @ttl.datamovement()
        def write():
            with go_dfb.wait() as go:
                ttl.copy(go, a[0, 0]).wait()
                use(a, shared[0], go)

    return operation


@pytest.mark.parametrize(
    "use",
    [
        lambda a, block, go: block.push(),
        lambda a, block, go: block.pop(),
        lambda a, block, go: ttl.copy(block, a[1, 0]),
        lambda a, block, go: ttl.copy(a[1, 0], block),
        lambda a, block, go: ttl.copy(block, go),
    ],
)
def test_a_block_belongs_to_the_kernel_that_acquired_it(use) -> None:
    with pytest.raises(KernelFault, match="`write` uses a block of `a_dfb` that `read` acquired"):
        handing_over(use)(tensor())


def test_an_expression_does_not_read_the_block_of_another_kernel() -> None:
    shared = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        b_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            block = b_dfb.reserve()
            ttl.copy(a[1, 0], block).wait()
            shared.append(block)
            with a_dfb.reserve() as other:
                ttl.copy(a[0, 0], other).wait()
            block.push()

        @ttl.compute()
        def compute():
            with a_dfb.wait() as block:
                block + shared[0]

    with pytest.raises(KernelFault, match="`compute` uses a block of `b_dfb` that `read` acquired"):
        operation(tensor())


def test_a_kernel_cannot_catch_a_broken_rule() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            try:
                with dfb.reserve():
                    pass
            except Exception:
                pass

    with pytest.raises(CompileError, match="`try`: not part of the language"):
        operation(tensor())


def test_what_a_kernel_can_ask_of_its_buffers_blocks_and_transfers() -> None:
    seen = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)

        @ttl.datamovement()
        def read():
            a_dfb.reset()
            block = a_dfb.reserve()
            transfer = ttl.copy(a[0, 0], block)
            seen.append((block.name, len(block), transfer.can_wait(), transfer.is_completed))
            transfer.wait()
            seen.append((transfer.can_wait(), transfer.is_completed))
            seen.append(tuple(a_dfb.stats()))
            block.push()
            seen.append((a_dfb.head, a_dfb.visible, a_dfb.reserved, a_dfb.free))
            with a_dfb.wait() as block:
                ttl.copy(block, a[0, 0]).wait()
            seen.append(tuple(a_dfb.stats()))

    operation(tensor())
    assert seen == [
        ("a_dfb", 1, True, False),
        (False, True),
        (0, 0, 1, 2),
        (0, 1, 0, 2),
        (1, 0, 0, 3),
    ]


def test_reset_does_not_lose_blocks() -> None:
    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()
            a_dfb.reset()

    with pytest.raises(KernelFault, match="would lose blocks"):
        operation(tensor())


def test_a_receive_can_be_waited_for_once_it_was_sent() -> None:
    seen = []

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        ready = ttl.Semaphore()

        @ttl.datamovement()
        def move():
            block = dfb.reserve()

            def send(pipe):
                ready.wait_eq(1)  # the receiver has asked for the first time
                ttl.copy(a[0, 0], block).wait()
                ttl.copy(block, pipe).wait()

            def receive(pipe):
                transfer = ttl.copy(pipe, block)
                seen.append(transfer.can_wait())
                ready.get_remote((0, 0)).set(1)
                while not transfer.can_wait():
                    pass
                seen.append(True)
                transfer.wait()

            net.if_src(send)
            net.if_dst(receive)
            block.push()
            with dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(dims=1)]).wait()

    a = tensor()
    operation(a, ttnn.zeros((32, 64), dtype=a.dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE))
    assert seen == [False, True]


def test_a_block_that_the_user_keeps_is_not_used_again() -> None:
    """Acquires take block objects that nobody has any more; a kept one stays released."""
    kept = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def read():
            for _ in range(3):
                with dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                    kept.append(block)

        @ttl.datamovement()
        def write():
            for _ in range(3):
                with dfb.wait() as block:
                    ttl.copy(block, a[1, 0]).wait()
            ttl.copy(kept[0], a[1, 0])

    with pytest.raises(KernelFault, match="acquired"):
        operation(tensor())
    assert len({id(block) for block in kept}) == 3


def on_two_nodes(use):
    """Compute kernels on two nodes; the second uses what the first has left in `shared`."""
    shared = {}

    @ttl.operation(grid=(2, 1))
    def operation(a):
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        go_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def compute():
            with y_dfb.reserve() as block:
                if ttl.node(1) == 0:
                    shared["block"], shared["value"] = block, ttl.math.fill(1, shape=(1, 1)) + 1
                    block.store(ttl.math.fill(1))
                else:
                    with go_dfb.wait() as go:
                        block.store(go)
                    use(shared["block"], shared["value"])

        @ttl.datamovement()
        def move():
            with y_dfb.wait() if ttl.node(1) == 0 else go_dfb.reserve() as block:
                net.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

    return operation


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda block, value: block.store(ttl.math.fill(2)), "uses a block of `y_dfb`"),
        (lambda block, value: block.__iadd__(2), "uses a block of `y_dfb`"),
        (lambda block, value: block.__enter__(), "uses a block of `y_dfb`"),
        (lambda block, value: value + 1, "uses a value that `compute` on node"),
    ],
)
def test_a_node_has_its_own_blocks_and_values(use, message: str) -> None:
    with pytest.raises(KernelFault, match=message):
        on_two_nodes(use)(tensor())


def test_a_transfer_is_waited_for_by_the_kernel_that_started_it() -> None:
    shared = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        go_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def read():
            block = a_dfb.reserve()
            shared.append(ttl.copy(a[0, 0], block))
            for _ in range(2):  # the second waits until `write` has popped the first
                with go_dfb.reserve() as go:
                    ttl.copy(a[0, 0], go).wait()
            shared[0].wait()
            block.push()

        @ttl.datamovement()
        def write():
            with go_dfb.wait() as go:
                ttl.copy(go, a[1, 0]).wait()
                shared[0].wait()

    with pytest.raises(KernelFault, match="this transfer was started by kernel `read`"):
        operation(tensor())
