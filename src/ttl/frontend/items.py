"""Items of lists, tuples, dicts and other objects that are known while a kernel is translated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from xdsl.ir import SSAValue

from ttl.diagnostics import RuleBroken, codes

from . import scalars
from .branches import choose
from .builder import FlowBroken, KernelBuilder, Value, describe, not_in_kernels, not_yet
from .containers import CHANGING
from .decided import as_constant
from .loops import RangeValue
from .scalars import is_run_time, kind_of


def iterated(value: Value) -> list[Value]:
    """All items, in order; RuleBroken if they are not known before the run."""
    if isinstance(value, RangeValue):
        bounds = (value.start, value.stop, value.step)
        if is_run_time(bounds):
            raise FlowBroken(
                codes.NOT_IN_KERNELS,
                "the items of a range whose bounds are known only at run time",
                helps=("use it in a `for` statement",),
            )
        return list(range(*bounds))
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)  # the order of a set is not one
    if not hasattr(type(value), "__iter__") or isinstance(value, SSAValue):
        raise not_in_kernels(f"the items of {describe(value)}")
    return list(value)


def unpacked(value: Value) -> list[Value]:
    """For several names, or behind `*`."""
    if isinstance(value, SSAValue):
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{describe(value)} for several names")
    try:
        return iterated(value)
    except TypeError:
        raise RuleBroken(codes.WRONG_ARGUMENT, "a single value for several names") from None


def new(builder: KernelBuilder, value: Any) -> Any:
    """A container that the kernel makes, and may change."""
    return builder.containers.made(value, builder.loops[-1] if builder.loops else None)


def changing_method(owner: Value, name: str) -> Callable[..., Value] | None:
    """The handler of a method that changes a list, dict or set; None if it does not."""
    if name not in CHANGING.get(type(owner), ()):
        return None

    def made(builder: KernelBuilder, container: Any, *args: Value, **kwargs: Value) -> Value:
        if name == "extend":
            args = (iterated(args[0]),)
        return changed(builder, container, lambda: getattr(container, name)(*args, **kwargs))

    return made


def set_item(builder: KernelBuilder, container: Value, index: Value, value: Value) -> None:
    def put() -> None:
        container[index] = value

    if _is_list_of_scalars(container) and kind_of(value) is not None and kind_of(index) is int:
        _set_scalar(builder, container, index, value)
        return
    index = _constant(builder, index)
    changed(builder, container, put)


def _is_list_of_scalars(container: Value) -> bool:
    return isinstance(container, list) and all(kind_of(item) is not None for item in container)


def _set_scalar(builder: KernelBuilder, items: list[Value], index: Value, value: Value) -> None:
    """A number in a list, at a place that may be known only at run time: each is it or is not."""
    is_negative = scalars.compare(builder, ast.Lt(), index, 0) if is_run_time(index) else False
    if not is_run_time(index) or is_negative is not False:
        where = _constant(builder, index)
        changed(builder, items, lambda: items.__setitem__(where, value))
        return

    def chosen(position: int) -> Value:
        is_here = scalars.compare(builder, ast.Eq(), index, position)
        return choose(builder, is_here, lambda: value, lambda: items[position])

    new_items = [chosen(position) for position in range(len(items))]
    changed(builder, items, lambda: items.__setitem__(slice(None), new_items))


def delete_item(builder: KernelBuilder, container: Value, index: Value) -> None:
    def take() -> None:
        del container[index]

    index = _constant(builder, index)
    changed(builder, container, take)


def _constant(builder: KernelBuilder, index: Value) -> Value:
    if not is_run_time(index):
        return index
    return as_constant(builder, index, "a change of an item that is known only at run time")


def changed(builder: KernelBuilder, container: Any, how: Callable[[], Any]) -> Any:
    """Change what the kernel made."""
    if type(container) not in CHANGING:
        raise not_in_kernels(f"a change of {describe(container)}")
    nowhere = object()
    loop = builder.containers.loop_of(container, nowhere)
    if loop is nowhere:
        raise RuleBroken(
            codes.CAPTURED_WRITTEN,
            f"this {type(container).__name__} is not one that the kernel made",
            helps=("copy it first, or write results into a tensor",),
        )
    if loop is not (builder.loops[-1] if builder.loops else None):
        raise FlowBroken(
            codes.NOT_COMPILED_YET,
            f"the compiler does not translate a loop that changes a {type(container).__name__} "
            "made before it yet",
            helps=("give the loop bounds that are known when compiling, or use scalars",),
        )
    try:
        return builder.containers.change(container, how)
    except Exception as error:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{type(error).__name__}: {error}") from None


# Assignment ---------------------------------------------------------------------------------------

Evaluate = Callable[[ast.expr], Value]


def bind(builder: KernelBuilder, target: ast.expr, value: Value, evaluate: Evaluate) -> None:
    """`target = value`"""
    if isinstance(target, ast.Name):
        builder.assign(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _bind_all(builder, target.elts, unpacked(value), evaluate)
    elif isinstance(target, ast.Subscript):
        set_item(builder, evaluate(target.value), evaluate(target.slice), value)
    else:
        raise not_in_kernels("assignment to an attribute")


def _bind_all(
    builder: KernelBuilder, targets: list[ast.expr], values: list[Value], evaluate: Evaluate
) -> None:
    starred = [p for p, part in enumerate(targets) if isinstance(part, ast.Starred)]
    if len(values) < len(targets) - len(starred) or (not starred and len(values) > len(targets)):
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{len(values)} values for {len(targets)} names")
    if starred:
        end = len(values) - (len(targets) - starred[0] - 1)
        middle = new(builder, values[starred[0] : end])
        values = [*values[: starred[0]], middle, *values[end:]]
    for part, item in zip(targets, values, strict=True):
        bind(builder, part.value if isinstance(part, ast.Starred) else part, item, evaluate)


# Comprehensions -----------------------------------------------------------------------------------


def comprehension(
    builder: KernelBuilder,
    generators: Iterable[ast.comprehension],
    evaluate: Evaluate,
    decide: Callable[[Value], Any],
    each: Callable[[], None],
) -> None:
    """Do `each` for every item; the names of the comprehension are its own."""
    generators = list(generators)
    targets = {
        part.id
        for generator in generators
        for part in ast.walk(generator.target)
        if isinstance(part, ast.Name)
    }
    outer = builder.frame
    frame = builder.new_frame(outer.file, frozenset(targets), outer)
    frame.caller, frame.call_site, frame.tree = outer.caller, outer.call_site, outer.tree
    builder.frame = frame
    try:
        _generate(builder, generators, evaluate, decide, each)
    finally:
        builder.frame = outer
        builder.values = {v: x for v, x in builder.values.items() if v[0] != frame.number}


def _generate(
    builder: KernelBuilder,
    generators: list[ast.comprehension],
    evaluate: Evaluate,
    decide: Callable[[Value], Any],
    each: Callable[[], None],
) -> None:
    if not generators:
        each()
        return
    first, *inner = generators
    for item in iterated(evaluate(first.iter)):
        bind(builder, first.target, item, evaluate)
        tests = (decide(evaluate(test)) for test in first.ifs)
        if all(_known(test) for test in tests):
            _generate(builder, inner, evaluate, decide, each)


def _known(test: Value) -> bool:
    if isinstance(test, SSAValue):
        raise not_yet("a condition of a comprehension that is known only at run time")
    return bool(test)
