"""Runs graphs with open sizes, without compiling for each length of a growing sequence.

The graph is captured once with open sizes. It is compiled for the first three lengths; if the first
two predict the third, programs for other lengths are derived from these, not compiled.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx

from ttgraph.flatbuffer.lengths import Family, is_same
from ttl.loading.recent import Recent

from .decompositions import decompositions
from .executable import MOST_KEPT, Executable

_SAMPLES = 3
aten = torch.ops.aten


class OpenExecutable:
    """Functional aten graph of tensors with the sizes of the call."""

    def __init__(self, graph: fx.GraphModule):
        self.graph = _with_any_strides(graph)
        self.made: Recent[Executable] = Recent(MOST_KEPT)
        self.compiled: list[
            tuple[tuple[int, ...], Executable]
        ] = []  # the latest executables, by sizes
        self.family: tuple[int, Any] | None = None  # the index of the open size, and the programs

    def __call__(self, *inputs: Any) -> list[Any]:
        sizes = _sizes(inputs)
        executable = self.made.get(
            sizes, lambda: self._instance(sizes) or self._compile(sizes, inputs)
        )
        return executable(inputs)

    def _compile(self, sizes: tuple[int, ...], inputs: Sequence[Any]) -> Executable:
        from .capture import tracing

        with tracing():
            samples = [
                torch.empty_like(each) if isinstance(each, Tensor) else each for each in inputs
            ]
            traced = make_fx(self.graph, decompositions(), tracing_mode="fake")(*samples)
            made = Executable(traced)
        self.compiled = [*self.compiled[1 - _SAMPLES :], (sizes, made)]
        self.family = self._found_family()
        return made

    def _found_family(self) -> tuple[int, Any] | None:
        if len(self.compiled) < _SAMPLES:
            return None
        (one, first), (other, second), (third, last) = self.compiled
        place = _place(one, other)
        if place is None or one[place] == third[place] == other[place]:
            return None
        family = Family((one[place], first.program), (other[place], second.program))
        made = family.at(third[place])
        if made is None or not is_same(made, last.program) or _line(one, other, third) != third:
            return None
        return place, family

    def _instance(self, sizes: tuple[int, ...]) -> Executable | None:
        """Derive an executable without compiling, if all sizes fit the family."""
        if self.family is None:
            return None
        place, family = self.family
        (one, first), (other, _), _ = self.compiled
        if _line(one, other, sizes) != sizes:
            return None
        program = family.at(sizes[place])
        if program is None:
            return None
        made = copy.copy(first)
        made.runtime = first.runtime.with_program(program)
        shapes = iter(program.described(program.outputs))
        made.outputs = [
            None if like is None else like.new_empty(next(shapes).shape) for like in first.outputs
        ]
        return made


def _with_any_strides(graph: fx.GraphModule) -> fx.GraphModule:
    """Turn views into reshapes: they were recorded for the strides of torch's own kernels, but the
    decompositions of the second trace give other strides.
    """
    for node in graph.graph.nodes:
        if node.target in (aten.view.default, aten._unsafe_view.default):
            node.target = aten.reshape.default
    graph.recompile()
    return graph


def _sizes(inputs: Sequence[Any]) -> tuple[int, ...]:
    """Return the sizes of all tensors, and number inputs."""
    return tuple(
        size for each in inputs for size in (each.shape if isinstance(each, Tensor) else (each,))
    )


def _place(one: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    """Return the index of the first size that differs."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), None)


def _line(
    one: tuple[int, ...], other: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the sizes on the line through two others, given its first differing one."""
    place = _place(one, other)
    if place is None or len(one) != len(wanted):
        return None
    steps, of = wanted[place] - one[place], other[place] - one[place]
    moved = [a + (b - a) * steps / of for a, b in zip(one, other, strict=True)]
    return tuple(int(each) for each in moved) if all(each.is_integer() for each in moved) else None
