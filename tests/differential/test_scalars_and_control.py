"""Python of kernels, one construct a test: the compiled kernel does what the simulator does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ttl
from differential.moves import COLUMNS, agree, mover, run
from golden.example_programs import load_file
from ttl.diagnostics import CompileError, KernelFault

SIZE = 3
TABLE = (5, 2, 7)


def send(dfb, a, number):
    """A helper of the module: tile `number` of a into the next block."""
    with dfb.reserve() as block:
        ttl.copy(a[number // COLUMNS % COLUMNS, number % COLUMNS], block).wait()


def clamp(value, low, high=63):
    if value < low:
        return low
    if value > high:
        return high
    return value


def numbers(read, count, **options):
    """The numbers of the tiles that a kernel sends, as both engines send them."""
    return [int(value) - 1 for value in agree(read, count, **options).ravel()]


def test_floor_division_and_remainder_of_negatives() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(6):
                x = i - 3
                send(dfb, a, x // 2 + 10)
                send(dfb, a, x % 4 + 20)
                send(dfb, a, 7 // (x * 2 + 1) + 30)
                send(dfb, a, 7 % (x * 2 + 1) + 40)

        return kernel

    expected = []
    for i in range(6):
        x = i - 3
        divisor = x * 2 + 1
        expected += [x // 2 + 10, x % 4 + 20, 7 // divisor + 30, 7 % divisor + 40]
    assert numbers(read, 24) == expected


def test_bits_shifts_and_powers() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(1, 5):
                send(dfb, a, (i << 2) | 1)
                send(dfb, a, (i * 13 & 14) ^ 3)
                send(dfb, a, (-i >> 1) + 20)
                send(dfb, a, ~i + 30)
                send(dfb, a, i**2 + 31)

        return kernel

    expected = []
    for i in range(1, 5):
        expected += [(i << 2) | 1, (i * 13 & 14) ^ 3, (-i >> 1) + 20, ~i + 30, i**2 + 31]
    assert numbers(read, 20) == expected


def test_floats_and_conversions() -> None:
    def read(a, dfb):
        def kernel():
            total = 0.0
            for i in range(5):
                total += i / 4 - 0.3
                send(dfb, a, int(total * 10) + 20)
                send(dfb, a, 1 if total > 0.5 else 2)
                send(dfb, a, 3 if -total < abs(total) else 4)

        return kernel

    expected, total = [], 0.0
    for i in range(5):
        total += i / 4 - 0.3
        expected += [int(total * 10) + 20, 1 if total > 0.5 else 2, 3 if -total < abs(total) else 4]
    assert numbers(read, 15) == expected


def test_comparisons_and_boolean_operators() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(6):
                ok = 1 < i <= 4 and i != 3
                other = not ok or i == 0
                send(dfb, a, ok + 2 * other)
                send(dfb, a, (i and 7) + 10)
                send(dfb, a, (i % 2 or 5) + 20)
                send(dfb, a, 40 if i in (1, 4) else 41)
                send(dfb, a, 42 if i > 0 and 12 // i > 3 else 43)

        return kernel

    expected = []
    for i in range(6):
        ok = 1 < i <= 4 and i != 3
        other = not ok or i == 0
        expected += [
            ok + 2 * other,
            (i and 7) + 10,
            (i % 2 or 5) + 20,
            40 if i in (1, 4) else 41,
            42 if i > 0 and 12 // i > 3 else 43,
        ]
    assert numbers(read, 30) == expected


def test_a_test_whose_second_part_assigns() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(4):
                found = 1
                if i > 0 and (w := i + 10) > 11:
                    found = w
                if i == 2 or (v := i + 20) < 22:
                    found += 30
                else:
                    found += v
                send(dfb, a, found)

        return kernel

    assert numbers(read, 4) == [31, 31, 42, 36]


def test_reassignment_in_loops_and_branches() -> None:
    def read(a, dfb):
        def kernel():
            x, y = 0, 1
            for i in range(3):
                for j in range(i + 1):
                    x, y = y, x + y
                    if j == 1:
                        x += 2
                    elif j == 2:
                        y = 9
                    else:
                        x, y = y, x
                    send(dfb, a, x)
                    send(dfb, a, y)
            send(dfb, a, x + y)

        return kernel

    expected, x, y = [], 0, 1
    for i in range(3):
        for j in range(i + 1):
            x, y = y, x + y
            if j == 1:
                x += 2
            elif j == 2:
                y = 9
            else:
                x, y = y, x
            expected += [x, y]
    assert numbers(read, 13) == [*expected, x + y]


@pytest.mark.parametrize("bounds", [(7,), (2, 9, 3), (9, 2, -3), (3, 3), (5, 2), (2, 5, -1)])
def test_ranges_of_constants(bounds: tuple[int, ...]) -> None:
    def read(a, dfb):
        def kernel():
            for i in range(*bounds):
                send(dfb, a, i)
            send(dfb, a, 33)

        return kernel

    expected = [*range(*bounds), 33]
    assert numbers(read, len(expected)) == expected


def test_ranges_of_run_time_values() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(3):
                start, stop, step = 2 * i, 7 - 2 * i, 2 - i
                for j in range(start, stop):
                    send(dfb, a, j)
                for j in range(stop, start, -2):
                    send(dfb, a, j + 20)
                if step:
                    for j in range(start, stop, step):
                        send(dfb, a, j + 40)

        return kernel

    expected = []
    for i in range(3):
        start, stop, step = 2 * i, 7 - 2 * i, 2 - i
        expected += list(range(start, stop))
        expected += [j + 20 for j in range(stop, start, -2)]
        if step:
            expected += [j + 40 for j in range(start, stop, step)]
    assert numbers(read, len(expected)) == expected


def test_while() -> None:
    def read(a, dfb):
        def kernel():
            n, steps = 27, 0
            while (n != 1 and steps < 12) or n == 41:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                steps += 1
                send(dfb, a, n % 64)
            while n > 5:
                n -= 50
            while steps > 20:
                steps = 0
            send(dfb, a, steps + n + 50)

        return kernel

    expected, n, steps = [], 27, 0
    while (n != 1 and steps < 12) or n == 41:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        expected.append(n % 64)
    while n > 5:
        n -= 50
    assert numbers(read, len(expected) + 1) == [*expected, steps + n + 50]


@pytest.mark.parametrize("start", [1, 6])
def test_while_with_a_test_of_several_steps(start: int) -> None:
    """Its parts are calculated again before every iteration."""

    def read(a, dfb):
        def kernel():
            n = start
            while n != 1 and 12 // n < 9:
                n = n // 2
                send(dfb, a, n)
            send(dfb, a, 40 + n)

        return kernel

    assert numbers(read, 1 if start == 1 else 3) == ([41] if start == 1 else [3, 1, 41])


def test_helpers_with_returns_defaults_and_nested_functions() -> None:
    def read(a, dfb):
        def kernel():
            seen = 0

            def note(value, *, twice=False):
                nonlocal seen
                seen += 2 * value if twice else value
                return seen

            for i in range(-2, 3):
                send(dfb, a, clamp(40 * i, low=3))
                note(clamp(i, 0, 1), twice=i == 1)
            send(dfb, a, note(10))
            send(dfb, a, (lambda x, y=4: x * y)(seen))

        return kernel

    expected, seen = [], 0
    for i in range(-2, 3):
        expected.append(clamp(40 * i, 3))
        seen += clamp(i, 0, 1) * (2 if i == 1 else 1)
    assert numbers(read, 7) == [*expected, seen + 10, (seen + 10) * 4]


def first_of(start, stop):
    """Returns from the first iteration of a loop that may have none."""
    for i in range(start, stop):
        return i * 2 + 1
    return 20


def test_loops_whose_first_iteration_returns() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(5):
                send(dfb, a, first_of(i, 3) + first_of(2 * i, 5))

        return kernel

    assert numbers(read, 5) == [first_of(i, 3) + first_of(2 * i, 5) for i in range(5)]


def test_tuples_slices_and_builtins() -> None:
    def read(a, dfb):
        def kernel():
            pair = (1, 2)
            for i in range(4):
                first, (second, *rest) = i, (i + 1, *pair)
                pair = (pair[1], first)
                where = slice(second, second + 1)
                with dfb.reserve() as block:
                    ttl.copy(a[where, rest[0] : rest[0] + 1], block).wait()
                send(dfb, a, min(i, 2) + max(second, 3, pair[0]) + len(rest) + a.shape[0] // 256)
                send(dfb, a, TABLE[i % 3])
                send(dfb, a, abs(i - 2))

        return kernel

    expected, pair = [], (1, 2)
    for i in range(4):
        second, rest = i + 1, list(pair)
        pair = (pair[1], i)
        expected.append(second * 8 + rest[0])
        expected += [min(i, 2) + max(second, 3, pair[0]) + 2 + 1, TABLE[i % 3], abs(i - 2)]
    assert numbers(read, 16) == expected


def test_captured_and_global_values() -> None:
    def read(a, dfb):
        options = {"step": 2, "names": ["x", "y"]}
        flag, scale = True, 1.5

        def kernel():
            for i in range(SIZE):
                if flag and "x" in options["names"]:
                    send(dfb, a, i * options["step"])
                else:
                    undefined(i)  # noqa: F821
            send(dfb, a, int(scale * SIZE))

        return kernel

    assert numbers(read, 4) == [0, 2, 4, 4]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_node_and_grid_size_in_any_dimensions(dims: int) -> None:
    def read(a, dfb):
        def kernel():
            here, size = ttl.node(dims=dims), ttl.grid_size(dims=dims)
            if dims == 1:
                send(dfb, a, here)
                send(dfb, a, size)
            else:
                send(dfb, a, here[0] + 4 * here[1] + (here[2] if dims == 3 else 0))
                send(dfb, a, size[0] * 10 + size[1])

        return kernel

    size = 6 if dims == 1 else 32
    found = numbers(read, 2, grid=(3, 2))
    here = [2 * x + y if dims == 1 else x + 4 * y for y in range(2) for x in range(3)]
    assert found == [number for each in here for number in (each, size)]


def test_values_that_differ_between_nodes_are_arguments() -> None:
    def read(a, dfb):
        x, y = ttl.node(dims=2)
        corner, weight, pair = x == y, 0.25 * x - y, (x + 1, y * y)

        def offset(value):
            return value + 2 * x

        def kernel():
            send(dfb, a, offset(10 if corner else 20))
            send(dfb, a, int(weight * 8) + 30)
            send(dfb, a, pair[0] * 4 + pair[1])

        return kernel

    found = numbers(read, 3, grid=(2, 2))
    expected = []
    for y in range(2):
        for x in range(2):
            expected += [(10 if x == y else 20) + 2 * x, int((0.25 * x - y) * 8) + 30]
            expected.append((x + 1) * 4 + y * y)
    assert found == expected


def test_a_signpost_is_a_scope_that_values_leave() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(3):
                with ttl.signpost("load: ä"), dfb.reserve() as block:
                    row = i * 2
                    ttl.copy(a[row, 1], block).wait()
                send(dfb, a, row)

        return kernel

    assert numbers(read, 6) == [1, 0, 17, 2, 33, 4]


def test_conditional_blocks_left_to_be_released() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(4):
                if i % 2:
                    block = dfb.reserve()
                    ttl.copy(a[0, i], block)
                else:
                    other = dfb.reserve()
                    transfer = ttl.copy(a[1, i], other)  # noqa: F841

        return kernel

    assert numbers(read, 4) == [8, 1, 10, 3]


def test_a_group_of_transfers_and_several_blocks_held() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(3):
                group = ttl.GroupTransfer()
                one, two = dfb.reserve(), dfb.reserve()
                group.add(ttl.copy(a[0, i], one))
                group.add(ttl.copy(a[1, i], two))
                group.wait_all()
                one.push()
                two.push()

        return kernel

    assert numbers(read, 6, blocks=4) == [0, 8, 1, 9, 2, 10]


def test_blocks_held_over_the_edge_of_the_buffer() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(4):
                with dfb.reserve() as one, dfb.reserve() as two:
                    first, second = ttl.copy(a[0, i], one), ttl.copy(a[1, i], two)
                    second.wait()
                    first.wait()

        return kernel

    assert numbers(read, 8, blocks=3) == [0, 8, 1, 9, 2, 10, 3, 11]


def nested_returns(i, flag):
    """Each `elif` is an `if` in an `else`: what follows the outer one belongs to all paths."""
    if flag:  # noqa: SIM102 - nested on purpose
        if i == 1:
            return 3
    if i == 2:
        i = 40
    elif i == 3:
        if flag:
            return 5
        i = 41
    else:
        i = i + 7
    return i + 1


def sent_on_some_paths(dfb, a, i):
    if i == 0:
        send(dfb, a, 10)
        return
    elif i == 1:
        send(dfb, a, 11)
        return
    if i == 2:
        if i > 5:
            return
        send(dfb, a, 12)
    send(dfb, a, 20 + i)


def test_what_follows_a_return_in_a_nested_branch() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(5):
                send(dfb, a, nested_returns(i, True))
                send(dfb, a, nested_returns(i, i > 9))
                sent_on_some_paths(dfb, a, i)

        return kernel

    expected = []
    for i in range(5):
        expected += [nested_returns(i, True), nested_returns(i, False)]
        expected += {0: [10], 1: [11], 2: [12, 22]}.get(i, [20 + i])
    assert numbers(read, len(expected)) == expected


def test_a_kernel_that_returns_on_a_nested_path() -> None:
    def read(a, dfb):
        def kernel():
            if ttl.grid_size(dims=1) > 3:  # noqa: SIM102 - nested on purpose
                if ttl.node(dims=1) == 5:
                    return
            send(dfb, a, 33)
            if ttl.node(dims=1) > 0 or ttl.node(dims=1) < 0:
                return
            send(dfb, a, 34)

        return kernel

    assert numbers(read, 2) == [33, 34]


def test_the_integer_part_of_a_float_used_twice() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(3):
                send(dfb, a, int((i + 0.5) * 4))

        return kernel

    assert numbers(read, 3) == [2, 6, 10]


def test_an_int_beyond_32_bits_is_a_fault_and_not_another_number(monkeypatch) -> None:
    """Python's ints have no end, the chip's have: the executor says so."""

    def read(a, dfb):
        def kernel():
            x = 1 + ttl.node(dims=1)
            for _ in range(25):
                x = x * 3
            send(dfb, a, x // 1000000000)

        return kernel

    monkeypatch.setenv("TTL_BACKEND", "host")
    with pytest.raises(KernelFault, match="leaves its 32 bits") as caught:
        run(mover(read, 1), 1)
    place = caught.value.diagnostics[0].primary.span
    line = Path(__file__).read_text().splitlines()[place.line - 1]
    assert line[place.column - 1 : place.end_column - 1] == "x * 3"  # and not a call before it


FAILING = {
    "an item after the end": ("TABLE[n + 2]", "IndexError: tuple index out of range"),
    "an item before the start": ("TABLE[-n - 3]", "IndexError: tuple index out of range"),
    "a changed item": ("put(n + 2)", "IndexError: list assignment index out of range"),
    "a false assertion": ("claim(n < 1)", "AssertionError: too many"),
    "a division by zero": ("8 / (n - 1)", "ZeroDivisionError: division by zero"),
    "a float divided": ("8.0 // (n - 1)", "ZeroDivisionError: float floor division by zero"),
    "a shift by less than nothing": ("1 << (0 - n)", "ValueError: negative shift count"),
}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("case", FAILING)
def test_what_python_raises_fails_compiled_too(case: str, backend: str, tmp_path, monkeypatch):
    """On one of two nodes."""
    text, error = FAILING[case]
    monkeypatch.setenv("TTL_BACKEND", backend)
    with pytest.raises((KernelFault, CompileError), match=re.escape(error)):
        run(mover(kernel_of(text, tmp_path), 1, (2, 1)), 1, 2)


BEYOND = {
    "a shift": ("1 << (n + 31)", "shifts a 32-bit integer by 31 or more"),
    "a float": ("int((n + 1) * 1e10)", "makes an int of a float that 32 bits do not hold"),
    "what only the executor sees": ("TABLE[math.floor((n + 3) * 1.0)]", "assertion of the kernel"),
}


@pytest.mark.parametrize("case", BEYOND)
def test_what_32_bits_do_not_hold_fails(case: str, tmp_path, monkeypatch) -> None:
    text, error = BEYOND[case]
    monkeypatch.setenv("TTL_BACKEND", "host")
    with pytest.raises((KernelFault, CompileError), match=error):
        run(mover(kernel_of(text, tmp_path), 1, (2, 1)), 1, 2)


def kernel_of(text: str, folder):
    """A kernel that calculates `text` with the number n of its node."""
    path = folder / "kernel.py"
    path.write_text(KERNEL.replace("TEXT", text))
    return load_file(path).read


KERNEL = """
import math
import ttl

