"""A call with tensors of a mesh: the same program on every device, each on its own part."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from ttl.diagnostics import RuleBroken, TTLError, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.language import Operation
from ttl.ttnn.mesh import MeshDevice
from ttl.ttnn.mesh_tensor import MeshTensor
from ttl.ttnn.tensor import Tensor

Call = tuple[tuple[Any, ...], dict[str, Any]]


def mesh_of(
    operation: Operation, args: tuple[object, ...], kwargs: dict[str, object]
) -> MeshDevice | None:
    """The mesh that all tensors of the call are spread over; None if none of them is."""
    spread = [value for value in (*args, *kwargs.values()) if isinstance(value, MeshTensor)]
    if not spread:
        return None
    for name, value in _named(operation, args, kwargs):
        if isinstance(value, Tensor) and getattr(value, "mesh", None) is not spread[0].mesh:
            raise UsageError(_elsewhere(operation, name, value, spread[0]).at(calling_span()))
    return spread[0].mesh


def calls_by_device(
    mesh: MeshDevice, args: tuple[object, ...], kwargs: dict[str, object]
) -> Iterator[Call]:
    """The arguments of each device's call, its parts in place of the tensors."""
    for index in range(mesh.num_devices):
        yield (
            tuple([_part(value, index) for value in args]),
            {name: _part(value, index) for name, value in kwargs.items()},
        )


def on_device(error: TTLError, mesh: MeshDevice, index: int) -> TTLError:
    """The error of one device's run, which it names."""
    coordinate = divmod(index, mesh.shape.cols)
    return error.with_note(f"on device {mesh.devices[index].id()} of {mesh}, at {coordinate}")


def _part(value: Any, index: int) -> Any:
    return value.shards[index] if isinstance(value, MeshTensor) else value


def _named(
    operation: Operation, args: tuple[object, ...], kwargs: dict[str, object]
) -> Iterator[tuple[str, Any]]:
    names = list(inspect.signature(operation.function).parameters)
    yield from zip(names, args, strict=False)
    yield from kwargs.items()


def _elsewhere(operation: Operation, name: str, tensor: Tensor, spread: MeshTensor) -> RuleBroken:
    where = "another mesh" if isinstance(tensor, MeshTensor) else "no mesh"
    return codes.UNUSABLE_TENSOR.broken(
        f"argument `{name}` of {operation.__name__} is on {where}, others are on {spread.mesh}",
        "put all tensors of the call on one mesh; mesh_mapper=ttnn.ReplicateTensorToMesh(mesh) "
        "gives each device a copy",
    )
