"""Part of ttir-to-ttir-decomposition: an operation in tt-mlir's form, as its rules see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ttgraph.dialects.graph import Tensor, shape_of
from ttgraph.dialects.quantized import stored


@dataclass(frozen=True, slots=True)
class Call:
    """`inputs` are in the order of the form, and None where one is missing.

    ValueError from rules that cannot be followed: it says what is missing.
    """

    op: Operation
    inputs: tuple[SSAValue | None, ...]
    values: dict[str, Any]
    types: tuple[Attribute, ...] = ()  # of the operands, before others were decomposed
    in_tiles: bool = False  # of operations that tiles have: no whole softmax, no whole norm

    @property
    def name(self) -> str:
        return self.op.name.partition(".")[2]

    @property
    def first(self) -> SSAValue:
        return self.given(0)

    def given(self, position: int) -> SSAValue:
        found = self.inputs[position]
        assert found is not None, "the form was verified"
        return found

    @property
    def all(self) -> list[SSAValue]:
        return [value for value in self.inputs if value is not None]

    @property
    def result(self) -> Tensor:
        return result_type(self.op.results[0].type)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.result.get_shape())

    @property
    def rank(self) -> int:
        return len(shape_of(self.first))

    def dim(self, name: str) -> int:
        """Counted from the first dimension."""
        return in_range(self.values[name], self.rank)

    def dims(self, name: str) -> tuple[int, ...]:
        """Likewise, of a list; all if it is missing."""
        given = self.values[name]
        if given is None:
            return tuple(range(self.rank))
        return tuple(sorted(in_range(dim, self.rank) for dim in given))


def in_range(dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise ValueError(f"there is no dimension {dim} among {rank}")
    return dim % rank


def result_type(type: Attribute) -> Tensor:
    """Layouts are given again by ttnn-layout."""
    if not isinstance(type, TensorType):
        raise ValueError(f"{type} is no tensor")
    found = stored(type)
    assert isinstance(found, TensorType)
    return TensorType(found.element_type, found.get_shape())


def two(name: str, given: Sequence[int]) -> tuple[int, int]:
    """Of height and width, or of both ends of a length; one number is for both."""
    if len(given) not in (1, 2):
        raise ValueError(f"`{name}` has {len(given)} numbers")
    return given[0], given[-1]


def several(name: str, given: Sequence[int], count: int) -> tuple[int, ...]:
    """One number is for all."""
    if len(given) not in (1, count):
        raise ValueError(f"`{name}` has {len(given)} numbers")
    return tuple(given) * (count if len(given) == 1 else 1)


def edges(given: Sequence[int]) -> tuple[int, int, int, int]:
    """top, bottom, left, right; given are one for all, height and width, or top, left, bottom,
    right."""
    if len(given) == 4:
        top, left, bottom, right = given
        return top, bottom, left, right
    height, width = two("padding", given)
    return height, height, width, width
