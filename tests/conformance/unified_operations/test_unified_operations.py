"""Operations that are written as one body, and operations of operations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ttl
from conformance.harness import empty, refused, run, small, tensor
from ttl.source.unified.unify import threads_of
from ttl.source.unified.units import Thread

ROWS = 4


def buffers(*likes):
    return [ttl.make_dataflow_buffer_like(like, shape=(1, 1), block_count=2) for like in likes]


def thread_of(operation, line: str, *arguments) -> set[Thread]:
    """Those on which the units of the line that begins so run."""
    found = threads_of(operation, dict(zip(operation.signature.parameters, arguments, strict=True)))
    assert found is not None
    lines = Path(found.frame.file).read_text(encoding="utf-8").splitlines()
    units = [
        unit
        for frame in found.frame.all()
        for unit in frame.units
        if lines[unit.node.lineno - 1].strip().startswith(line)
    ]
    assert units, line
    kernels = found.sections.kernels
    return {thread for thread in kernels for unit in units if unit in kernels[thread]}


@ttl.operation(grid=(2, 1))
def scale(x, y):
    x_dfb, y_dfb = buffers(x, y)
    rows = x.shape[0] // 32 // 2
    node = ttl.node(dims=1)
    for i in range(rows):
        row = node * rows + i
        with x_dfb.reserve() as blk:
            ttl.copy(x[row, 0], blk).wait()
        with x_dfb.wait() as blk, y_dfb.reserve() as out:
            out.store(blk * 2)
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[row, 0]).wait()


@pytest.mark.rule("unified", "unified-assignment", "unified-acquire", "unified-shared")
def test_statements_get_the_threads_that_they_need():
    values = small(32 * ROWS, 32)
    x, y = tensor(values), empty(32 * ROWS, 32)
    run(scale, x, y)
    assert (ttl.to_numpy(y) == 2 * values).all()
    compute, read, write = Thread
    threads = {
        "x_dfb, y_dfb =": set(),
        "node =": {read, write},
        "for i": {compute, read, write},
        "row =": {read, write},
        "with x_dfb.reserve": {read},
        "ttl.copy(x[row": {read},
        "with x_dfb.wait": {compute},
        "out.store": {compute},
        "with y_dfb.wait": {write},
        "ttl.copy(blk, y": {write},
    }
    for line, expected in threads.items():
        assert thread_of(scale, line, x, y) == expected, line


@pytest.mark.rule("unified-with")
def test_a_with_of_two_threads_is_split():
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        with x_dfb.reserve() as blk, y_dfb.reserve() as out, y_dfb.wait() as done:
            ttl.copy(x[0, 0], blk).wait()
            blk.push()
            out.store(x_dfb.wait() + 1)
            out.push()
            ttl.copy(done, y[0, 0]).wait()

    values = small(32, 32)
    x, y = tensor(values), empty(32, 32)
    run(operation, x, y)
    assert (ttl.to_numpy(y) == values + 1).all()
    compute, read, write = Thread
    assert thread_of(operation, "with x_dfb", x, y) == {compute, read, write}


@pytest.mark.rule("unified-pipes")
def test_sends_and_receives_are_on_different_threads():
    @ttl.operation(grid=(2, 1))
    def operation(x, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(0, 2), 0))])
        x_dfb, got_dfb = buffers(x, x)
        node = ttl.node(dims=1)
        if net.is_src():
            ttl.copy(x[0, 0], x_dfb.reserve())
            with x_dfb.wait() as sent:
                net.if_src(lambda pipe: ttl.copy(sent, pipe).wait())
        with got_dfb.reserve() as got:
            net.if_dst(lambda pipe: ttl.copy(pipe, got).wait())
        ttl.copy(got_dfb.wait(), y[node, 0])

    values = small(64, 32)
    x, y = tensor(values), empty(64, 32)
    run(operation, x, y)
    assert (ttl.to_numpy(y) == np.tile(values[:32], (2, 1))).all()
    assert thread_of(operation, "net.if_src", x, y) == {Thread.WRITE}
    assert thread_of(operation, "net.if_dst", x, y) == {Thread.READ}


@pytest.mark.rule("unified-semaphores")
def test_semaphores_order_what_stands_around_them():
    @ttl.operation(grid=(2, 1))
    def operation(x, between, y):
        x_dfb, y_dfb = buffers(x, y)
        arrived = ttl.Semaphore(0)
        node = ttl.node(dims=1)
        ttl.copy(x[node, 0], x_dfb.reserve())
        ttl.copy(x_dfb.wait(), between[node, 0])
        arrived.get_remote((1 - node, 0)).inc(1)
        arrived.wait_ge(1)
        ttl.copy(between[1 - node, 0], y_dfb.reserve())
        ttl.copy(y_dfb.wait(), y[node, 0])

    values = small(64, 32)
    x, between, y = tensor(values), empty(64, 32), empty(64, 32)
    run(operation, x, between, y)
    assert (ttl.to_numpy(y) == np.concatenate([values[32:], values[:32]])).all()
    assert thread_of(operation, "arrived.get_remote", x, between, y) == {Thread.WRITE}
    assert thread_of(operation, "arrived.wait_ge", x, between, y) == {Thread.READ}


@pytest.mark.rule("unified-refused")
@pytest.mark.parametrize(
    ("slug", "use"),
    [
        ("mixed-statement", lambda x, blk, out: ttl.copy(blk + 1, x[0, 0])),
        ("block-threads", lambda x, blk, out: ttl.copy(blk, x[0, 0])),
        ("unknown-call", lambda x, blk, out: out.store(np.negative(blk))),
    ],
)
def test_what_has_no_thread_is_refused(slug, use):
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        ttl.copy(x[0, 0], x_dfb.reserve())
        blk, out = x_dfb.wait(), y_dfb.reserve()
        use(x, blk, out)
        out.store(blk)

    refused(operation, tensor(small(32, 32)), empty(32, 32), slug=slug)


@pytest.mark.rule("unified-forms")
def test_one_kernel_makes_it_a_multi_kernel_operation():
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb = buffers(x, y)
        ttl.copy(x[0, 0], x_dfb.reserve())

        @ttl.compute()
        def compute():
            y_dfb.reserve().store(x_dfb.wait())

    refused(operation, tensor(small(32, 32)), empty(32, 32), slug="mixed-forms")


@pytest.mark.rule("unified-elements")
def test_a_number_from_a_block_stays_on_its_thread():
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb, y_dfb, key_dfb = buffers(x, y, x)
        ttl.copy(x[0, 0], key_dfb.reserve())
        with key_dfb.wait() as blk:
            first = ttl.raw_element_read(blk, 0, 0)
        ttl.copy(x[0, 0], x_dfb.reserve())
        y_dfb.reserve().store(x_dfb.wait() * first)

    refused(operation, tensor(small(32, 32)), empty(32, 32), slug="needed-elsewhere")


@ttl.operation()
def load(x, row, dfb):
    with dfb.reserve() as blk:
        ttl.copy(x[row, 0], blk).wait()


@ttl.operation()
def store(dfb, y, row):
    with dfb.wait() as blk:
        ttl.copy(blk, y[row, 0]).wait()


@ttl.operation()
def twice(x_dfb, y_dfb, like):
    (inner_dfb,) = buffers(like)
    inner_dfb.reserve().store(x_dfb.wait() + 1)
    y_dfb.reserve().store(inner_dfb.wait() * 2)


@pytest.mark.rule("composition", "composition-own-buffers")
def test_operations_are_expanded_in_place():
    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        a_dfb, b_dfb, c_dfb = buffers(x, x, x)
        for row in range(ROWS):
            load(x, row, a_dfb)
            twice(a_dfb, b_dfb, x)
            twice(b_dfb, c_dfb, x)
            store(c_dfb, y, row)

    values = small(32 * ROWS, 32)
    x, y = tensor(values), empty(32 * ROWS, 32)
    run(operation, x, y)
    assert (ttl.to_numpy(y) == ((values + 1) * 2 + 1) * 2).all()
    assert len(operation.program((x, y), {}, (1, 1)).buffers) == 5


@pytest.mark.rule("composition-refused")
@pytest.mark.parametrize(
    "call",
    [
        "load(x, 0)",
        "load(*(x, 0, a_dfb))",
        "y = load(x, 0, a_dfb)",
        "operation(x, y)",
    ],
)
def test_what_cannot_be_expanded_is_refused(call, tmp_path):
    text = f"""
import ttl

@ttl.operation()
def load(x, row, dfb):
    with dfb.reserve() as blk:
        ttl.copy(x[row, 0], blk).wait()

@ttl.operation(grid=(1, 1))
def operation(x, y):
    a_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    {call}
    ttl.copy(a_dfb.wait(), y[0, 0])
"""
    file = tmp_path / "program.py"
    file.write_text(text)
    program: dict = {}
    exec(compile(text, str(file), "exec"), program)
    with pytest.raises(ttl.TTLError, match="TTL1026"):
        program["operation"](tensor(small(32, 32)), empty(32, 32))


@pytest.mark.rule("composition-expand-only")
def test_an_operation_with_buffers_is_only_expanded():
    refused(load, tensor(small(32, 32)), 0, tensor(small(32, 32)), slug="composition")
