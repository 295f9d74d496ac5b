"""Every row of the state table: what is legal works, everything else is refused with its state.

A step is a word of the table; a case is a life of one block. Data movement steps run in a data
movement kernel, compute steps in a compute kernel.
"""

from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, refused, run, tensor, tile_numbers, tiles, warned


def living(end, steps):
    """An operation in which a block acquired by `end` takes these steps."""
    in_compute = bool(set(steps) & {"store", "read", "add"})

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def provide():
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

        def take():
            with dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

        def live():
            block = getattr(dfb, end)()
            transfers = {"in": [], "out": []}
            for step in steps:
                take_step(block, step, transfers, a, y)

        if in_compute:

            @ttl.compute()
            def compute():
                live()

        else:

            @ttl.datamovement()
            def move():
                live()

        @ttl.datamovement()
        def other():
            if end == "reserve":
                take()
            else:
                provide()

    return operation


def take_step(block, step, transfers, a, y):
    if step == "store":
        block.store(ttl.math.fill(5))
    elif step == "read":
        _ = block + 1
    elif step == "add":
        block += ttl.math.fill(5)
    elif step == "copy in":
        transfers["in"].append(ttl.copy(a[0, 0], block))
    elif step == "copy out":
        under_way = transfers["out"]
        under_way.append(ttl.copy(block, y[0, len(under_way)]))  # two to one tile would be a race
    elif step.startswith("wait "):
        transfers[step.removeprefix("wait ")].pop().wait()
    else:
        getattr(block, step)()


WRITTEN = ("copy in", "wait in")
READ = ("copy out", "wait out")

LEGAL = {
    # store into it: MW, RW
    ("state-store", "reserve", ("store", "push")),
    ("state-store", "reserve", ("store", "read", "store", "push")),
    ("state-store", "wait", ("read", "store", "read", "pop")),
    # read by an expression: MR, RW
    ("state-read", "reserve", ("store", "read", "read", "push")),
    ("state-read", "wait", ("read", "read", "pop")),
    # +=: MW, MR, RW -> MR
    ("state-accumulate", "reserve", ("add", "push")),
    ("state-accumulate", "reserve", ("add", "add", "read", "add", "push")),
    ("state-accumulate", "reserve", ("store", "add", "push")),
    # copy into it started and waited: MW, RW -> NAW -> MR
    ("state-copy-into", "reserve", (*WRITTEN, "push")),
    ("state-copy-into", "reserve", (*WRITTEN, *READ, *WRITTEN, "push")),
    ("state-copy-into", "wait", (*READ, *WRITTEN, *READ, "pop")),
    # copies from it, one or several: MR, RW, ROR(N)
    ("state-copy-from", "wait", (*READ, "pop")),
    ("state-copy-from", "wait", (*READ, *READ, "pop")),
    ("state-copy-from", "reserve", (*WRITTEN, *READ, "push")),
    ("state-copy-from", "wait", ("copy out", "copy out", "wait out", "wait out", "pop")),
    (
        "state-copy-from",
        "wait",
        ("copy out", "copy out", "wait out", "copy out", "wait out", "wait out", "pop"),
    ),
    # push: MR, RW; pop: RW
    ("state-push", "reserve", (*WRITTEN, "push")),
    ("state-push", "reserve", ("store", "read", "push")),
    ("state-pop", "wait", ("read", "pop")),
}

ILLEGAL = {
    ("state-start", "reserve", ("read",), "MW"),
    ("state-read-unwritten", "reserve", ("read",), "MW"),
    ("state-read-unwritten", "reserve", ("copy out",), "MW"),
    ("state-touch-while-written", "reserve", ("copy in", "copy in"), "NAW"),
    ("state-touch-while-written", "reserve", ("copy in", "copy out"), "NAW"),
    ("state-touch-while-written", "reserve", ("copy in", "push"), "NAW"),
    ("state-touch-while-read", "wait", ("copy out", "copy in"), "ROR"),
    ("state-touch-while-read", "wait", ("copy out", "pop"), "ROR"),
    ("state-touch-while-read", "reserve", (*WRITTEN, "copy out", "push"), "ROR"),
    ("state-copy-from", "wait", ("copy out", "copy out", "wait out", "pop"), "ROR"),
    ("state-touch-released", "reserve", (*WRITTEN, "push", "push"), "OS"),
    ("state-touch-released", "reserve", (*WRITTEN, "push", "copy in"), "OS"),
    ("state-touch-released", "reserve", (*WRITTEN, "push", "copy out"), "OS"),
    ("state-touch-released", "reserve", ("store", "push", "read"), "OS"),
    ("state-touch-released", "reserve", ("store", "push", "store"), "OS"),
    ("state-touch-released", "reserve", ("store", "push", "add"), "OS"),
    ("state-touch-released", "wait", ("read", "pop", "read"), "OS"),
    ("state-touch-released", "wait", ("read", "pop", "pop"), "OS"),
    ("state-copy-into", "reserve", (*WRITTEN, "copy in"), "MR"),
    ("state-copy-into", "wait", ("copy in",), "MR"),
    ("state-push", "reserve", ("push",), "MW"),
}


def cases(lives):
    ordered = sorted(lives)
    return [
        pytest.param(*life[1:], id=f"{life[0]}: {life[1]}, {', '.join(life[2])}")
        for life in ordered
    ]


@pytest.mark.rule(
    "state-store",
    "state-read",
    "state-accumulate",
    "state-copy-into",
    "state-copy-from",
    "state-push",
    "state-pop",
)
@pytest.mark.parametrize(("end", "steps"), cases(LEGAL))
def test_a_legal_life(end, steps):
    a, y = tensor(tiles(5)), empty(32, 64)
    run(living(end, steps), a, y)
    if end == "reserve" and "add" not in steps:
        assert (ttl.to_numpy(y)[:, :32] == 5).all()


