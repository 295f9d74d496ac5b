"""Describe the tensors of a program as operands of its artifact."""

from __future__ import annotations

from typing import Any

from ttl.artifact import Memory, Operand
from ttl.language.operation import Program
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.layout import layout_of
from ttl.semantics.ttnn_values import as_corners, memory_config_of, shard_shape_of


def operands_of(program: Program) -> tuple[Operand, ...]:
    return tuple(operand_of(name, tensor) for name, tensor in program.tensors.items())


def operand_of(name: str, tensor: Any, address: int | None = None) -> Operand:
    dtype, layout = dtype_of(tensor).spelling, layout_of(tensor).name
    return Operand(name, tuple(tensor.shape), dtype, layout, memory_of(tensor), address)


def memory_of(tensor: Any) -> Memory:
    """Describe where a tensor lies, so that `ttl replay` can place others alike."""
    config = memory_config_of(tensor)
    if config is None:
        return Memory()
    names = (config.buffer_type.name, config.memory_layout.name)
    spec = config.shard_spec or config.nd_shard_spec
    if spec is None:
        return Memory(*names)
    ranges = tuple(corners for each in spec.grid.ranges() if (corners := as_corners(each)))
    strategy = getattr(spec, "shard_distribution_strategy", None)
    distribution = strategy.name if strategy is not None else ""
    return Memory(*names, ranges, shard_shape_of(spec), spec.orientation.name, distribution)
