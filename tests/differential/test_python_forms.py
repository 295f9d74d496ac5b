"""Forms of Python in kernels: generators, `match`, callbacks, loops with `else`, arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ttl
from agreement.verdicts import checked
from ttl import ttnn
from ttl.config import chosen_options
from ttl.diagnostics import TTLError, codes

NODES = 3
DEVICE = ttnn.open_device(device_id=0)
Form = Callable[[Any, Any], Any]


def operation_of(form: Form) -> Any:
    """`y = form(x, node)` on each node, where x is one."""

    @ttl.operation(grid=(NODES, 1))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as block, y_dfb.reserve() as out:
                out.store(form(block, ttl.node(dims=1)))

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as block:
                ttl.copy(x[0, ttl.node(dims=1)], block).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, ttl.node(dims=1)]).wait()

    return operation


def tensors() -> tuple[Any, Any]:
    x = ttl.from_numpy(np.ones((32, 32 * NODES)), ttnn.float32, device=DEVICE)
    return x, ttnn.zeros_like(x)


def run(form: Form, backend: str) -> list[float]:
    x, y = tensors()
    with chosen_options(backend=backend):
        operation_of(form)(x, y)
    return [float(value) for value in ttl.to_numpy(y)[0, ::32]]


# Generators ---------------------------------------------------------------------------------------


def counting(n):
    for i in range(n):
        yield i + 1


def from_node(n, node):
    for i in range(n):
        yield i + node


def in_a_row():
    yield 1
    yield 2
    return
    yield 3


def odd(n):
    for i in range(n):
        if i % 2:
            yield i


def of_others():
    yield from counting(2)
    yield from (10, 20)


def powers(n):
    k = 1
    while k < n:
        yield k
        k *= 2


def a_generator(x, node):
    s = 0
    for v in counting(3):
        s += v
    return x * s


def a_generator_of_run_time_numbers(x, node):
    s = 0
    for v in from_node(3, node):
        s = s * 2 + v
    return x * s


def a_generator_of_so_many_numbers(x, node):
    s = 0
    for v in counting(node + 1):
        s += v
    return x * s


def a_generator_that_returns(x, node):
    s = 0
    for v in in_a_row():
        s += v
    return x * s


def a_generator_of_generators(x, node):
    s = 0
    for v in of_others():
        s += v
    return x * s


def a_generator_with_a_while(x, node):
    s = 0
    for v in powers(9):
        s = s * 3 + v
    return x * s


def a_generator_with_a_condition(x, node):
    s = 0
    for v in odd(6):
        for w in odd(v):
            s += w * v
    return x * s


def a_generator_that_is_left(x, node):
    s = 0
    for v in counting(5):
        if v == 2:
            continue
        if v == 4:
            break
        s += v
    else:
        s += 100
    return x * s


def a_generator_that_is_left_at_run_time(x, node):
    s = 0
    for v in counting(5):
        if v == node:
            continue
        if v == node + 3:
            break
        s += v
    else:
        s += 100
    return x * s


def a_return_out_of_a_generator(x, node):
    for v in counting(5):
        if v > 3:
            return x * v
    return x


def a_generator_in_the_kernel(x, node):
    def blocks():
        yield x + x
        yield x * node

    y = x
    for block in blocks():
        y = y + block
    return y


def a_generator_in_a_loop(x, node):
    s = 0
    for i in range(3):
        for v in counting(i):
            s += v * 10
            for w in counting(v):
                s += w
    return x * s


def a_generator_that_shares_a_variable(x, node):
    total = 0

    def running(n):
        nonlocal total
        for i in range(n):
            total += i
            yield total

    s = 0
    for v in running(4):
        total += 1
        s += v
    return x * (s + 100 * total)


def all_of_a_generator(x, node):
    one, two = counting(2)
    return x * (sum(from_node(4, node)) + one + 10 * two + max(counting(3)) + len([*counting(2)]))


def a_generator_with_numbers(x, node):
    s = 0
    for i, v in enumerate(counting(3)):
        s += i * v
    for i, v in zip(counting(3), range(5, 9), strict=False):
        s += i * v
    return x * s


def a_generator_expression(x, node):
    s = 0
    for v in (k * node for k in range(4)):
        s += v
    return x * (s + sum(v * 2 for v in range(4) if v != 2))


# Other things to go over --------------------------------------------------------------------------


def enumerate_and_zip(x, node):
    s = 0
    for i, (a, b) in enumerate(zip((1, 2, 3), [4, 5, 6], strict=True), start=node):
        s += i * a + b
    return x * s


def reversed_things(x, node):
    s = 0
    for i in reversed(range(4)):
        s = s * 2 + i
    for i in reversed((3, 1)):
        s = s * 2 + i
    return x * s


def reversed_range_of_the_run(x, node):
    s = 0
    for i in reversed(range(1, 4 + node)):
        s = s * 2 + i
    return x * s


def enumerated_range_of_the_run(x, node):
    s = 0
    for i, v in enumerate(range(node, 7)):
        s = s * 2 + v - i
    return x * s


def zipped_range_of_the_run(x, node):
    s = 0
    for i, v, w in zip(range(4), range(node, 7, 2), [5, 6, 7], strict=False):
        s = s * 2 + v * i + w
    return x * s


def a_generator_at_its_end(x, node):
    values = (v for v in range(4))
    return x * (sum(values) + 10 * sum(values) + node)


def else_of_for(x, node):
    s = 0
    for i in range(5):
        if i == node + 3:
            break
        s += i
    else:
        s += 50
    for i in (1, 2, 3):
        if i == 7:
            break
        s += i
    else:
        s += 50
    return x * s


def else_of_while(x, node):
    s = 0
    while s < 20:
        s += 3
        if s == node * 6:
            break
    else:
        s += 50
    return x * s


def walrus(x, node):
    s = 0
    if (n := node + 1) > 1:
        s += n
    while (k := s + 1) < 6:
        s = k
    t = [m := 3, m + 1]
    s += sum(q for p in range(3) if (q := p + 1) > 1)
    return x * (s + t[1] + (z := 2) * z + (w if (w := node) else 5))


# Calls --------------------------------------------------------------------------------------------


def many(a, b=1, *rest, c=2, **more):
    return a + 10 * b + 100 * len(rest) + sum(rest) * 1000 + c * 7 + more.get("d", 0)


def star_arguments(x, node):
    args, kwargs = (1, 2, 3), {"c": node, "d": 4}

    def inner(*values, **named):
        return sum(values) + named["k"]

    return x * (many(*args, *[4], **kwargs) + many(node, *(5,)) + inner(*range(3), k=node))


def an_owner_before_the_arguments(x, node):
    numbers = [[10], [20]]
    first = numbers[0]
    numbers.pop(0).append(numbers.pop(0)[0])
    pick = [lambda v: v + 1, lambda v: v * 5, 3]
    return x * (first[-1] + pick.pop(0)(pick.pop()) + node)


def nested_functions(x, node):
    s = 0

    def add(v):
        nonlocal s
        s += v

        def deeper():
            nonlocal s
            s *= 2

        deeper()

    for i in range(3):
        add(i + node)
    return x * s


def composed_callbacks(x, node):
    double = lambda v: v * 2  # noqa: E731
    more = lambda v: double(v) + 1  # noqa: E731

    def compose(*functions):
        def run(v):
            for function in functions:
                v = function(v)
            return v

        return run

    both = compose(double, more, lambda v: v + node)
    return x * both(3)


def stored_callbacks(x, node):
    functions = [lambda v, k=k: v * k for k in (2, 3)]
    table = {"a": functions[0], "b": functions[1]}
    chosen = partial(table["b"], k=node)
    return x * (functions[0](1) + table["b"](1) + chosen(2))


# match --------------------------------------------------------------------------------------------


def values_and_shapes(x, node):
    def pick(v):
        match v:
            case 0:
                return 5
            case 1 | 2 if node > 0:
                return 6
            case (a, b):
                return a + b
            case [a, *rest, (b, _)]:
                return a + len(rest) * 10 + b * 100
            case {"k": z, "l": [1, _]}:
                return z
            case str() as t:
                return len(t)
            case None:
                return 8
            case _:
                return 9

    return x * (
        pick(0)
        + pick(1) * 100
        + pick((3, 4))
        + pick("abc")
        + pick(None)
        + pick([1, 2, 3, (4, 5)])
        + pick({"k": 11, "l": (1, 2)})
        + pick({})
    )


def numbers_with_conditions(x, node):
    n = 7
    match node:
        case 0:
            r = 3
        case n if n > 1:
            r = n * 10
        case _:
            r = 5
    return x * (r + n)


def a_pair_with_a_run_time_number(x, node):
    match (1, node):
        case (1, k) if k != 1:
            r = k
        case (_, 1):
            r = 50
        case _:
            r = 99
    return x * (r + 1)


def attributes(x, node):
    match range(2, 7):
        case slice(start=a):
            r = a
        case range(start=a, stop=b):
            r = a + b
    return x * r


def out_of_two_loops(x, node):
    for r in range(3):
        for c in range(3):
            if r + c == 3:
                break
        else:
            continue
        break
    return x * (10 * r + c)


def out_of_two_loops_by_a_flag(x, node):
    found = 0
    for r in range(4):
        for c in range(4):
            if r * 4 + c == 5 + node:
                found = 1
                break
        if found == 0:
            continue
        break
    return x * (10 * r + c)


def functions_of_a_comprehension(x, node):
    scaled = [lambda value: value * k for k in (1, 2, 3)]  # noqa: B023
    by_default = {k: (lambda value, k=k: value * k) for k in (4, 5)}
    return scaled[0](x) + by_default[4](x) * 10 + by_default[5](x) * 100


def functions_in_a_tuple(n):
    def times(value):
        return value * n

    def plus(value):
        return value + n

    return times, plus


def functions_that_are_returned(x, node):
    times, plus = functions_in_a_tuple(3)
    return plus(times(x))


FORMS: dict[Form, list[float]] = {
    out_of_two_loops: [12, 12, 12],
    out_of_two_loops_by_a_flag: [11, 12, 13],
    functions_of_a_comprehension: [543, 543, 543],
    functions_that_are_returned: [6, 6, 6],
    a_generator: [6, 6, 6],
    a_generator_of_run_time_numbers: [4, 11, 18],
    a_generator_of_so_many_numbers: [1, 3, 6],
    a_generator_that_returns: [3, 3, 3],
    a_generator_of_generators: [33, 33, 33],
    a_generator_with_a_while: [65, 65, 65],
    a_generator_with_a_condition: [23, 23, 23],
    a_generator_that_is_left: [4, 4, 4],
    a_generator_that_is_left_at_run_time: [3, 5, 8],
    a_return_out_of_a_generator: [4, 4, 4],
    a_generator_in_the_kernel: [3, 4, 5],
    a_generator_in_a_loop: [45, 45, 45],
    a_generator_that_shares_a_variable: [1016, 1016, 1016],
    all_of_a_generator: [32, 36, 40],
    a_generator_with_numbers: [46, 46, 46],
    a_generator_expression: [8, 14, 20],
    enumerate_and_zip: [23, 29, 35],
    reversed_things: [141, 141, 141],
    reversed_range_of_the_run: [17, 49, 129],
    enumerated_range_of_the_run: [0, 63, 62],
    zipped_range_of_the_run: [51, 55, 59],
    a_generator_at_its_end: [6, 7, 8],
    else_of_for: [59, 62, 116],
    else_of_while: [71, 6, 12],
    walrus: [23, 19, 20],
    star_arguments: [7292, 7301, 7310],
    an_owner_before_the_arguments: [24, 25, 26],
    nested_functions: [8, 22, 36],
    composed_callbacks: [13, 14, 15],
    stored_callbacks: [5, 7, 9],
    values_and_shapes: [1364, 1064, 1064],
    numbers_with_conditions: [10, 6, 22],
    a_pair_with_a_run_time_number: [1, 51, 3],
    attributes: [9, 9, 9],
}


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("form", FORMS)
def test_a_form(form: Form, backend: str) -> None:
    assert run(form, backend) == FORMS[form]


@pytest.mark.parametrize("form", FORMS)
def test_what_runs_passes_the_check(form: Form) -> None:
    assert checked(operation_of(form), (tensors(), {})) == ()


# What does not fit --------------------------------------------------------------------------------


def sent_to(x, node):
    values = counting(3)
    values.send(1)
    return x


def next_of(x, node):
    return x * next(counting(3))


def in_two_places(x, node):
    values = counting(3)
    for v in values:
        if v == 2:
            break
    for v in values:
        x = x * v
    return x


def made_outside(x, node):
    values = counting(3)
    for _ in range(2):
        for v in values:
            x = x * v
    return x


def answered(x, node):
    def asking():
        found = 1 + (yield 1)
        yield found

    for v in asking():
        x = x * v
    return x


def zipped_with_effects(x, node):
    def printing():
        for v in range(2):
            print(v)
            yield v

    for v, w in zip(printing(), (1, 2), strict=True):
        x = x * v * w
    return x


NOT_FITTING = [sent_to, next_of, in_two_places, made_outside, answered, zipped_with_effects]


@pytest.mark.parametrize("form", NOT_FITTING)
def test_what_does_not_fit_is_refused_everywhere(form: Form) -> None:
    for backend in ("sim", "host"):
        with pytest.raises(TTLError) as caught:
            run(form, backend)
        assert caught.value.diagnostics[0].code is codes.NOT_IN_KERNELS
    assert checked(operation_of(form), (tensors(), {})) == (codes.NOT_IN_KERNELS.code,)
