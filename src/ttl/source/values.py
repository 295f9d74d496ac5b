"""What an expression may be: one set of holders for each alternative.

`a if c else b` has two; a list is one, with the holders of all its items. An item of a list is one
too, with `~`: which of them it is is not known. With `?` it may be something else altogether: `x`
after `x = x * 2 if c else x`.
"""

from __future__ import annotations

from collections.abc import Iterable

from .handles import State
from .liveness import Names

Value = tuple[Names, ...]
NOTHING: Value = (frozenset(),)
SOMETHING_ELSE: Value = (frozenset({"?"}),)


def taken_by(state: State, value: Value) -> Names:
    """The one that this path has taken, if it made it; else it may be each of them."""
    held = [tokens for tokens in value if state.holds(tokens)]
    for tokens in held:
        if any(token[0] == "#" for token in tokens):
            return tokens
    several = {"~"} if len(held) > 1 else set()
    other = {"?"} if len(held) < len(value) else set()
    return frozenset(several | other).union(*held)


def item_of(value: Value) -> Value:
    return tuple(tokens | {"~"} for tokens in value)


def union_of(values: Iterable[Value]) -> Value:
    return (frozenset().union(*(tokens for value in values for tokens in value)),)