TABLE = (5, 2, 7)

def claim(condition):
    assert condition, "too many"
    return 1

def read(a, dfb):
    def kernel():
        n = ttl.node(dims=1)

        def put(place):
            items = [1, 2, 3]
            items[place] = 4
            return items[0]

        number = TEXT
        with dfb.reserve() as block:
            ttl.copy(a[0, 1 if number > 3 else 0], block).wait()

    return kernel
"""


def test_shifts_and_assertions_that_hold() -> None:
    def read(a, dfb):
        def kernel():
            n = ttl.node(dims=1)
            places = [0, 0, 0]
            for i in range(n + 3):
                assert i < 5, "as far as it goes"
                places[i % 3 - 3] += 1 << (i + 1)
                send(dfb, a, (100 >> (i * 10)) % 64)
                if n > 4:
                    assert SIZE < 0, "not reached"
            send(dfb, a, places[0])
            send(dfb, a, places[-2 + n])

        return kernel

    assert numbers(read, 5) == [36, 0, 0, 2, 4]


def test_the_variable_of_a_loop_after_it() -> None:
    def read(a, dfb):
        def kernel():
            for i in range(2, 9, 3):
                send(dfb, a, i)
            send(dfb, a, i + 20)
            for i in range(5, 0, -2):
                send(dfb, a, i)
            send(dfb, a, i + 30)

        return kernel

    assert numbers(read, 8) == [2, 5, 8, 28, 5, 3, 1, 31]
