"""Data between the devices of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array

from .allocation import new_tensor
from .faults import wrong
from .mesh_tensor import MeshTensor, checked_tensor
from .shape import checked_dim
from .tensor import Tensor
from .traces import traced

__all__ = ["all_gather", "all_reduce"]


def all_gather(
    input_tensor: Tensor,
    dim: int,
    *,
    cluster_axis: int | None = None,
    mesh_device: Any = None,
    memory_config: Any = None,
    **tuning: Any,
) -> Tensor:
    """On each device the parts of all devices joined along `dim`, of its row or column only with
    `cluster_axis`. Links, topology and semaphores are accepted; nothing depends on them.
    """
    source = _of_mesh(input_tensor, "all_gather")
    axis = checked_dim(dim, len(source.shape))
    return _collective(source, cluster_axis, memory_config, None, lambda p: np.concatenate(p, axis))


def all_reduce(
    input_tensor: Tensor,
    *,
    cluster_axis: int | None = None,
    mesh_device: Any = None,
    memory_config: Any = None,
    dtype: Any = None,
    **tuning: Any,
) -> Tensor:
    """On each device the sum of the parts of all devices, of its row or column only with
    `cluster_axis`; rounded once.
    """
    source = _of_mesh(input_tensor, "all_reduce")
    carrier = source.dtype.carrier

    def total(parts: Sequence[Array]) -> Array:
        result = parts[0].astype(carrier)
        for part in parts[1:]:
            result += part.astype(carrier)
        return result

    return _collective(source, cluster_axis, memory_config, dtype, total)


def _of_mesh(tensor: object, function: str) -> MeshTensor:
    source = checked_tensor(tensor, function)
    if not isinstance(source, MeshTensor) or source.device() is None:
        raise wrong(
            f"{function}() takes a tensor on a mesh of devices, this one is not on a mesh",
            "make it with ttnn.from_torch(..., device=mesh, mesh_mapper=...)",
        )
    return source


@traced
def _collective(
    source: MeshTensor,
    cluster_axis: int | None,
    memory_config: Any,
    dtype: Any,
    combine: Callable[[Sequence[Array]], Array],
) -> Tensor:
    results: list[Tensor | None] = [None] * len(source.shards)
    with np.errstate(all="ignore"):
        for group in _groups(source, cluster_axis):
            whole = combine([source.shards[index].storage.logical for index in group])
            for index in group:
                results[index] = _result(source.shards[index], whole, memory_config, dtype)
    return MeshTensor(source.mesh, [result for result in results if result is not None])


def _groups(source: MeshTensor, cluster_axis: int | None) -> list[list[int]]:
    """Return the groups of devices, by number, that exchange data with each other."""
    count, shape = len(source.shards), source.mesh.shape
    if cluster_axis is None:
        return [list(range(count))]
    axis = checked_dim(cluster_axis, len(shape), "cluster_axis")
    numbers = np.moveaxis(np.arange(count).reshape(shape), axis, -1).reshape(-1, shape[axis])
    return [[int(number) for number in group] for group in numbers]


def _result(part: Tensor, values: Array, memory_config: Any, dtype: Any) -> Tensor:
    config = memory_config or (None if part.is_sharded() else part.config)
    result = new_tensor(values.shape, dtype or part.dtype, part.layout, part.device(), config)
    result.storage.fill(values)
    return result
