"""Releases and waits that are left out around functions in variables and tables.

Programs like those of test_last_use.py: four tiles, doubled, through buffers of one block.
"""
# ruff: noqa: B007, B023, E731, F841, SIM108

from __future__ import annotations

from functools import partial

import pytest

import ttl
from conformance.implicit_sync.test_last_use import COUNT, added, check, times


def doubled(v):
    return v + v


def kept(v):
    return v


OPS = [added, doubled, added, doubled]
NAMED = {"add": added, "two": doubled}
KEYS = ["add", "two", "add", "two"]


def with_a_lambda(a_dfb, t_dfb, y_dfb):
    double = lambda u: u + u
    for _ in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(double(v))


def with_a_lambda_that_has_a_default(a_dfb, t_dfb, y_dfb):
    double = lambda u, k=2: u * k
    for _ in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(double(v))


def with_a_lambda_that_acquires(a_dfb, t_dfb, y_dfb):
    take = lambda: a_dfb.wait()
    for _ in range(COUNT):
        v = take()
        y_dfb.reserve().store(v + v)


def with_a_table(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(OPS[i](v))


def with_a_calculated_item(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(OPS[i % 2](v))


def with_a_key_that_is_an_item(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(NAMED[KEYS[i]](v))


def with_a_table_of_lambdas(a_dfb, t_dfb, y_dfb):
    ops = [lambda u: u + u, lambda u: u * 2]
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(ops[i % 2](v))


def with_each_of_a_table(a_dfb, t_dfb, y_dfb):
    for op in OPS:
        v = a_dfb.wait()
        y_dfb.reserve().store(op(v))


def with_each_of_some(a_dfb, t_dfb, y_dfb):
    for op in (doubled, added, lambda u: u + u, doubled):
        v = a_dfb.wait()
        y_dfb.reserve().store(op(v))


def with_each_and_its_number(a_dfb, t_dfb, y_dfb):
    for i, op in enumerate(OPS):
        v = a_dfb.wait()
        y_dfb.reserve().store(op(v))


def with_another_name(a_dfb, t_dfb, y_dfb):
    op = OPS[0]
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(op(v))


def with_another_name_each_time(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        op = OPS[i]
        v = a_dfb.wait()
        y_dfb.reserve().store(op(v))


def with_a_chosen_one(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        op = added if i % 2 else doubled
        v = a_dfb.wait()
        y_dfb.reserve().store(op(v))


def with_a_choice(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store((added if i % 2 else doubled)(v))


def with_a_partial(a_dfb, t_dfb, y_dfb):
    twice = partial(times, 2)
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(twice(v))


def applied(op, v):
    return op(v)


def with_a_parameter(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(applied(doubled, v))


def with_a_parameter_that_is_a_lambda(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(applied(lambda u: u + u, v))


def with_what_a_branch_bound(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        if i % 2:
            op = doubled
        else:
            op = lambda u: u + u
        v = a_dfb.wait()
        y_dfb.reserve().store(op(v))


def with_a_lambda_that_returns_the_block(a_dfb, t_dfb, y_dfb):
    ident = lambda u: u
    for i in range(COUNT):
        v = ident(a_dfb.wait())
        y_dfb.reserve().store(v + v)


def with_items_that_return_the_block(a_dfb, t_dfb, y_dfb):
    ids = [kept, lambda u: u]
    for i in range(COUNT):
        v = ids[i % 2](a_dfb.wait())
        y_dfb.reserve().store(v + v)


def with_what_a_dict_has(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(NAMED.get("add")(v))


def with_functions_of_the_language(a_dfb, t_dfb, y_dfb):
    fs = [ttl.math.abs, ttl.math.relu]
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(fs[i % 2](v) + v)


def with_a_function_of_the_language(a_dfb, t_dfb, y_dfb):
    f = ttl.math.abs
    for i in range(COUNT):
        v = a_dfb.wait()
        y_dfb.reserve().store(f(v) + v)


def with_lambdas_that_have_the_block(a_dfb, t_dfb, y_dfb):
    for i in range(COUNT):
        v = a_dfb.wait()
        fs = [lambda: v + v, lambda: v * 2]
        t = t_dfb.reserve()
        t.store(v)
        w = t_dfb.wait()
        y_dfb.reserve().store(fs[i % 2]())


def with_items_that_acquire(a_dfb, t_dfb, y_dfb):
    takes = [lambda: a_dfb.wait(), lambda: a_dfb.wait()]
    for i in range(COUNT):
        y_dfb.reserve().store(takes[i % 2]() * 2)


def with_a_block_that_an_item_acquired(a_dfb, t_dfb, y_dfb):
    takes = [lambda: a_dfb.wait(), lambda: a_dfb.wait()]
    for i in range(COUNT):
        v = takes[i % 2]()
        y_dfb.reserve().store(v * 2)


def in_a_lambda(a_dfb, t_dfb, y_dfb):
    step = lambda: y_dfb.reserve().store(a_dfb.wait() * 2)
    for i in range(COUNT):
        step()


def with_the_result_kept(a_dfb, t_dfb, y_dfb):
    double = lambda u: u + u
    for i in range(2):
        e = double(a_dfb.wait())
        f = double(a_dfb.wait())
        y_dfb.reserve().store(e)
        y_dfb.reserve().store(f)


@pytest.mark.rule("implicit-release")
@pytest.mark.parametrize(
    "compute",
    [
        with_a_lambda,
        with_a_lambda_that_has_a_default,
        with_a_lambda_that_acquires,
        with_a_table,
        with_a_calculated_item,
        with_a_key_that_is_an_item,
        with_a_table_of_lambdas,
        with_each_of_a_table,
        with_each_of_some,
        with_each_and_its_number,
        with_another_name,
        with_another_name_each_time,
        with_a_chosen_one,
        with_a_choice,
        with_a_partial,
        with_a_parameter,
        with_a_parameter_that_is_a_lambda,
        with_what_a_branch_bound,
        with_a_lambda_that_returns_the_block,
        with_items_that_return_the_block,
        with_what_a_dict_has,
        with_functions_of_the_language,
        with_a_function_of_the_language,
        with_lambdas_that_have_the_block,
        with_items_that_acquire,
        with_a_block_that_an_item_acquired,
        in_a_lambda,
        with_the_result_kept,
    ],
)
def test_functions_in_variables_and_tables(compute):
    check(None, compute)
