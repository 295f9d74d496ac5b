"""Kernels that leave out releases and waits run as if they were written."""
# ruff: noqa: E702, F841, RUF034

from __future__ import annotations

import inspect
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import ttl
from recorded_events import events_of
from ttl import ttnn
from ttl.diagnostics import Severity, UsageError, render_text
from ttl.sim.repair import recompiled, repair
from ttl.source.facts import facts_of
from ttl.source.facts.releases import refuse_repairs, supplied_note
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")
TILES = 6


def operation_of(read, compute, write, probe=None, grid=(1, 1)):
    """An operation of helpers: each kernel only calls one, with what it needs."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.datamovement()
        def read_kernel():
            read(a, a_dfb)

        @ttl.compute()
        def compute_kernel():
            compute(a_dfb, y_dfb)

        @ttl.datamovement()
        def write_kernel():
            write(y, y_dfb)

    return operation


# The explicit program, and its parts with everything left out


def explicit_read(a, a_dfb):
    for i in range(TILES):
        block = a_dfb.reserve()
        transfer = ttl.copy(a[0, i], block)
        transfer.wait()
        block.push()


def explicit_compute(a_dfb, y_dfb):
    for _ in range(TILES):
        a_block = a_dfb.wait()
        y_block = y_dfb.reserve()
        y_block.store(a_block + a_block)
        a_block.pop()
        y_block.push()


def explicit_write(y, y_dfb):
    for i in range(TILES):
        block = y_dfb.wait()
        ttl.copy(block, y[0, i]).wait()
        block.pop()


def read_named(a, a_dfb):
    for i in range(TILES):
        block = a_dfb.reserve()
        transfer = ttl.copy(a[0, i], block)
        assert transfer.is_done is False


def read_bare(a, a_dfb):
    for i in range(TILES):
        block = a_dfb.reserve()
        ttl.copy(a[0, i], block)


def read_with_bare_copy(a, a_dfb):
    for i in range(TILES):
        with a_dfb.reserve() as block:
            ttl.copy(a[0, i], block)


def read_continue(a, a_dfb):
    for i in range(TILES):
        block = a_dfb.reserve()
        transfer = ttl.copy(a[0, i], block)
        if i % 2:
            continue
        del transfer


def read_break(a, a_dfb):
    i = 0
    while True:
        block = a_dfb.reserve()
        ttl.copy(a[0, i], block)
        i += 1
        if i == TILES:
            break


def read_return(a, a_dfb):
    def one(i):
        block = a_dfb.reserve()
        transfer = ttl.copy(a[0, i], block)
        for _ in range(3):
            return transfer.block is block
        return None

    assert all([one(i) for i in range(TILES)])


def read_finally(a, a_dfb):
    """The block is used in the `finally` of the `return`: it is released after that."""

    def one(i):
        block = a_dfb.reserve()
        try:
            return
        finally:
            ttl.copy(a[0, i], block)

    for i in range(TILES):
        one(i)


def read_conditional(a, a_dfb):
    for i in range(2 * TILES):
        if i % 2:
            block = a_dfb.reserve()
            ttl.copy(a[0, i // 2], block)


def read_either(a, a_dfb):
    for i in range(TILES):
        block = a_dfb.reserve() if i % 2 else a_dfb.reserve()
        ttl.copy(a[0, i], block)


def read_two_at_once(a, a_dfb):
    for i in range(0, TILES, 2):
        first, second = a_dfb.reserve(), a_dfb.reserve()
        one, two = ttl.copy(a[0, i], first), ttl.copy(a[0, i + 1], second)


def read_rebinding(a, a_dfb):
    for i in range(0, TILES, 2):
        block = a_dfb.reserve(); ttl.copy(a[0, i], block)
        block = a_dfb.reserve(); ttl.copy(a[0, i + 1], block)


def read_walrus(a, a_dfb):
    for i in range(TILES):
        ttl.copy(a[0, i], block := a_dfb.reserve())


def read_caught_exception(a, a_dfb):
    for i in range(TILES):
        block = a_dfb.reserve()
        try:
            ttl.copy(a[0, i], block)
            raise ValueError(i)
        except ValueError:
            continue


READS = [
    read_named,
    read_bare,
    read_with_bare_copy,
    read_continue,
    read_break,
    read_return,
    read_finally,
    read_conditional,
    read_either,
    read_two_at_once,
    read_rebinding,
    read_walrus,
    read_caught_exception,
]


def implicit_compute(a_dfb, y_dfb):
    """All of it."""
    for _ in range(TILES):
        a_block = a_dfb.wait()
        y_block = y_dfb.reserve()
        y_block.store(a_block + a_block)


def implicit_write(y, y_dfb):
    for i in range(TILES):
        block = y_dfb.wait()
        transfer = ttl.copy(block, y[0, i])
        del transfer


def run_on_tiles(simulate, tensor, operation):
    a = tensor(32, 32 * TILES)
    y = ttnn.empty((32, 32 * TILES), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(operation, a, y)
    assert ttl.to_numpy(y).tolist() == (2 * ttl.to_numpy(a)).tolist()


@pytest.mark.parametrize("read", [explicit_read, *READS], ids=lambda f: f.__name__)
def test_results_are_those_of_the_explicit_program(simulate, tensor, read) -> None:
    code = read.__code__
    run_on_tiles(simulate, tensor, operation_of(read, explicit_compute, explicit_write))
    run_on_tiles(simulate, tensor, operation_of(read, implicit_compute, implicit_write))
    assert read.__code__ is code  # the user's function is his own again


@pytest.mark.parametrize("read", READS, ids=lambda f: f.__name__)
def test_each_of_them_needs_it(simulate, tensor, read, monkeypatch) -> None:
    monkeypatch.setattr("ttl.sim.repair._replacements", lambda program: [])
    with pytest.raises(ttl.KernelFault):
        run_on_tiles(simulate, tensor, operation_of(read, explicit_compute, explicit_write))


def test_explicit_kernels_stay_as_they_are(tensor) -> None:
    operation = operation_of(explicit_read, explicit_compute, explicit_write)
    program = operation.program((tensor(), tensor()), {}, TARGET.default_grid)
    before = [kernel.function.__code__ for kernel in program.kernels]
    with repair(program):
        assert [kernel.function.__code__ for kernel in program.kernels] == before
        assert explicit_read.__code__.co_consts == explicit_read.__code__.co_consts
    assert facts_of(program).points == []


# Closures


def test_the_recompiled_kernel_has_the_same_cells(simulate, tensor) -> None:
    seen = []

    @ttl.operation(grid=(1, 1))
    def operation(a):
        zebra = 1
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        apple = []

        @ttl.datamovement()
        def read():
            """Doc."""
            nonlocal zebra
            block = a_dfb.reserve()
            ttl.copy(a[0, 0], block)
            zebra += 5
            apple.append(zebra)

        @ttl.compute()
        def compute():
            block = a_dfb.wait()
            _ = block + block
            seen.append((zebra, apple, read.__doc__, read.__qualname__))

    simulate(operation, tensor())
    qualname = "test_the_recompiled_kernel_has_the_same_cells.<locals>.operation.<locals>.read"
    assert seen == [(6, [6], "Doc.", qualname)]


def test_every_node_is_repaired_where_the_body_asked_for_the_node(simulate, tensor) -> None:
    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        column = ttl.node(1)
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def load():
            block = dfb.reserve()
            ttl.copy(a[0, column], block)

        @ttl.datamovement()
        def read():
            load()

        @ttl.datamovement()
        def write():
            block = dfb.wait()
            ttl.copy(block, y[0, column])

    a, y = (
        tensor(32, 96),
        ttnn.empty((32, 96), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE),
    )
    simulate(operation, a, y)
    assert ttl.to_numpy(y).tolist() == ttl.to_numpy(a).tolist()


def test_helpers_of_a_module_are_repaired(simulate, tensor, tmp_path, monkeypatch) -> None:
    (tmp_path / "loader_module.py").write_text(
        "import ttl\n\n\n"
        "def load(a, dfb):\n    block = dfb.reserve()\n    ttl.copy(a[0, 0], block)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import loader_module

    def read(a, a_dfb):
        for _ in range(TILES):
            loader_module.load(a, a_dfb)

    y = ttnn.empty((32, 32 * TILES), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    simulate(operation_of(read, implicit_compute, implicit_write), tensor(), y)
    assert ttl.to_numpy(y)[0, 1] == 2


def test_defaults_of_helpers_stay(simulate, tensor) -> None:
    def read(a, a_dfb, count=TILES, *, step=1):
        for i in range(0, count, step):
            block = a_dfb.reserve()
            ttl.copy(a[0, i], block)

    run_on_tiles(simulate, tensor, operation_of(read, implicit_compute, implicit_write))


def test_without_source_the_run_says_what_is_missing(warned, tensor) -> None:
    namespace = {"ttl": ttl}
    text = "def read(a, dfb):\n    block = dfb.reserve()\n    ttl.copy(a[0, 0], block).wait()\n"
    exec(text, namespace)
    operation = operation_of(namespace["read"], lambda a, y: None, lambda y, d: None)
    assert warned(operation, tensor(), tensor()).code == "block-not-released"


def test_what_leaves_in_an_attribute_is_not_repaired(warned, tensor) -> None:
    held = SimpleNamespace()

    def read(a, a_dfb):
        block = a_dfb.reserve()
        ttl.copy(a[0, 0], block)
        held.block = block

    operation = operation_of(read, lambda a, y: None, lambda y, d: None)
    seen = warned(operation, tensor(), tensor())
    assert (seen.code, seen.primary) == ("block-not-released", "a_dfb.reserve()")


# Places


def test_a_fault_of_a_supplied_release_is_marked_at_the_acquire(report, tensor) -> None:
    def read(a, a_dfb):
        for i in range(2):
            if i == 7:
                continue
            block = a_dfb.reserve()

    seen = report(operation_of(read, lambda a, y: None, lambda y, d: None), tensor(), tensor())
    assert (seen.code, seen.primary) == ("block-state", "a_dfb.reserve()")


def test_a_fault_in_a_repaired_kernel_is_marked_where_it_is(report, tensor) -> None:
    def read(a, a_dfb):
        for i in range(2):
            block = a_dfb.reserve()
            if i == 7:
                return
            ttl.copy(a[0, i + 100], block)

    seen = report(operation_of(read, lambda a, y: None, lambda y, d: None), tensor(), tensor())
    assert (seen.code, seen.primary) == ("slice-out-of-range", "a[0, i + 100]")


def test_an_exception_in_a_repaired_kernel_has_the_users_line(tensor) -> None:
    def read(a, a_dfb):
        for i in range(2):
            block = a_dfb.reserve()
            if i == 7:
                return
            raise KeyError(block)

    operation = operation_of(read, lambda a, y: None, lambda y, d: None)
    program = operation.program((tensor(), tensor()), {}, TARGET.default_grid)
    with pytest.raises(ttl.KernelFault) as caught:
        ttl.sim.run(program, target=TARGET)
    primary = caught.value.diagnostics[0].primary.span
    lines, first = inspect.getsourcelines(read)
    assert lines[primary.line - first].strip() == "raise KeyError(block)"
    assert caught.value.__cause__.__traceback__.tb_next is not None
    innermost = caught.value.__cause__.__traceback__
    while innermost.tb_next:
        innermost = innermost.tb_next
    assert innermost.tb_lineno == primary.line


def test_tracing_sees_the_users_lines_only(simulate, tensor) -> None:
    lines = set()

    def trace(frame, event, argument):
        if frame.f_code.co_name == "read_finally" or frame.f_code.co_name == "one":
            lines.add(frame.f_lineno)
        return trace

    def read(a, a_dfb):
        sys.settrace(trace)
        try:
            read_finally(a, a_dfb)
        finally:
            sys.settrace(None)

    run_on_tiles(simulate, tensor, operation_of(read, explicit_compute, explicit_write))
    source, first = inspect.getsourcelines(read_finally)
    assert lines
    assert all(source[line - first].strip() not in ("", "try:") for line in lines - {first + 5})
    assert lines <= set(range(first, first + len(source)))


def test_trace_events_of_supplied_releases_have_the_acquires_line(simulate, tensor) -> None:
    from ttl.trace import EventKind, Recorder

    recorder = Recorder()
    a, y = (
        tensor(32, 32 * TILES),
        ttnn.empty((32, 32 * TILES), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE),
    )
    operation = operation_of(read_bare, implicit_compute, implicit_write)
    simulate(operation, a, y, recorder=recorder)
    first = inspect.getsourcelines(read_bare)[1]
    pushes = [e for e in events_of(recorder) if e.kind is EventKind.BUFFER_PUSH]
    assert {e.line for e in pushes if e.subject == "a_dfb"} == {first + 2}


# Paths


def read_on_some_paths(a, a_dfb):
    for i in range(TILES):
        block = a_dfb.reserve()
        transfer = ttl.copy(a[0, i], block)
        if i % 2:
            transfer.wait()
            block.push()


def read_before_the_return(a, a_dfb):
    def one(i):
        block = a_dfb.reserve()
        transfer = ttl.copy(a[0, i], block)
        if i % 2:
            return len(str(transfer.is_done))
        transfer.wait()
        block.push()
        return 0

    assert [one(i) for i in range(TILES)] == [0, 5] * (TILES // 2)


def read_in_a_finally(a, a_dfb):
    for i in range(TILES):
        block = a_dfb.reserve()
        try:
            ttl.copy(a[0, i], block)
        finally:
            if i % 2:
                block.push()


@pytest.mark.parametrize("read", [read_on_some_paths, read_before_the_return, read_in_a_finally])
def test_the_other_path_gets_it(simulate, tensor, read) -> None:
    run_on_tiles(simulate, tensor, operation_of(read, explicit_compute, explicit_write))


def test_a_container_that_is_not_the_functions_own_keeps_what_it_gets(warned, tensor) -> None:
    def start(a, block, transfers):
        under_way = transfers["in"]
        under_way.append(ttl.copy(a[0, 0], block))

    def read(a, a_dfb):
        transfers = {"in": []}
        with a_dfb.reserve() as block:
            start(a, block, transfers)
            assert not transfers["in"][0].is_done
            transfers["in"].pop().wait()

    seen = warned(operation_of(read, lambda a, y: None, lambda y, d: None), tensor(), tensor())
    assert seen.code == "buffer-leftover"  # of the block that nobody pops, and nothing else


# The note and --strict


def program_of(operation, tensor):
    return operation.program((tensor(), tensor()), {}, TARGET.default_grid)


def test_the_note_lists_every_repair_with_its_line(tensor) -> None:
    program = program_of(operation_of(read_named, explicit_compute, implicit_write), tensor)
    note = supplied_note(program.operation.__name__, facts_of(program).points)
    assert note is not None and note.severity is Severity.NOTE
    first = inspect.getsourcelines(read_named)[1]
    text = render_text(note)
    assert text.startswith("note[TTL3010]: `operation` leaves out 4 calls that were supplied\n")
    assert f"test_implicit_sync.py:{first + 2}:17" in text
    assert f"^^^^^^^^^^^^^^^ pushed after line {first + 4}" in text
    assert f"------------------------ waited for after line {first + 4}" in text
    assert len(re.findall("^ *[0-9]+ \\|", text, re.MULTILINE)) == 4


def test_no_note_for_explicit_programs(tensor) -> None:
    program = program_of(operation_of(explicit_read, explicit_compute, explicit_write), tensor)
    assert supplied_note(program.operation.__name__, facts_of(program).points) is None


def test_strict_refuses_all_repairs_at_once(tensor) -> None:
    program = program_of(operation_of(read_bare, implicit_compute, explicit_write), tensor)
    with pytest.raises(UsageError) as caught:
        refuse_repairs(facts_of(program).points)
    messages = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert messages == [
        "the block `block` is not pushed",
        "this transfer is not waited for",
        "the block `a_block` is not popped",
        "the block `y_block` is not pushed",
    ]
    assert {d.code.slug for d in caught.value.diagnostics} == {"left-out"}
    program = program_of(operation_of(explicit_read, explicit_compute, explicit_write), tensor)
    refuse_repairs(facts_of(program).points)


@pytest.mark.parametrize("backend", ["sim"])
def test_the_driver_notes_once_and_strict_refuses(tensor, monkeypatch, capsys, backend) -> None:
    monkeypatch.setenv("TTL_BACKEND", backend)
    operation = operation_of(read_bare, implicit_compute, implicit_write)
    a, y = (
        tensor(32, 32 * TILES),
        ttnn.empty((32, 32 * TILES), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE),
    )
    operation(a, y)
    operation(a, y)
    out, err = capsys.readouterr()
    assert out == "" and err.count("note[TTL3010]") == 1
    monkeypatch.setenv("TTL_STRICT", "1")
    written = np.array(ttl.to_numpy(y))
    with pytest.raises(UsageError):
        operation(tensor(32, 32 * TILES), y)
    assert (ttl.to_numpy(y) == written).all()
    operation_of(explicit_read, explicit_compute, explicit_write)(a, y)


# The cache


def test_the_points_depend_on_what_the_kernel_captures(simulate, report, tensor) -> None:
    """One kernel's code, two helpers: the second is not taken for the first."""
    run_on_tiles(simulate, tensor, operation_of(explicit_read, explicit_compute, explicit_write))
    run_on_tiles(simulate, tensor, operation_of(read_bare, explicit_compute, explicit_write))
    run_on_tiles(simulate, tensor, operation_of(explicit_read, explicit_compute, implicit_write))


def test_recompiled_once(tensor) -> None:
    operation = operation_of(read_bare, explicit_compute, explicit_write)
    (one,) = facts_of(program_of(operation, tensor)).points
    (two,) = facts_of(program_of(operation, tensor)).points
    assert one is two and recompiled(one) is recompiled(two)
    assert one.function.name == read_bare.__name__ and one.code is read_bare.__code__
    assert SimpleNamespace(f=recompiled(one)).f.co_firstlineno == one.code.co_firstlineno
