"""Items of containers and other objects that are known while a kernel is evaluated."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeVar, cast

from ttl.diagnostics import codes
from ttl.language.arguments import is_tensor
from ttl.language.mistakes import impossible_use
from ttl.semantics.numpy_numbers import python_number
from ttl.source import tree
from ttl.source.captured import CHANGING

from . import scalars
from .builder import KernelBuilder
from .hir import RunTime, Scalar, StandIn, Value, is_run_time, kind_of
from .in_python import example, in_python, refusal, refused
from .joins import choose
from .node_values import PerNode, on_each_node
from .problems import FEW_STEPS, FlowBroken, describe, not_in_kernels, not_yet, raised
from .ranges import RangeValue
from .value_ranges import as_constant

T = TypeVar("T")
FIXED = (bool, int, float, str, bytes, tuple, range, frozenset, type(None))


def iterated(value: Any) -> list[Any]:
    """List all items in order; raise RuleBroken if they are not known before the run."""
    if isinstance(value, RangeValue):
        raise FlowBroken(
            codes.NOT_IN_KERNELS,
            "the items of a range whose bounds are known only at run time",
            helps=("use it in a `for` statement",),
        )
    if isinstance(value, PerNode):
        return _iterated_on_each(value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(python_number, value), key=repr)  # a set has no order of its own
    is_iterable = hasattr(type(value), "__iter__") and not is_tensor(value)
    if isinstance(value, RunTime) or not is_iterable:
        raise refused(value, "is not iterable")
    return list(map(python_number, value))


def _iterated_on_each(value: PerNode) -> list[object]:
    found = on_each_node(iterated, [value])
    if not isinstance(found, list):
        raise codes.NODES_DIFFER.broken(
            f"{value!r}, has more items on one node than on another",
            "give every node as many",
        )
    return found


def changing_method(owner: Value, name: str) -> Callable[..., Value] | None:
    """Find the handler of a method that changes a list, dict or set; None for others."""
    if name not in CHANGING.get(type(owner), ()):
        return None

    def change(builder: KernelBuilder, container: object, *args: object, **kwargs: Value) -> Value:
        if name == "extend":
            args = (iterated(args[0]),)
        looks = LOOKED_AT.get(name, len(args))
        args = (*(_constant(builder, each) for each in args[:looks]), *args[looks:])
        if name == "remove" and is_run_time(container):
            raise not_yet("remove() from what has run-time values")
        return changed(builder, container, getattr(type(owner), name), *args, **kwargs)

    return change


# How many arguments are compared or count items; the container gets the others.
LOOKED_AT = {"append": 0, "extend": 0, "insert": 1, "setdefault": 1}


def set_item(builder: KernelBuilder, container: Any, index: object, value: Value) -> None:
    """Set an item. At a run-time index, every number of the list becomes a choice."""
    kinds = map(kind_of, [*container, value]) if isinstance(container, list) else [None]
    is_of_scalars = None not in kinds
    if not is_of_scalars or not isinstance(index, Scalar) or index.kind is not int:
        changed(builder, container, operator.setitem, _constant(builder, index), value)
        return
    place = from_start(builder, container, index, "assignment ")

    def chosen(position: int) -> Value:
        is_here = scalars.compare(builder, "==", place, position)
        return choose(builder, is_here, lambda: value, lambda: container[position])

    items = [chosen(position) for position in range(len(container))]
    changed(builder, container, operator.setitem, slice(None), items)


def from_start(
    builder: KernelBuilder, items: Sequence[Value], given: Scalar, what: str = ""
) -> Value:
    """Return the place of an item with a run-time index, which may count from the end."""
    size, index = len(items), cast(Value, given)
    is_before = scalars.compare(builder, "<", given, 0)
    if not given.is_natural and is_before is not False:
        from_end = scalars.arithmetic(builder, "+", given, size)
        index = choose(builder, is_before, lambda: from_end, lambda: given)
        scalars.check(builder, scalars.compare(builder, ">=", index, 0), _error(items, what))
    scalars.check(builder, scalars.compare(builder, "<", index, size), _error(items, what))
    return index


def _error(items: Sequence[Value], what: str) -> str:
    kind = "range object" if isinstance(items, range) else type(items).__name__
    return f"raised IndexError: {kind} {what}index out of range"


def delete_item(builder: KernelBuilder, container: object, index: Value) -> None:
    changed(builder, container, operator.delitem, _constant(builder, index))


def _constant(builder: KernelBuilder, index: Value) -> Value:
    if not is_run_time(index):
        return index
    return as_constant(builder, index, "a change of an item that is known only at run time")


def set_of(builder: KernelBuilder, value: Value = ()) -> Value:
    return builder.new({_constant(builder, each) for each in iterated(value)})


def dict_of(builder: KernelBuilder, value: Value = (), **items: Value) -> Value:
    """Make a dict from pairs with known keys, or from another dict."""
    pairs = value.items() if isinstance(value, dict) else iterated(value)
    if all(isinstance(each, (tuple, list)) and len(each) == 2 for each in pairs):
        pairs = [(_constant(builder, key), item) for key, item in pairs]
    return builder.new(in_python(lambda: dict(pairs, **items)))


def changed(
    builder: KernelBuilder,
    container: object,
    how: Callable[..., object],
    *given: object,
    **named: object,
) -> object:
    """Change a container that the kernel made."""
    if type(container) in CHANGING:
        _require_own(builder, container)
    elif type(container) not in FIXED and not isinstance(container, StandIn):
        error = TypeError(f"'{type(container).__name__}' object does not support item assignment")
        what = f"a change of {describe(container)}"
        raise impossible_use(error, [container]) or not_in_kernels(what)
    container = example(container)
    try:
        return how(container, *given, **named)
    except Exception as error:
        raise refusal(error, [container]) from None


def _require_own(builder: KernelBuilder, container: object) -> None:
    made = builder.state.containers.get(id(container))
    if made is None:
        raise codes.CAPTURED_WRITTEN.broken(
            f"this {type(container).__name__} is not one that the kernel made",
            "copy it first, or write results into a tensor",
        )
    if made.loop is not builder.loop:
        raise FlowBroken(
            codes.NOT_COMPILED_YET,
            f"the compiler does not translate a loop that changes a {type(container).__name__} "
            "made before it yet",
            helps=(f"{FEW_STEPS}, or use scalars",),
        )


# Assignment ---------------------------------------------------------------------------------------


def bind(builder: KernelBuilder, target: tree.Expression, value: Value) -> None:
    """Evaluate `target = value`."""
    if isinstance(target, tree.Target):
        builder.assign(target.binding, value)
    elif isinstance(target, tree.Sequence):
        _bind_all(builder, target.items, iterated(value))
    elif isinstance(target, tree.Item):
        set_item(builder, builder.evaluate(target.owner), builder.evaluate(target.index), value)
    elif isinstance(target, tree.Attribute):
        refuse_attribute(builder, target)


def refuse_attribute(
    builder: KernelBuilder, target: tree.Attribute, change: str = "assignment to"
) -> NoReturn:
    """Refuse `x.y = value` or `del x.y`, with Python's error if Python refuses it too."""
    owner = builder.evaluate(target.owner)
    owner = example(owner) if isinstance(owner, Scalar) else owner
    if type(owner) in (*FIXED, *CHANGING):
        in_python(setattr, owner, target.name, None)
    builder.evaluate(target)  # fails if it has no such attribute
    raise not_in_kernels(f"{change} an attribute")


