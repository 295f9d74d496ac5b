"""Names that stand for different blocks, transfers and lists by loops, conditions and jumps."""
# ruff: noqa: F841, SIM108, SIM117

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ttl
from differential.test_kernel_flow import agree, reader, writer

Kernels = Callable[..., tuple[Callable[[], None], ...]]


def send(x, x_dfb, n):
    with x_dfb.reserve() as block:
        ttl.copy(x[n // 6 % 2, n % 6], block).wait()


def doubled(x_dfb, y_dfb, count=6):
    def compute():
        for _ in range(count):
            with x_dfb.wait() as a, y_dfb.reserve() as out:
                out.store(a + a)

    return compute


def prefetch(x, y, x_dfb, z_dfb, y_dfb):
    """The next read is under way while this one is waited for; the first is before the loop."""

    def read():
        block = x_dfb.reserve()
        transfer = ttl.copy(x[0, 0], block)
        for i in range(6):
            if i < 5:
                following = x_dfb.reserve()
                next_transfer = ttl.copy(x[0, i + 1], following)
            transfer.wait()
            block.push()
            if i < 5:
                block, transfer = following, next_transfer

    def write():
        transfers = []
        for i in range(6):
            block = y_dfb.wait()
            transfers.append((block, ttl.copy(block, y[0, i])))
            if len(transfers) == 2:
                done, transfer = transfers.pop(0)
                transfer.wait()
                done.pop()
        for done, transfer in transfers:
            transfer.wait()
            done.pop()

    return doubled(x_dfb, y_dfb), read, write


def lists_and_dicts(x, y, x_dfb, z_dfb, y_dfb):
    order = [3, 1, 4]
    names = {"first": 5, "second": 0}

    def read():
        places = [*order, *(names[name] for name in sorted(names))]
        places.append(max(places) - 3)
        for position, place in enumerate(places):
            assert place == places[position]
            block = x_dfb.reserve()
            transfers = [ttl.copy(x[row, place], block) for row in {1: "one"} if row == 1]
            for transfer in transfers:
                transfer.wait()
            block.push()

    def compute():
        by_parity = {True: lambda a: a + a, False: lambda a: a * a}
        for _ in range(6):
            with x_dfb.wait() as a, y_dfb.reserve() as out:
                terms = [a * k for k in (1, 2, 3)]
                out.store(sum(terms[1:], terms[0]) + by_parity[len(terms) % 2 == 1](a))

    return compute, read, writer(y, y_dfb)


def one_or_another(x, y, x_dfb, z_dfb, y_dfb):
    """A block, a transfer, a slice, a tensor by a condition; what follows is done for each."""

    def read():
        for i in range(3):
            first, second = x_dfb.reserve(), z_dfb.reserve()
            if i % 2 == 0:
                one = ttl.copy(x[0, i], first)
                other = ttl.copy(x[1, i], second)
            else:
                other = ttl.copy(x[1, i + 1], second)
                one = ttl.copy(x[0, i], first)
            one.wait()
            other.wait()
            first.push()
            second.push()

    def compute():
        for i in range(3):
            with x_dfb.wait() as a, z_dfb.wait() as b:
                for k in range(2):
                    chosen = a if (i + k) % 2 == 0 else b
                    other = b
                    if i == 1:
                        other = chosen * 2.0
                    with y_dfb.reserve() as out:
                        out.store(chosen + other * a)

    def write():
        for i in range(6):
            part = slice(i, i + 1) if i < 4 else slice(9 - i, 10 - i)
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, part] if i % 2 else y[1, part]).wait()

    return compute, read, write


def early_ends(x, y, x_dfb, z_dfb, y_dfb):
    """break, continue and return, in loops that stay loops and in functions."""

    def first_square_above(limit):
        for k in range(10):
            if k * k > limit:
                return k
        return 0

    def read():
        column, row = ttl.node(dims=2)
        sent = 0
        for i in range(20 + column):
            if i % 3 == 1:
                continue
            with x_dfb.reserve() as block:
                if i == 4:
                    ttl.copy(x[1, 5], block).wait()
                    sent += 1
                    continue
                ttl.copy(x[0, first_square_above(i)], block).wait()
                sent += 1
                if sent == 5:
                    break
        while True:
            sent += row + 1
            if sent > 8:
                send(x, x_dfb, sent)
                return
            if sent > 100:
                break

    return doubled(x_dfb, y_dfb), read, writer(y, y_dfb)


def while_loops(x, y, x_dfb, z_dfb, y_dfb):
    def compute():
        n = 0
        total = ttl.math.fill(0)
        with y_dfb.reserve() as out:
            while n < 3:
                with x_dfb.wait() as a:
                    total += a
                    out += a * a
                n += 1
        with y_dfb.reserve() as out:
            out.store(total)
        with x_dfb.wait() as a:
            power = a
            while n < 5:
                power = power * a
                n += 1
            with y_dfb.reserve() as out:
                out.store(power)

    return compute, reader(x, x_dfb, 4), writer(y, y_dfb, 3)


def in_branches_of_helpers(x, y, x_dfb, z_dfb, y_dfb):
    """Releases and waits that are left out, where only one path has the block."""

    def fetch(i):
        if i == 1:
            block = x_dfb.reserve()
            transfer = ttl.copy(x[0, 5], block)
        elif i > 3:
            if i == 4:
                other = x_dfb.reserve()
                ttl.copy(x[1, 0], other)
                return
            send(x, x_dfb, i)
        else:
            send(x, x_dfb, i)

    def read():
        for i in range(6):
            fetch(i)

    return doubled(x_dfb, y_dfb), read, writer(y, y_dfb)


