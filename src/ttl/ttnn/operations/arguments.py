"""Kinds of operations' arguments, from the annotations of their meanings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.dtypes import Array
from ttl.semantics.types import Shape

from ..compute_config import UnaryWithParam
from ..faults import wrong
from ..shape import checked_dim
from ..tensor import Tensor

Number = int | float
Dims = int | Sequence[int] | None
Sizes = Sequence[int]


@dataclass(frozen=True, slots=True)
class ArgumentKind:
    """Values that an argument may have; `text` describes them in messages."""

    text: str
    check: Callable[[Any], bool]
    is_operand: bool = False


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def is_number(value: Any) -> bool:
    """Is it a number? True and False are 1 and 0, as in the real operations."""
    return isinstance(value, (int, float, np.integer, np.floating))


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_integers(value: Any) -> bool:
    return isinstance(value, Sequence) and all(is_integer(item) for item in value)


def _is_one_or_more_integers(value: Any) -> bool:
    return is_integer(value) or _is_integers(value)


def _is_tensors(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and bool(value) and all(map(is_tensor, value))


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _is_value(value: Any) -> bool:
    return is_tensor(value) or is_number(value)


def _is_activations(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(
        isinstance(item, UnaryWithParam) for item in value
    )


# Kinds by annotation.
KINDS: dict[Any, ArgumentKind] = {
    Array: ArgumentKind("a ttnn tensor", is_tensor, True),
    Array | None: ArgumentKind("a ttnn tensor", _or_none(is_tensor), True),
    Array | Number: ArgumentKind("a ttnn tensor or a number", _is_value, True),
    Array | Number | None: ArgumentKind("a ttnn tensor or a number", _or_none(_is_value), True),
    list[Array]: ArgumentKind("a list of ttnn tensors", _is_tensors, True),
    int: ArgumentKind("an int", is_integer),
    int | None: ArgumentKind("an int", _or_none(is_integer)),
    Number: ArgumentKind("a number", is_number),
    Number | None: ArgumentKind("a number", _or_none(is_number)),
    bool: ArgumentKind("True or False", lambda value: isinstance(value, bool)),
    bool | None: ArgumentKind("True or False", _or_none(lambda value: isinstance(value, bool))),
    str | UnaryWithParam | None: ArgumentKind(
        "the name of an activation such as 'relu', or a ttnn.UnaryWithParam",
        _or_none(lambda value: isinstance(value, (str, UnaryWithParam))),
    ),
    tuple[UnaryWithParam, ...]: ArgumentKind(
        "a list such as [ttnn.UnaryWithParam(ttnn.UnaryOpType.RELU)]", _is_activations
    ),
    Dims: ArgumentKind("an int or a list of ints", _or_none(_is_one_or_more_integers)),
    Sizes: ArgumentKind("a list of ints", _is_integers),
    Sizes | None: ArgumentKind("a list of ints", _or_none(_is_integers)),
    int | Sizes: ArgumentKind("an int or a list of ints", _is_one_or_more_integers),
    Any: ArgumentKind("anything", lambda value: True),
}


def dimension(dim: int, rank: int) -> int:
    """Return a dimension counted from 0."""
    return checked_dim(int(dim), rank)


def dimensions(dims: Dims, rank: int) -> Shape:
    """Return dimensions counted from 0, each once; all of them if none is given."""
    if dims is None:
        return tuple(range(rank))
    counted = [dimension(dim, rank) for dim in (dims if isinstance(dims, Sequence) else (dims,))]
    if len(set(counted)) != len(counted):
        raise wrong(f"dimensions {list(counted)}: one is named twice", "name each of them once")
    return tuple(counted)


def shapes_differ(message: str, help_text: str, **facts: Any) -> RuleBroken:
    return codes.TENSOR_SHAPES.broken(message, help_text, **facts)