def _bind_all(
    builder: KernelBuilder, targets: tuple[tree.Expression, ...], values: list[Value]
) -> None:
    starred = [p for p, part in enumerate(targets) if isinstance(part, tree.Starred)]
    needed = len(targets) - len(starred)
    if len(values) < needed or (not starred and len(values) > needed):
        amount = "not enough" if len(values) < needed else "too many"
        raise raised(
            f"ValueError: {amount} values to unpack (expected {needed}, got {len(values)})"
        )
    if starred:
        end = len(values) - (len(targets) - starred[0] - 1)
        middle = builder.new(values[starred[0] : end])
        values = [*values[: starred[0]], middle, *values[end:]]
    for part, item in zip(targets, values, strict=True):
        bind(builder, part.value if isinstance(part, tree.Starred) else part, item)


# Comprehensions -----------------------------------------------------------------------------------


def comprehended(
    builder: KernelBuilder, node: tree.Comprehension, each: Callable[[], T], first: Value = None
) -> list[T]:
    """Return the result of `each` for every item, with the comprehension's own variables.

    `first` is the value of its first sequence, if that is evaluated already.
    """
    outer = builder.frame
    frame = builder.new_frame(outer.file, node.scope, outer)
    frame.caller, frame.call_site = outer.caller, outer.call_site
    builder.frame = frame
    found: list[T] = []
    try:
        found += _generated(builder, node.generators, each, first)
        return found
    finally:
        builder.frame = outer
        builder.forget(frame, found)


def _generated(
    builder: KernelBuilder,
    generators: tuple[tree.Generator, ...],
    each: Callable[[], T],
    over: Value = None,
) -> Iterator[T]:
    if not generators:
        yield each()
        return
    first, inner = generators[0], generators[1:]
    for item in iterated(builder.evaluate(first.over) if over is None else over):
        bind(builder, first.target, item)
        if all(_known(scalars.truth(builder, builder.evaluate(test))) for test in first.tests):
            yield from _generated(builder, inner, each)


def _known(test: Value) -> bool:
    if isinstance(test, RunTime):
        raise not_in_kernels("a condition of a comprehension that is known only at run time")
    return bool(test)
