"""Derives a program for any sequence length from programs for three lengths.

rule ALIKE   two programs are alike if they have the same steps on the same tensors, of the same
             types, and differ in whole numbers only: sizes, and attributes of steps
rule LINE    such a number is a + b * length; two programs give a and b, and a third confirms them
rule REST    kernels, loops and constants that differ make programs unlike
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from .program import AnyStep, CallStep, FreeStep, GraphProgram, TensorDescription


@dataclass(frozen=True, slots=True)
class Family:
    """Programs for all lengths, derived from two of them."""

    first: tuple[int, GraphProgram]
    second: tuple[int, GraphProgram]

    def at(self, length: int) -> GraphProgram | None:
        """Derive the program; None if the two are not alike, or a number would not be whole."""
        try:
            return self._program(length)
        except _NotAlike:
            return None

    def _program(self, length: int) -> GraphProgram:
        (near, one), (far, other) = self.first, self.second
        line = _Line(near, far, length)
        _check(one.name == other.name and one.inputs == other.inputs)
        _check(one.outputs == other.outputs and len(one.steps) == len(other.steps))
        _check(one.tensors.keys() == other.tensors.keys())
        tensors = {
            number: line.tensor(each, other.tensors[number]) for number, each in one.tensors.items()
        }
        steps = tuple(line.step(*pair) for pair in zip(one.steps, other.steps, strict=True))
        return replace(one, tensors=tensors, steps=steps)


Attribute: TypeAlias = tuple[str, Any]  # of a step


class _NotAlike(Exception):
    pass


def _check(is_alike: bool) -> None:
    if not is_alike:
        raise _NotAlike


@dataclass(frozen=True, slots=True)
class _Line:
    """rule LINE"""

    near: int
    far: int
    length: int

    def number(self, one: int, other: int) -> int:
        slope, rest = divmod(other - one, self.far - self.near)
        _check(rest == 0)
        return one + slope * (self.length - self.near)

    def numbers(self, one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
        _check(len(one) == len(other))
        return tuple(self.number(*pair) for pair in zip(one, other, strict=True))

    def tensor(self, one: TensorDescription, other: TensorDescription) -> TensorDescription:
        _check(one.dtype is other.dtype)
        return replace(one, shape=self.numbers(one.shape, other.shape))

    def step(self, one: AnyStep, other: AnyStep) -> AnyStep:
        """rule ALIKE"""
        if isinstance(one, CallStep):
            _check(type(other) is CallStep)
            assert isinstance(other, CallStep)
            same = (one.operation, one.inputs, one.output, one.data)
            _check(same == (other.operation, other.inputs, other.output, other.data))
            pairs = zip(one.attributes.items(), other.attributes.items(), strict=True)
            return replace(one, attributes=dict(self._attribute(*pair) for pair in pairs))
        _check(isinstance(one, FreeStep) and one == other)  # rule REST
        return one

    def _attribute(self, one: Attribute, other: Attribute) -> Attribute:
        (name, value), (others_name, others_value) = one, other
        _check(name == others_name)
        if isinstance(value, (list, tuple)):
            return name, self.numbers(value, others_value)
        if type(value) is int:
            return name, self.number(value, others_value)
        _check(value == others_value)
        return name, value


def is_same(one: GraphProgram, other: GraphProgram) -> bool:
    """Compare a derived program with a compiled one (rule LINE), without where tensors lie, which
    does not change results.
    """
    family = Family((0, one), (1, other))
    found = family.at(7)
    return found is not None and _sizes(found) == _sizes(one) == _sizes(other)


def _sizes(program: GraphProgram) -> object:
    shapes = {number: each.shape for number, each in program.tensors.items()}
    steps = [
        {name: _plain(value) for name, value in each.attributes.items()}
        if isinstance(each, CallStep)
        else each
        for each in program.steps
    ]
    return shapes, steps


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, (list, tuple)) else value
