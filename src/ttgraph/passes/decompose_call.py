"""Part of ttir-to-ttir-decomposition: an operation in tt-mlir's form, the input of its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ttgraph.dialects.graph import Tensor, shape_of
from ttgraph.dialects.quantized import stored


@dataclass(frozen=True, slots=True)
class FormCall:
    """Operation to decompose: `inputs` are in the form's order, None if one is missing.

    Rules raise ValueError with the missing part if they cannot be applied.
    """

    op: Operation
    inputs: tuple[SSAValue | None, ...]
    values: dict[str, Any]
    types: tuple[Attribute, ...] = ()  # of the operands, before other operations were decomposed
    in_tiles: bool = False  # into tile operations: no softmax or norm as a whole

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
        """Return a dimension, counted from the first."""
        return in_range(self.values[name], self.rank)

    def dims(self, name: str) -> tuple[int, ...]:
        """Return a list of dimensions, counted from the first; all if it is missing."""
        given = self.values[name]
        if given is None:
            return tuple(range(self.rank))
        return tuple(sorted(in_range(dim, self.rank) for dim in given))


def in_range(dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise ValueError(f"there is no dimension {dim} among {rank}")
    return dim % rank


def result_type(type: Attribute) -> Tensor:
    """Return a result's type without its layout: ttnn-layout assigns one again."""
    if not isinstance(type, TensorType):
        raise ValueError(f"{type} is no tensor")
    found = stored(type)
    assert isinstance(found, TensorType)
    return TensorType(found.element_type, found.get_shape())


def to_pair(name: str, given: Sequence[int]) -> tuple[int, int]:
    """Return a pair, of height and width or of both ends; one number is for both."""
    if len(given) not in (1, 2):
        raise ValueError(f"`{name}` has {len(given)} numbers")
    return given[0], given[-1]


def to_count(name: str, given: Sequence[int], count: int) -> tuple[int, ...]:
    """Return `count` numbers; one number is for all."""
    if len(given) not in (1, count):
        raise ValueError(f"`{name}` has {len(given)} numbers")
    return tuple(given) * (count if len(given) == 1 else 1)


def to_edges(given: Sequence[int]) -> tuple[int, int, int, int]:
    """Return top, bottom, left, right, from one number for all, height and width, or top, left,
    bottom, right."""
    if len(given) == 4:
        top, left, bottom, right = given
        return top, bottom, left, right
    height, width = to_pair("padding", given)
    return height, height, width, width
