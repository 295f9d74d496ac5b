"""What statements do with names, read off their syntax."""

from __future__ import annotations

import ast

import pytest

from ttl.source.scopes import own_names, shared_names
from ttl.source.uses import uses_of_all


def uses(text: str):
    return uses_of_all(ast.parse(text).body)


@pytest.mark.parametrize(
    ("text", "read", "written"),
    [
        ("x = y", {"y"}, {"x"}),
        ("x = x + 1", {"x"}, set()),
        ("x += 1", {"x"}, set()),
        ("x = 1\nz = x", set(), {"x", "z"}),
        ("if c: x = 1", {"c"}, set()),
        ("if c: x = 1\nelse: x = 2", {"c"}, {"x"}),
        ("if c: x = 1\nelse: y = x", {"c", "x"}, set()),
        ("for i in n: x = i", {"n"}, set()),
        ("while c: x = 1", {"c"}, set()),
        ("with a as b: c = b", {"a"}, {"b", "c"}),
        ("def f(): return x", {"x"}, set()),
        ("del x", {"x"}, set()),
    ],
)
def test_first_uses(text: str, read: set[str], written: set[str]) -> None:
    found = uses(text)
    assert (found.read_first, found.written_first) == (read, written)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("x = y = 1", {"x", "y"}),
        ("for a, (b, *c) in n: pass", {"a", "b", "c"}),
        ("import os.path as p, sys", {"p", "sys"}),
        ("def f(a): b = a", {"f"}),
        ("x = lambda a: (b := a)", {"x"}),
        ("match v:\n    case 1: x = 1\n    case other: pass", {"x", "other"}),
    ],
)
def test_stored(text: str, stored: set[str]) -> None:
    assert uses(text).stored == stored


def test_blocks_and_lists() -> None:
    found = uses("a.push()\nb += 1\nc.append(1)\nd[0] = 2\nb2 = b2 + 1")
    assert found.released == {"a"}
    assert found.summed - found.rebound == {"b"}
    assert found.changed == {"c", "d"}


@pytest.mark.parametrize(
    ("text", "jumps"),
    [
        ("for i in n:\n    if i: break\n    continue", set()),
        ("for i in n:\n    return", {ast.Return}),
        ("if c: break\nelse: continue", {ast.Break, ast.Continue}),
        ("def f(): return 1", set()),
    ],
)
def test_jumps(text: str, jumps: set[type]) -> None:
    assert uses(text).jumps == jumps


def test_names_of_functions() -> None:
    text = "def f(a, *b, c=1, **d):\n    e = 1\n    import h\n    def g():\n        nonlocal e\n"
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    assert own_names(tree) == {"a", "b", "c", "d", "e", "g", "h"} and shared_names(tree) == {"e"}
