"""Tensors distributed over a mesh: one tensor for each device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .faults import wrong, wrong_call, wrong_type
from .mesh import MeshDevice
from .storage import NoStorage
from .tensor import Tensor

__all__ = ["combine_device_tensors", "get_device_tensors"]


class MeshTensor(Tensor):
    """A tensor of a mesh. `shape` and all the rest are those of each device's part."""

    __slots__ = ("_shards", "mesh")

    def __init__(self, mesh: MeshDevice, shards: Sequence[Tensor]):
        first = shards[0]
        self.mesh = mesh
        self._shards = tuple(shards)
        self.shape = first.shape
        self.dtype = first.dtype
        self.layout = first.layout
        self.config = first.config
        self.is_layout_chosen = True
        self._device = None
        self.storage = NoStorage(
            f"{self} is spread over {len(self._shards)} devices",
            "give mesh_composer=ttnn.ConcatMeshToTensor(mesh, dim) or ttnn.ConcatMesh2dToTensor("
            "mesh, mesh_shape, dims) to ttnn.to_torch(), or take ttnn.get_device_tensors(tensor)",
        )

    @property
    def shards(self) -> tuple[Tensor, ...]:
        return self._shards

    def device(self) -> MeshDevice | None:
        """The mesh; None while the parts lie in the memory of the host."""
        return None if self._shards[0].device() is None else self.mesh

    @property
    def l1_bytes(self) -> int:
        return max(shard.l1_bytes for shard in self._shards)

    def __format__(self, spec: str) -> str:
        kind = f"shape={self.shape}, dtype={self.dtype}, layout={self.layout.name}"
        return format(f"Tensor({len(self._shards)} devices, each {kind})", spec)


def get_device_tensors(tensor: Any) -> list[Tensor]:
    """The tensor of each device; they share their elements with the whole."""
    return list(checked_tensor(tensor, "get_device_tensors").shards)


def combine_device_tensors(tensors: Any) -> Tensor:
    """One tensor of a mesh, from a tensor of each of its devices in their order."""
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise wrong_type("tensors", tensors, "a list of tensors")
    parts = [checked_tensor(part, "combine_device_tensors") for part in tensors]
    devices = [part.device() for part in parts]
    if any(isinstance(part, MeshTensor) for part in parts) or None in devices:
        raise wrong("combine_device_tensors() takes tensors that each lie on one device")
    outlines = {(tuple(part.shape), part.dtype, part.layout) for part in parts}
    if len(outlines) > 1:
        raise wrong("the tensors of a mesh have one shape, element type and layout")
    from .mesh import MeshShape

    return MeshTensor(MeshDevice(MeshShape(1, len(parts)), devices), parts)  # type: ignore[arg-type]


def checked_tensor(value: object, function: str) -> Tensor:
    if not isinstance(value, Tensor):
        help_text = "an operation returns nothing: it writes its arguments" if value is None else ""
        raise wrong_call(
            f"{function}() takes a ttnn tensor, not a {type(value).__name__}", help_text
        )
    return value


def per_device(function: Callable[..., Any], *tensors: Tensor) -> Any:
    """Call a function of tensors for each device's parts.

    The function returns a tensor, or a list of tensors, which become tensors of the mesh.
    """
    mesh = common_mesh(tensors)
    if mesh is None:
        return function(*tensors)
    by_device = [function(*parts) for parts in zip(*[t.shards for t in tensors], strict=True)]
    if isinstance(by_device[0], list):
        return [MeshTensor(mesh, parts) for parts in zip(*by_device, strict=True)]
    return MeshTensor(mesh, by_device)


def common_mesh(tensors: Sequence[Tensor]) -> MeshDevice | None:
    """Return the mesh of all the tensors; None if none is distributed."""
    meshes = [t.mesh if isinstance(t, MeshTensor) else None for t in tensors]
    if all(mesh is meshes[0] for mesh in meshes):
        return meshes[0] if meshes else None
    raise wrong(
        "one tensor of the call is spread over a mesh, another is not or is spread over another",
        "make all tensors with a mesh mapper of one mesh, for example "
        "ttnn.ReplicateTensorToMesh(mesh)",
    )
