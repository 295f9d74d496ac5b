"""Distributes tensors over meshes and joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array

from .faults import wrong, wrong_type
from .mesh import MeshDevice, MeshShape, checked_mesh
from .shape import checked_dim

__all__ = [
    "ConcatMesh2dToTensor",
    "ConcatMeshToTensor",
    "MeshComposer",
    "MeshComposerConfig",
    "MeshMapper",
    "MeshMapperConfig",
    "PlacementReplicate",
    "PlacementShard",
    "ReplicateTensorToMesh",
    "ShardTensor2dMesh",
    "ShardTensorToMesh",
    "concat_mesh_to_tensor_composer",
    "create_mesh_composer",
    "create_mesh_mapper",
    "replicate_tensor_to_mesh_mapper",
    "shard_tensor_to_mesh_mapper",
]


@dataclass(frozen=True, slots=True)
class PlacementShard:
    """Along one axis of the mesh, each device gets a part of dimension `dim`."""

    dim: int


class PlacementReplicate:
    """Along one axis of the mesh, all devices get the same."""

    __slots__ = ()


@dataclass(eq=False, slots=True)
class MeshMapperConfig:
    placements: Sequence[Any]
    mesh_shape_override: Any = None


@dataclass(eq=False, slots=True)
class MeshComposerConfig:
    dims: Sequence[int]
    mesh_shape_override: Any = None


class _DimsOfAxes:
    """Base of classes with a tensor dimension for each axis of a mesh."""

    __slots__ = ("axes", "dims", "mesh")

    def __init__(self, mesh: Any, axes: Sequence[int], dims: Sequence[int | None]):
        self.mesh = checked_mesh(mesh)
        self.axes = _axes(self.mesh, axes)
        self.dims = _one_for_each(dims, self.axes)


class MeshMapper(_DimsOfAxes):
    """Which dimension each axis of the mesh cuts; None: the axis has copies."""

    __slots__ = ()

    def parts(self, values: Array) -> list[Array]:
        """A view of each device's part, in the order of the devices."""
        parts = []
        cuts = self._cuts(values.shape)
        for coordinate in product(*[range(size) for size in self.axes]):
            part = values
            for index, (dim, length) in zip(coordinate, cuts, strict=True):
                if dim is not None:
                    start = index * length
                    part = part[(slice(None),) * dim + (slice(start, start + length),)]
            parts.append(part)
        return parts

    def _cuts(self, shape: tuple[int, ...]) -> list[tuple[int | None, int]]:
        """Return for each axis of the mesh the dimension it cuts and the size of a part."""
        sizes = list(shape)
        cuts: list[tuple[int | None, int]] = []
        for count, given in zip(self.axes, self.dims, strict=True):
            if given is None:
                cuts.append((None, 0))
                continue
            dim = checked_dim(given, len(shape))
            if sizes[dim] % count:
                raise wrong(
                    f"dimension {dim} of the shape {tuple(shape)} cannot be cut into {count} equal "
                    "parts, one a device",
                    "pad the tensor, or use a mesh with another number of devices",
                )
            sizes[dim] //= count
            cuts.append((dim, sizes[dim]))
        return cuts


class MeshComposer(_DimsOfAxes):
    """Along which dimension the parts of each axis of the mesh are joined."""

    __slots__ = ()

    def join(self, parts: Sequence[Array]) -> Array:
        """The whole: the parts of the last axis are joined first."""
        joined = list(parts)
        for count, dim in zip(reversed(self.axes), reversed(self.dims), strict=True):
            if count == 1:
                continue
            axis = checked_dim(dim, joined[0].ndim)
            joined = [
                np.concatenate(joined[start : start + count], axis)
                for start in range(0, len(joined), count)
            ]
        return joined[0]


# Names of the real ttnn, old and new --------------------------------------------------------------


def shard_tensor_to_mesh_mapper(mesh_device: Any, dim: int) -> MeshMapper:
    """One part of dimension `dim` for each device."""
    return MeshMapper(mesh_device, (checked_mesh(mesh_device).num_devices,), (dim,))