@pytest.mark.rule(
    "state-start",
    "state-store",
    "state-copy-into",
    "state-copy-from",
    "state-push",
    "state-pop",
    "state-read-unwritten",
    "state-touch-while-written",
    "state-touch-while-read",
    "state-touch-released",
)
@pytest.mark.parametrize(("end", "steps", "state"), cases(ILLEGAL))
def test_an_illegal_step_names_the_state(end, steps, state):
    text = refused(living(end, steps), tensor(tiles(5)), empty(32, 64), slug="block-state")
    assert f"the block is in state {state}" in text


@pytest.mark.rule("state-start", "state-pop")
@pytest.mark.parametrize("steps", [("pop",), ("read", "store", "pop")])
def test_popping_a_block_unread_is_a_warning(steps):
    text = warned(living("wait", steps), tensor(tiles(5)), empty(32, 64), slug="popped-unread")
    assert "is popped, and nothing has read it" in text


@pytest.mark.rule("state-store")
@pytest.mark.parametrize(
    ("end", "steps"),
    [
        ("reserve", ("store", "store", "push")),
        ("reserve", ("add", "store", "push")),
        ("reserve", ("store", "read", "store", "store", "push")),
        ("wait", ("store", "read", "pop")),
    ],
)
def test_storing_over_a_value_that_nothing_read_is_a_warning(end, steps):
    y = empty(32, 64)
    text = warned(living(end, steps), tensor(tiles(5)), y, slug="overwritten-unread")
    assert "is overwritten, and nothing has read it" in text


@pytest.mark.rule("state-store")
def test_the_last_value_that_is_stored_counts():
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read():
            with a_dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()

        @ttl.compute()
        def compute():
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + a_blk)
                y_blk.store(a_blk * a_blk)

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, 0]).wait()

    warned(operation, tensor(tiles(5)), y := empty(32, 32), slug="overwritten-unread")
    assert tile_numbers(y) == [25]


@pytest.mark.rule("state-pop")
def test_nodes_without_work_pop_what_they_do_not_need():
    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            for _ in range(2):
                with dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()

        @ttl.compute()
        def compute():
            x, _ = ttl.node(dims=2)
            for _ in range(2):
                with dfb.wait() as block:
                    if x < 2:
                        with y_dfb.reserve() as y_blk:
                            y_blk.store(block + x)

        @ttl.datamovement()
        def write():
            x, _ = ttl.node(dims=2)
            if x < 2:
                for i in range(2):
                    with y_dfb.wait() as block:
                        ttl.copy(block, y[0, 2 * x + i]).wait()

    warned(operation, tensor(tiles(5)), y := empty(32, 128), slug="popped-unread")
    assert tile_numbers(y) == [5, 5, 6, 6]


@pytest.mark.rule("state-pop")
@pytest.mark.parametrize("is_held", [True, False])
def test_a_block_may_be_read_in_one_branch_of_a_loop_only(is_held):
    """Held over the loop and read in one iteration of it, or popped unread in the others."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        extra_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def read():
            for i in range(3):
                with dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                if i == 0 or not is_held:
                    with extra_dfb.reserve() as block:
                        ttl.copy(a[0, 0], block).wait()

        @ttl.compute()
        def compute():
            if is_held:
                extra = extra_dfb.wait()
            for i in range(3):
                if not is_held:
                    extra = extra_dfb.wait()
                with dfb.wait() as block, y_dfb.reserve() as y_blk:
                    if i == 1:
                        y_blk.store(block + extra)
                    else:
                        y_blk.store(block)
                if not is_held:
                    extra.pop()
            if is_held:
                extra.pop()

        @ttl.datamovement()
        def write():
            for i in range(3):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[0, i]).wait()

    y = empty(32, 96)
    if is_held:
        run(operation, tensor(tiles(5)), y)
    else:
        warned(operation, tensor(tiles(5)), y, slug="popped-unread")
    assert tile_numbers(y) == [5, 10, 5]


@pytest.mark.rule("state-push", "state-pop")
@pytest.mark.parametrize(("end", "call"), [("reserve", "pop"), ("wait", "push")])
def test_a_reserved_block_is_pushed_and_a_waited_one_popped(end, call):
    before = WRITTEN if end == "reserve" else READ
    refused(living(end, (*before, call)), tensor(tiles(5)), empty(32, 64), slug="block-state")


@pytest.mark.rule("state-copy-into")
def test_the_data_of_a_copy_is_there_after_its_wait():
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()
                ttl.copy(block, y[0, 0]).wait()
                ttl.copy(a[0, 1], block).wait()
            with dfb.wait() as block:
                ttl.copy(block, y[0, 1]).wait()

    run(operation, tensor(tiles(3, 4)), y := empty(32, 64))
    assert ttl.to_numpy(y)[0, ::32].tolist() == [3, 4]


def reserve(dfb, held):
    held["block"] = dfb.reserve()


@pytest.mark.rule("end-of-kernel")
@pytest.mark.parametrize(
    ("steps", "slug", "diagnosed"),
    [
        (WRITTEN, "block-not-released", warned),
        (("copy in",), "transfer-not-waited", refused),
    ],
)
def test_at_its_end_a_kernel_holds_no_block_and_no_transfer(steps, slug, diagnosed):
    """The block and the transfers are in a caller's dict: nothing is supplied for them."""

    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            held = {"in": [], "out": []}
            reserve(dfb, held)
            for step in steps:
                take_step(held["block"], step, held, a, y)

    diagnosed(operation, tensor(tiles(5)), empty(32, 32), slug=slug)
