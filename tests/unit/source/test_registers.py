"""What a kernel uses, by the code of it that is live."""

from __future__ import annotations

import linecache
import operator
from functools import partial, reduce
from types import SimpleNamespace

import numpy as np
import pytest

import ttl
from pykernel.functions import rowmax
from ttl import ttnn
from ttl.language.buffer import DataflowBuffer
from ttl.semantics.kernel_config import Sum
from ttl.semantics.layout import TILE_LAYOUT
from ttl.source.facts.registers import RegisterUses, live_uses

ON, OFF = True, False
SHORT = ttnn.uint16
SETTINGS = SimpleNamespace(multiply=False, deep={"multiply": (True, False)})


def uses(kernel) -> RegisterUses:
    found = RegisterUses()
    live_uses(kernel, found)
    return found


def product(a, b):
    return a @ b


def total(a, b):
    return a + b


def chosen(a, b, multiply=False, *, also=OFF):
    if multiply or also:
        return a @ b
    return a + b


def is_multiplied():
    return OFF


def early(a, b):
    if not ON:
        return a @ b
    if ON:
        return a + b
    return a @ b


def endless(n, a):
    return endless(n + 1, a) if n else a @ a


class Model:
    def __init__(self, multiply):
        self.multiply = multiply

    def forward(self, a, b):
        return a @ b if self.multiply else a + b

    def __call__(self, a, b):
        return self.forward(a, b)


MULTIPLYING, ADDING = Model(True), Model(False)
TWICE = partial(product, 1)

# The bodies of kernels; `a` and `b` are blocks, and the answer is whether they are multiplied.
MULTIPLY = {
    "at once": lambda a, b: a @ b,
    "in a helper": lambda a, b: product(a, b),
    "if it is known": lambda a, b: a @ b if ON else a,
    "if it is not known": lambda a, b: a @ b if a.shape else a,
    "through a parameter": lambda a, b: chosen(a, b, True),
    "through a keyword": lambda a, b: chosen(a, b, also=True),
    "by the default of a lambda": lambda a, b: (lambda x, f=product: f(x, b))(a),
    "in a function of a list": lambda a, b: [f(a, b) for f in (total, product)],
    "in a tuple by its place": lambda a, b: (total, product)[1](a, b),
    "in a method": lambda a, b: MULTIPLYING.forward(a, b),
    "in an object that is called": lambda a, b: MULTIPLYING(a, b),
    "in an object that is made": lambda a, b: Model(True)(a, b),
    "by the module operator": lambda a, b: operator.matmul(a, b),
    "given to somebody": lambda a, b: reduce(product, [a, b]),
    "bound in part": lambda a, b: TWICE(b),
    "in one that ends": lambda a, b: endless(a, b),
    "of settings": lambda a, b: a @ b if SETTINGS.deep["multiply"][0] else a,
}
ADD = {
    "no product": lambda a, b: a + b,
    "of numbers": lambda a, b: a * (2 + 3),
    "dead": lambda a, b: a @ b if OFF else a + b,
    "dead by arithmetic": lambda a, b: a @ b if len("ab") * 2 > 4 else a + b,
    "dead by `and`": lambda a, b: (OFF and a @ b) or a + b,
    "a helper that is only named": lambda a, b: product is not total and a + b,
    "a parameter": lambda a, b: chosen(a, b),
    "an early return": lambda a, b: early(a, b),
    "a function that answers": lambda a, b: a @ b if is_multiplied() else a + b,
    "a tuple by its place": lambda a, b: (total, product)[0](a, b),
    "a method": lambda a, b: ADDING.forward(a, b),
    "settings": lambda a, b: a @ b if SETTINGS.multiply else a,
    "deep settings": lambda a, b: a @ b if SETTINGS.deep["multiply"][1] else a,
}


@pytest.mark.parametrize("name", MULTIPLY)
def test_a_product_is_found(name: str) -> None:
    assert Sum.MATMUL in uses(MULTIPLY[name]).sums


@pytest.mark.parametrize("name", ADD)
def test_a_product_that_is_not_made_is_not_found(name: str) -> None:
    assert Sum.MATMUL not in uses(ADD[name]).sums


def test_variables_are_known_while_all_paths_agree() -> None:
    def same(a, b):
        multiply = OFF
        for _ in range(3):
            a = a + b
        if a.shape:
            b = b + 1
        if multiply:
            a @ b

    def changed_in_a_branch(a, b):
        f = total
        if a.shape:
            f = product
        f(a, b)

    def changed_in_a_loop(a, b):
        f = total
        for _ in range(3):
            f(a, b)
            f = product

    def changed_inside(a, b):
        multiply = OFF

        def change():
            nonlocal multiply
            multiply = True

        change()
        if multiply:
            a @ b

    assert Sum.MATMUL not in uses(same).sums
    for kernel in (changed_in_a_branch, changed_in_a_loop, changed_inside):
        assert Sum.MATMUL in uses(kernel).sums, kernel.__name__


def test_statements_that_are_never_reached() -> None:
    def no_iteration(a, b):
        for _ in range(0):
            a @ b
        while OFF:
            a @ b

    def after_a_jump(a, b):
        for _ in range(3):
            continue
            a @ b
        raise ValueError
        a @ b

    def in_any_part(a, b):
        try:
            a + b
        except ValueError:
            a @ b

    def in_a_case(a, b):
        match a.shape:
            case (1, 1):
                a + b
            case _:
                with a:
                    c = a
                    c @= b

    assert not uses(no_iteration).sums and not uses(after_a_jump).sums
    assert Sum.MATMUL in uses(in_any_part).sums and Sum.MATMUL in uses(in_a_case).sums


