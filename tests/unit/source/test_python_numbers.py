"""Where calls are put that make Python's numbers of numpy's."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace

import numpy as np

import ttl
from ttl.source.python import as_text
from ttl.source.python_numbers import (
    own_function,
    statements_with_python_numbers,
    with_python_numbers,
)
from ttl.source.trees import tree_of

SMALL, MANY, COUNT = np.int8(3), [np.int8(1)], 4
HOLDER = SimpleNamespace(small=SMALL)


def lines(function) -> list[str]:
    changed = with_python_numbers(tree_of(function))
    return [as_text(node) for node in changed.body][2:]


def test_what_is_read_is_converted() -> None:
    def kernel():
        a = SMALL + COUNT
        b = MANY[0], HOLDER.small
        for c in MANY:
            print(c, b[0])
        return sum(MANY) + a

    assert lines(kernel) == [
        "a = .number(SMALL) + .number(COUNT)",
        "b = (.number(.number(MANY)[0]), .number(.number(HOLDER).small))",
        "for c in .number(MANY):\n    print(.number(c), .number(.number(b)[0]))",
        "return .number(.sum(sum)(.number(MANY))) + .number(a)",
    ]


def test_constants_calls_of_the_language_and_what_is_called_are_left_alone() -> None:
    def kernel():
        a = COUNT + 1
        for b in range(COUNT):
            a += math.floor(b / 2)
        block = ttl.block.fill(1.0, shape=(1, 1))
        return [block[each] for each in (a, b)]

    assert lines(kernel) == [
        "a = .number(COUNT) + 1",
        "for b in .number(range(.number(COUNT))):\n"
        "    a += .number(.number(math).floor(.number(b) / 2))",
        "block = ttl.block.fill(1.0, shape=(1, 1))",
        "return [.number(.number(block)[.number(each)]) for each in (.number(a), .number(b))]",
    ]


def unknown(a):
    return a


def test_nobody_knows_what_parameters_and_functions_get_and_give() -> None:
    def kernel(a):
        b = unknown(SMALL)
        return a + b

    assert lines(kernel) == [
        "b = .number(unknown(.number(SMALL)))",
        "return .number(a) + .number(b)",
    ]


def test_statements_of_a_unified_body_convert_what_they_call() -> None:
    def body(x):
        a = unknown(x)
        block = ttl.block.fill(1.0, shape=(1, 1))
        return lambda: unknown(a) + block

    changed = statements_with_python_numbers(tree_of(body).body)
    assert [as_text(node) for node in changed] == [
        "a = .number(.called(unknown)(.number(x)))",
        "block = ttl.block.fill(1.0, shape=(1, 1))",
        "return lambda: unknown(a) + block",
    ]


def test_what_is_called_is_a_converted_copy() -> None:
    def twice(value):
        return [each + 100 for each in value]

    assert own_function(twice)(np.array([100], np.int8)) == [200]
    assert own_function(partial(twice))(np.array([100], np.int8)) == [200]
    assert own_function(len) is len