def released_by_another_name(x, y, x_dfb, z_dfb, y_dfb):
    def read():
        for i in range(6):
            if i % 2:
                block = x_dfb.reserve()
            else:
                block = z_dfb.reserve()
            ttl.copy(x[0, i], block).wait()
            block.push()

    def compute():
        for i in range(3):
            a, b = x_dfb.wait(), z_dfb.wait()
            first = a if i == 1 else b
            with y_dfb.reserve() as out:
                out.store(first - a + b)
            first.pop()
            other = b if i == 1 else a
            with y_dfb.reserve() as out:
                out.store(other * other)
            other.pop()

    return compute, read, writer(y, y_dfb)


def copied_by_another_name(x, y, x_dfb, z_dfb, y_dfb):
    def write():
        for i in range(3):
            first, second = y_dfb.wait(), y_dfb.wait()
            chosen = first if i == 1 else second
            ttl.copy(chosen, y[0, i]).wait()
            first.pop()
            second.pop()

    return doubled(x_dfb, y_dfb), reader(x, x_dfb), write


def two_then_one(x, y, x_dfb, z_dfb, y_dfb):
    """Two blocks are held, then one: none of them goes over the edge of its buffer."""

    def compute():
        with x_dfb.wait() as first, x_dfb.wait() as second:
            with y_dfb.reserve() as out, y_dfb.reserve() as another:
                out.store(first - second)
                another.store(first * second)
        for _ in range(2):
            with x_dfb.wait() as only, y_dfb.reserve() as out:
                out.store(only)
        for _ in range(1):
            with x_dfb.wait() as first, x_dfb.wait() as second, y_dfb.reserve() as out:
                out.store(second - first)

    return compute, reader(x, x_dfb, 6), writer(y, y_dfb, 5)


def floats(x, y, x_dfb, z_dfb, y_dfb):
    def read():
        value = 0.3
        for i in range(6):
            value = value * -1.7 + i
            send(x, x_dfb, int(value // 0.7) % 6 + int(value % -1.3 * 10) % 6)

    return doubled(x_dfb, y_dfb), read, writer(y, y_dfb)


def kept_and_carried(x, y, x_dfb, z_dfb, y_dfb):
    """What a loop carries is read after the pop of a block that it was computed from, too."""

    def compute():
        total = ttl.math.fill(0)
        for i in range(6):
            with x_dfb.wait() as a, y_dfb.reserve() as out:
                total += a
                factor = 1
                for _ in range(i % 4):
                    factor = factor * 2
                out.store(total + factor)

    return compute, reader(x, x_dfb), writer(y, y_dfb)


def returned_functions(x, y, x_dfb, z_dfb, y_dfb):
    """A function that a helper returns still has the helper's variables."""

    def scaled(factor):
        def scale(block):
            return block * factor

        return scale

    def compute():
        for i in range(6):
            with x_dfb.wait() as a, y_dfb.reserve() as out:
                out.store(scaled(i + 1)(a))

    return compute, reader(x, x_dfb), writer(y, y_dfb)


def equal_numbers(x, y, x_dfb, z_dfb, y_dfb):
    """Comparisons that the vendor's compiler refuses as they stand; powers; either transfer."""

    def read():
        here = ttl.node(dims=1)
        for i in range(6):
            place = i if i * 2 <= 2 * i and not here > here else 5
            with x_dfb.reserve() as block:
                if place + here > 2:
                    transfer = ttl.copy(x[0, min(place, place)], block)
                else:
                    transfer = ttl.copy(x[1, 2**i % 6], block)
                transfer.wait()

    return doubled(x_dfb, y_dfb), read, writer(y, y_dfb)


def first_iterations(x, y, x_dfb, z_dfb, y_dfb):
    """The first iteration gives what the others go on with, known bounds or not."""

    def compute():
        here = ttl.node(dims=1)
        total = None
        for _ in range(here + 2):
            with x_dfb.wait() as a:
                total = a * 2.0 if total is None else total + a
        left = 2 - here
        largest = None
        while left > 0:
            with x_dfb.wait() as a:
                if largest is None:
                    largest = a + total
                else:
                    largest = ttl.math.max(largest, a)
            left -= 1
        is_first = True
        for _ in range(2):
            with x_dfb.wait() as a:
                if is_first:
                    mixed = a - largest
                    is_first = False
                else:
                    mixed = mixed + a
        for i in range(here + 6):
            if i == 0:
                shown = mixed
            else:
                shown = shown + total
            with y_dfb.reserve() as out:
                out.store(shown)

    return compute, reader(x, x_dfb), writer(y, y_dfb)


PROGRAMS: list[Kernels] = [
    first_iterations,
    kept_and_carried,
    returned_functions,
    equal_numbers,
    prefetch,
    lists_and_dicts,
    one_or_another,
    early_ends,
    while_loops,
    in_branches_of_helpers,
    released_by_another_name,
    copied_by_another_name,
    two_then_one,
    floats,
]


@pytest.mark.parametrize("kernels", PROGRAMS, ids=lambda kernels: kernels.__name__)
def test_compiled_as_simulated(kernels: Any) -> None:
    agree(kernels)