def test_targets_of_assignments() -> None:
    held = {"product": product}

    def kernel(a, b):
        held["a"], a.b = a, b
        held["b", 1] = held["product"]
        held["n"] += 1
        del held["a"]

    assert Sum.MATMUL in uses(kernel).sums  # a function that is put away may be called


def test_an_expression_that_is_too_deep_to_follow() -> None:
    text = "def kernel(a, b):\n    return " + " + ".join(["a"] * 2000) + " + a @ b\n"
    name, names = "<deep>", {}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)
    assert Sum.MATMUL in uses(names["kernel"]).sums


def buffer(dtype) -> DataflowBuffer:
    made = DataflowBuffer.__new__(DataflowBuffer)
    made.dtype, made.shape, made.layout = dtype, (1, 1), TILE_LAYOUT
    return made


def test_buffers_are_found_where_they_are_reached() -> None:
    wide, narrow = buffer(ttnn.float32), buffer(ttnn.bfloat16)
    listed, by_name = [narrow, wide], {"narrow": narrow, "wide": wide}
    thing = SimpleNamespace(inner=SimpleNamespace(dfb=wide))

    def acquire():
        return wide.wait()

    def take(dfb):
        with dfb.wait() as block:
            return block

    wide_ones = (
        lambda: wide.wait(),
        lambda: [dfb.wait() for dfb in listed],
        lambda: listed[1].wait(),
        lambda: by_name["wide"].wait(),
        lambda: [dfb.wait() for dfb in by_name.values()],
        lambda: thing.inner.dfb.wait(),
        lambda: acquire(),
        lambda: take(wide),
        lambda i: listed[i].wait(),
    )
    narrow_ones = (
        lambda: listed[0].wait(),
        lambda: by_name["narrow"].wait(),
        lambda: narrow.wait() if wide.shape == (1, 1) else wide.wait(),
        lambda: wide.wait() if OFF else take(narrow),
    )
    for number, kernel in enumerate(wide_ones):
        assert ttnn.float32 in uses(kernel).held, number
    for number, kernel in enumerate(narrow_ones):
        assert uses(kernel).held == {ttnn.bfloat16}, number


def cast(x):
    return ttl.math.typecast(x, ttnn.int32)


def test_integers_are_found_where_values_may_be_cast_to_them() -> None:
    captured = ttnn.uint8

    def by_name():
        return [ttl.math.typecast(1, SHORT) for _ in range(2)], ttl.math.typecast(1, captured)

    assert uses(lambda: cast(1)).integers == {ttnn.int32}
    assert uses(by_name).integers == {ttnn.uint16, ttnn.uint8}
    assert not uses(lambda: ttl.math.typecast(1, ttnn.float32)).integers
    assert not uses(lambda x: x.dtype == ttnn.int32).integers


def test_without_its_source_all_of_a_function_is_live() -> None:
    names = {"OFF": False, "product": product}
    exec("def kernel(a, b):\n    return a @ b if OFF else a", names)
    assert Sum.MATMUL in uses(names["kernel"]).sums


def row_sum(x):
    return ttl.math.reduce_sum(x, dims=[-1])


REDUCE = {
    "at once": lambda a: ttl.math.reduce_sum(a, dims=[0]),
    "the largest": lambda a: ttl.math.reduce_max(a, dims=[0]),
    "the mean": lambda a: ttl.math.reduce_mean(a, dims=[0]),
    "by its short name": lambda a: ttl.reduce_min(a, dims=[0]),
    "in a helper": lambda a: row_sum(a),
    "by another name": lambda a: AS[0](a, dims=[0]),
    "of the other language": lambda a: rowmax(a),
    "given to somebody": lambda a: partial(ttl.math.reduce_sum, dims=[0])(a),
}
AS = (ttl.math.reduce_max, ttl.math.exp)
NO_REDUCTION = {
    "none": lambda a: ttl.math.exp(a),
    "dead": lambda a: row_sum(a) if OFF else a,
    "another of the tuple": lambda a: AS[1](a),
    "a function of Python": lambda a: reduce(total, [a, a]),
}


@pytest.mark.parametrize("name", REDUCE)
def test_a_reduction_is_found(name: str) -> None:
    assert uses(REDUCE[name]).sums == {Sum.REDUCTION}


@pytest.mark.parametrize("name", NO_REDUCTION)
def test_a_reduction_that_is_not_made_is_not_found(name: str) -> None:
    assert not uses(NO_REDUCTION[name]).sums


def test_a_reduction_in_a_function_without_its_source() -> None:
    names = {"ttl": ttl}
    exec("def kernel(a):\n    return ttl.math.reduce_sum(a, dims=[0])\n", names)
    assert Sum.REDUCTION in uses(names["kernel"]).sums


def test_numbers_of_numpy_are_those_of_the_kernel() -> None:
    small, many = np.int8(100), np.array([100], np.int8)

    def known(a, b):
        return a @ b if small + small > 0 else a

    def items(a, b):
        return a @ b if many[0] + many[0] > 0 else a

    for kernel in (known, items):
        assert Sum.MATMUL in uses(kernel).sums