def replicate_tensor_to_mesh_mapper(mesh_device: Any) -> MeshMapper:
    """The whole tensor on each device."""
    return MeshMapper(mesh_device, (checked_mesh(mesh_device).num_devices,), (None,))


def create_mesh_mapper(mesh_device: Any, config: MeshMapperConfig) -> MeshMapper:
    dims = []
    for placement in config.placements:
        if not isinstance(placement, (PlacementShard, PlacementReplicate)):
            raise wrong_type("placement", placement, "a PlacementShard or PlacementReplicate")
        dims.append(placement.dim if isinstance(placement, PlacementShard) else None)
    axes = config.mesh_shape_override or _default_axes(mesh_device, len(dims))
    return MeshMapper(mesh_device, axes, dims)


def concat_mesh_to_tensor_composer(mesh_device: Any, dim: int) -> MeshComposer:
    """The parts of all devices joined along `dim`."""
    return MeshComposer(mesh_device, (checked_mesh(mesh_device).num_devices,), (dim,))


def create_mesh_composer(mesh_device: Any, config: MeshComposerConfig) -> MeshComposer:
    dims = list(config.dims)
    axes = config.mesh_shape_override or _default_axes(mesh_device, len(dims))
    return MeshComposer(mesh_device, axes, dims)


def ShardTensorToMesh(mesh_device: Any = None, dim: int = 0, *, mesh: Any = None) -> MeshMapper:
    return shard_tensor_to_mesh_mapper(mesh_device or mesh, dim)


def ReplicateTensorToMesh(mesh_device: Any = None, *, mesh: Any = None) -> MeshMapper:
    return replicate_tensor_to_mesh_mapper(mesh_device or mesh)


def ShardTensor2dMesh(
    mesh_device: Any = None, mesh_shape: Any = None, dims: Any = (None, None), *, mesh: Any = None
) -> MeshMapper:
    """Rows of the mesh cut dims[0], columns dims[1]; None: copies."""
    devices = checked_mesh(mesh_device or mesh)
    return MeshMapper(devices, devices.shape if mesh_shape is None else mesh_shape, dims)


def ConcatMeshToTensor(mesh_device: Any = None, dim: int = 0, *, mesh: Any = None) -> MeshComposer:
    return concat_mesh_to_tensor_composer(mesh_device or mesh, dim)


def ConcatMesh2dToTensor(
    mesh_device: Any = None, mesh_shape: Any = None, dims: Any = (0, 1), *, mesh: Any = None
) -> MeshComposer:
    """Rows of the mesh joined along dims[0], columns along dims[1]."""
    devices = checked_mesh(mesh_device or mesh)
    return MeshComposer(devices, devices.shape if mesh_shape is None else mesh_shape, dims)


def _default_axes(mesh: Any, count: int) -> tuple[int, ...]:
    devices = checked_mesh(mesh)
    return (devices.num_devices,) if count == 1 else tuple(devices.shape)


def _axes(mesh: MeshDevice, axes: Any) -> tuple[int, ...]:
    if not isinstance(axes, (tuple, list)):
        raise wrong_type("mesh_shape", axes, "the shape of a mesh")
    sizes = MeshShape(*axes)
    if sizes.mesh_size() != mesh.num_devices:
        raise wrong(
            f"mesh_shape={tuple(sizes)} is for {sizes.mesh_size()} devices, the mesh has "
            f"{mesh.num_devices}",
            f"use {tuple(mesh.shape)}",
        )
    return tuple(sizes)


def _one_for_each(dims: Any, axes: tuple[int, ...]) -> tuple[Any, ...]:
    if not isinstance(dims, (tuple, list)) or len(dims) != len(axes):
        raise wrong(
            f"dims={dims!r}: not one dimension for each of the {len(axes)} axes of the mesh",
            "give a dimension of the tensor, or None, for each",
        )
    return tuple(dims)
