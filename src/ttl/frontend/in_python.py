"""Let Python evaluate values, or refuse them as Python would.

A run-time value is refused where Python refuses every other value of its class.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from ttl.diagnostics import RuleBroken, TTLError
from ttl.language import Block, BlockExpression
from ttl.language.mistakes import impossible_use, missing_name
from ttl.semantics.dtypes import float32
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import BlockType

from .hir import StandIn, Value, is_run_time
from .node_values import all_in, differs, on_each_node
from .problems import error_text, not_yet, raised

BLOCK = BlockType((1, 1), float32)
EXAMPLES: dict[type, object] = {
    bool: True,
    int: 1,
    float: 1.0,
    range: range(1),
    Block: Block(BLOCK),
    BlockExpression: BlockExpression(BLOCK),
    TensorSlice: TensorSlice(None, (), (0, 0), (1, 1)),
}
MOVING = (
    bool,
    dict.__getitem__,
    getattr,
    isinstance,
    len,
    operator.add,
    operator.getitem,
    operator.is_,
    operator.is_not,
    operator.mul,
    operator.or_,
    setattr,
)


def in_python(function: Callable[..., object], *operands: object) -> Any:
    """Call a Python function on objects; a refusal by Python is the compiler's too.

    Functions may move run-time values inside containers, but do nothing else with them.
    """
    if not any(function is each for each in MOVING) and is_run_time(operands):
        raise not_yet("what Python's functions make of run-time values in lists, dicts and texts")
    try:
        return on_each_node(function, operands) if differs(operands) else function(*operands)
    except TTLError:
        raise
    except Exception as error:
        raise refusal(error, operands) from None


def refusal(error: Exception, about: Iterable[object] = ()) -> RuleBroken:
    """Explain an exception that Python raised on these objects in the simulator's words."""
    missing = missing_name(error) if isinstance(error, AttributeError) else None
    return missing or impossible_use(error, [*all_in(about)]) or raised(error_text(error))


def refuse(value: Value, why: str) -> RuleBroken:
    """Refuse an object as Python would: `'int' object is not iterable`."""
    shown = example(value)
    return refusal(TypeError(f"'{type(shown).__name__}' object {why}"), [shown])


def require_python(function: Callable[..., object], *operands: Value) -> object:
    """Call a function on examples; refuse values of classes that it refuses."""
    return in_python(function, *map(_with_examples, operands))


def example(value: Value) -> Any:
    """Return an object of the class that Python has in place of a value."""
    if not isinstance(value, StandIn):
        return value
    found: Any = value.python_class
    return EXAMPLES[found] if found in EXAMPLES else found.__new__(found)


def _with_examples(value: Value) -> object:
    if isinstance(value, (tuple, list)) and is_run_time(value):
        return type(value)(map(_with_examples, value))
    return example(value)
