"""Sorts the arguments of an operation's call into operands and parameters, and checks them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ttl.diagnostics import RuleBroken, wrong_argument

from ..dtypes import as_dtype
from ..types import BlockType, is_block_shape
from .table import REQUIRED, Arguments, BlockOp, Parameter, ParameterKind


class Parameters(dict[str, Any]):
    """The checked parameters of a call; equal calls share one object, compared by identity."""

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


NO_PARAMETERS: Final = Parameters()

# Parameters and left-out operands of calls, by their keywords.
# Kernels repeat a call for every block, and checking it costs more than most of them compute.
_CHECKED: dict[tuple[object, ...], Arguments] = {}
MOST_CHECKED = 4096


def bind(op: BlockOp, args: tuple[object, ...], kwargs: dict[str, object]) -> Arguments:
    """Return the operands in order and all parameters by name; raise RuleBroken for a wrong call.

    The engine checks that operands are blocks.
    """
    if not kwargs:
        return _bind(op, args, kwargs)
    try:
        key = _key(op, args, kwargs)
        known = _CHECKED.get(key)
    except TypeError:  # a value without a hash
        return _bind(op, args, kwargs)
    if known is not None:
        return args + known[0], known[1]
    operands, parameters = _bind(op, args, kwargs)
    names = [parameter.name for parameter in op.parameters]
    only_parameters = all(op.keyword(name) in names for name in kwargs)
    if only_parameters and _same_objects(operands, args) and len(_CHECKED) < MOST_CHECKED:
        left_out = operands[len(args) :], Parameters(parameters)
        parameters = _CHECKED.setdefault(key, left_out)[1]
    return operands, parameters


def _key(op: BlockOp, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[object, ...]:
    """Return a key that distinguishes 1, 1.0 and True, and 0.0 and -0.0."""
    key: list[object] = [id(op), len(args)]
    for name, value in kwargs.items():
        kind = type(value)
        if kind is tuple or kind is list:
            key += [name, tuple(value), *map(type, value)]
        else:
            key += [name, repr(value) if kind is float else value, kind]
    return tuple(key)


def _bind(op: BlockOp, args: tuple[object, ...], kwargs: dict[str, object]) -> Arguments:
    if kwargs:
        kwargs = _rename_keywords(op, kwargs)
    if op.rearrange is not None:
        args, kwargs = op.rearrange(args, kwargs)
    given = _by_name(op, args, kwargs)
    operands = tuple(given.pop(name) for name in op.names)
    parameters = {
        parameter.name: _check_value(op, parameter, given[parameter.name])
        for parameter in op.parameters
    }
    return operands, parameters


def _same_objects(operands: tuple[object, ...], args: tuple[object, ...]) -> bool:
    """Return whether args are the first operands, by identity: `==` compares blocks' elements."""
    pairs = zip(operands, args, strict=False)
    return len(args) <= len(operands) and all(operand is arg for operand, arg in pairs)


def _rename_keywords(op: BlockOp, kwargs: dict[str, object]) -> dict[str, object]:
    renamed = {op.keyword(name): value for name, value in kwargs.items()}
    if len(renamed) < len(kwargs):
        doubled = next(name for name in kwargs if op.keyword(name) != name)
        raise wrong_call(op, f"got two values for `{op.keyword(doubled)}`")
    return renamed


def _by_name(op: BlockOp, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    defaults = dict.fromkeys(op.names, REQUIRED) | op.operand_defaults
    defaults |= {parameter.name: parameter.default for parameter in op.parameters}
    if len(args) > len(defaults):
        raise wrong_call(op, f"takes {_count(len(defaults))}, not {len(args)}")
    positional = dict(zip(defaults, args, strict=False))
    for name in kwargs:
        if name not in defaults:
            raise wrong_call(op, f"has no argument `{name}`")
        if name in positional:
            raise wrong_call(op, f"got two values for `{name}`")
    given = defaults | positional | kwargs
    missing = [f"`{name}`" for name, value in given.items() if value is REQUIRED]
    if missing:
        raise wrong_call(op, f"needs {' and '.join(missing)}")
    return given


def _count(arguments: int) -> str:
    return f"{arguments} argument{'s' if arguments != 1 else ''}"


def _check_value(op: BlockOp, parameter: Parameter, value: Any) -> Any:
    if value is None and parameter.default is None:
        return None
    if not CHECKS[parameter.kind](value):
        problem = f"takes {parameter.kind.value} as `{parameter.name}`, not {text_of(value)}"
        raise wrong_call(op, problem, _instead_of_power(op, value))
    if parameter.kind is ParameterKind.DIMS:
        return (value,) if isinstance(value, int) else tuple(value)
    if parameter.kind is ParameterKind.DTYPE:
        return as_dtype(value)
    return tuple(value) if parameter.kind is ParameterKind.SHAPE else value


ROOTS = {0.5: "sqrt", -0.5: "rsqrt", -1: "recip", 1 / 3: "cbrt"}


def _instead_of_power(op: BlockOp, exponent: object) -> tuple[str, ...]:
    """Return the help for an exponent that is not a natural number: another function."""
    if op.name != "pow" or not is_number(exponent):
        return ()
    if exponent in ROOTS:
        return (f"write ttl.math.{ROOTS[exponent]}(x)",)
    return (f"write ttl.math.exp({exponent!r} * ttl.math.log(x)), for positive x",)


def is_number(value: object) -> bool:
    """Return whether it is an int or a float; a bool is a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_value(value: object) -> bool:
    """Return whether it is a block or a block expression of any engine."""
    return isinstance(getattr(value, "type", None), BlockType)


def _is_dims(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return len(value) > 0 and all(is_integer(dim) for dim in value)
    return is_integer(value)


def _is_shape(value: Any) -> bool:
    return is_block_shape(value) and all(is_integer(size) for size in value)


CHECKS: dict[ParameterKind, Callable[[Any], bool]] = {
    ParameterKind.NUMBER: is_number,
    ParameterKind.NATURAL: lambda value: is_integer(value) and value >= 0,
    ParameterKind.INTEGER: is_integer,
    ParameterKind.DIMS: _is_dims,
    ParameterKind.DTYPE: lambda value: as_dtype(value) is not None,
    ParameterKind.SHAPE: _is_shape,
    ParameterKind.FLAG: lambda value: isinstance(value, bool),
}


def text_of(value: object) -> str:
    """Describe an argument in messages; the compiler's values know their names in the program."""
    known = getattr(value, "described", None)
    if isinstance(value, (tuple, list)):
        known = f"({', '.join(map(text_of, value))})"
    return "a block" if is_value(value) else known if isinstance(known, str) else repr(value)


def wrong_call(op: BlockOp, problem: str, helps: tuple[str, ...] = ()) -> RuleBroken:
    helps = helps or tuple(f"write {call}" for call in op.calls)
    return wrong_argument(f"{op.spelling} {problem}", *helps)


def shape_of_block(position: int, args: tuple[object, ...], kwargs: dict[str, Any]) -> Arguments:
    """Rewrite `fill(out_blk, value)` as `fill(value, shape=...)`, and `broadcast()` likewise.

    Anything but a block is left to the checks. A fill also accepts an expression.
    """
    kwargs = dict(kwargs)
    if len(args) > position and is_value(args[position]):
        kwargs["out_blk"] = args[position]
        args = args[:position] + args[position + 1 :]
    if "out_blk" in kwargs:
        given = kwargs.pop("out_blk")
        is_block = is_value(given) and (hasattr(given, "store") or position == 0)
        kwargs.setdefault("shape", given.type.shape if is_block else given)
    return args, kwargs
