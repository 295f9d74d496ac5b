"""Tensors from arrays of numpy and torch, and back. Elements are copied once on the way."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ttl.semantics.dtypes import Array, DType, bfloat16, dtype_of_array
from ttl.semantics.layout import TILE_LAYOUT, Layout

from .allocation import checked_device, new_tensor
from .creation import filled
from .distribution import MeshComposer, MeshMapper
from .faults import wrong, wrong_type
from .mesh import MeshDevice
from .mesh_tensor import MeshTensor, checked_tensor
from .shape import Shape
from .tensor import Tensor
from .tensor_spec import TensorSpec

__all__ = [
    "aggregate_tensor", "as_tensor", "distribute_tensor", "from_numpy", "from_torch", "to_numpy",
    "to_torch",
]  # fmt: skip


def from_numpy(
    array: Any,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    mesh_mapper: Any = None,
) -> Tensor:
    """A tensor with a copy of the array's elements, rounded to `dtype`.

    The real ttnn has no from_numpy(): ttl.from_numpy() works with both.
    """
    values = np.asarray(array)
    if not _is_number(values.dtype):
        raise wrong(f"an array of {values.dtype} has no numbers", "pass an array of numbers")
    arranged = TILE_LAYOUT if layout is None else layout
    kind = dtype or _dtype_of(values)
    if mesh_mapper is not None:
        return _distributed(values, kind, arranged, device, memory_config, mesh_mapper)
    return filled(values.shape, values, kind, arranged, device, memory_config)


def _distributed(
    values: Array, dtype: Any, layout: Any, device: Any, memory_config: Any, mapper: Any
) -> Tensor:
    """Each device's part of the array, as the mapper cuts it."""
    if not isinstance(mapper, MeshMapper):
        raise wrong_type(
            "mesh_mapper", mapper, "a mesh mapper",
            "use for example ttnn.ShardTensorToMesh(mesh, dim=0)",
        )  # fmt: skip
    checked_device(mapper.mesh)
    place = checked_device(device)
    if place is not None and place is not mapper.mesh:
        raise wrong(
            f"the mapper is for {mapper.mesh}, the device is {place}",
            "give the same mesh to both",
        )
    devices = [None] * mapper.mesh.num_devices if place is None else mapper.mesh.devices
    parts = []
    for part, found in zip(mapper.parts(values), devices, strict=True):
        tensor = new_tensor(part.shape, dtype, layout, found, memory_config)
        tensor.storage.fill(part)
        parts.append(tensor)
    return MeshTensor(mapper.mesh, parts)


def to_numpy(tensor: Tensor, mesh_composer: Any = None) -> Array:
    """A fresh array of the tensor's elements, without padding, in the tensor's own type.

    numpy has no block floats: they come as float32. The parts of several devices are joined by a
    mesh composer. The real ttnn has no to_numpy(): ttl.to_numpy() works with both.
    """
    found = checked_tensor(tensor, "to_numpy")
    if mesh_composer is None:
        whole = found.shards[0] if len(found.shards) == 1 else found
        return whole.storage.logical.copy()
    if not isinstance(mesh_composer, MeshComposer):
        raise wrong_type(
            "mesh_composer", mesh_composer, "a mesh composer",
            "use for example ttnn.ConcatMeshToTensor(mesh, dim=0)",
        )  # fmt: skip
    if len(found.shards) != mesh_composer.mesh.num_devices:
        raise wrong(
            f"the composer is for {mesh_composer.mesh.num_devices} devices, the tensor lies on "
            f"{len(found.shards)}"
        )
    joined = mesh_composer.join([shard.storage.logical for shard in found.shards])
    # A single part is not joined with anything: it is still the tensor's own memory.
    return joined.copy() if len(found.shards) == 1 else joined


def from_torch(
    tensor: Any,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    mesh_mapper: Any = None,
    spec: TensorSpec | None = None,
    *,
    pad_value: float | None = None,
    tile: Any = None,
    cq_id: int | None = None,
    preserve_nan_values: bool = False,
) -> Any:
    """A tensor with a copy of a torch tensor's elements, or an array's, rounded to `dtype`.

    None gives None. Padding is always zero. `tile`, `cq_id` and `preserve_nan_values` have no
    meaning here.
    """
    if tensor is None:
        return None
    values, own = _torch_values(tensor)
    if spec is not None:
        if not isinstance(spec, TensorSpec):
            raise wrong_type("spec", spec, "a ttnn.TensorSpec")
        _check_spec(spec, values.shape, dtype, layout, memory_config)
        dtype, layout, memory_config = spec.dtype or dtype, spec.layout, spec.memory_config
    result = from_numpy(values, dtype or own, layout, device, memory_config, mesh_mapper)
    if pad_value and result.padded_shape != result.shape:
        raise wrong(
            f"pad_value={pad_value!r}: padding is zero here",
            "pad the torch tensor itself, or mask the padding in the kernel",
        )
    return result


def _torch_values(tensor: Any) -> tuple[Array, DType | None]:
    """The elements as an array in the tensor's own memory, and their element type if numpy
    does not know it.
    """
    if isinstance(tensor, np.ndarray):  # taken by the real one, too
        return tensor, None
    if not _is_torch(tensor):
        raise wrong(f"from_torch() takes a torch tensor, not a {type(tensor).__name__}")
    plain = tensor.detach().cpu()
    if str(plain.dtype) != "torch.bfloat16":
        return plain.numpy(), None
    # torch hands no bfloat16 to numpy: the same bits as integers it does.
    import torch  # type: ignore[import-not-found,unused-ignore]

    return plain.view(torch.int16).numpy().view(ml_dtypes.bfloat16), bfloat16


def _is_torch(tensor: Any) -> bool:
    """Of torch or a subclass of it, as Parameter is; without importing torch to find out."""
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(tensor).__mro__)


def _check_spec(
    spec: TensorSpec, shape: tuple[int, ...], dtype: Any, layout: Any, memory_config: Any
) -> None:
    if tuple(spec.shape) != tuple(shape):
        raise wrong(f"the spec is for the shape {spec.shape}, the tensor has {tuple(shape)}")
    pairs = (
        ("dtype", dtype, spec.dtype),
        ("layout", layout, spec.layout),
        ("memory_config", memory_config, spec.memory_config),
    )
    for name, given, in_spec in pairs:
        if given is not None and in_spec is not None and given != in_spec:
            raise wrong(
                f"{name}={given} is given beside a spec that says {in_spec}",
                f"leave {name}= out, or say it in the spec",
            )


def as_tensor(
    tensor: Any,
    dtype: DType | None = None,
    *,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    cache_file_name: Any = None,
    preprocess: Any = None,
    mesh_mapper: Any = None,
) -> Any:
    """As from_torch(); nothing is kept in files."""
    values = tensor if preprocess is None else preprocess(tensor)
    return from_torch(values, dtype, layout, device, memory_config, mesh_mapper)


def to_torch(
    tensor: Tensor,
    dtype: Any = None,
    *,
    torch_rank: int | None = None,
    mesh_composer: Any = None,
    device: Any = None,
    cq_id: int | None = None,
) -> Any:
    """A torch tensor of the elements, without padding; block floats come as float32.

    `dtype` is the torch type to convert to. `torch_rank` drops leading dimensions of size one.
    """
    array = to_numpy(checked_tensor(tensor, "to_torch"), mesh_composer)
    if torch_rank is not None:
        array = array.reshape(Shape(array.shape).to_rank(min(torch_rank, array.ndim)))
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        raise wrong("to_torch() needs torch", "install it, or use ttl.to_numpy()") from None

    if array.dtype == ml_dtypes.bfloat16:
        result = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        result = torch.from_numpy(array)
    return result if dtype is None else result.to(dtype)


def distribute_tensor(tensor: Tensor, mapper: Any, mesh_device: MeshDevice | None = None) -> Tensor:
    """A host tensor spread over a mesh."""
    source = checked_tensor(tensor, "distribute_tensor")
    place = mesh_device if mesh_device is not None else getattr(mapper, "mesh", None)
    values, config = source.storage.logical, source.memory_config
    return _distributed(values, source.dtype, source.layout, place, config, mapper)


def aggregate_tensor(tensor: Tensor, composer: Any) -> Tensor:
    """A host tensor of the parts of all devices, joined."""
    source = checked_tensor(tensor, "aggregate_tensor")
    return from_numpy(to_numpy(source, composer), source.dtype, source.layout)


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fiub" or dtype == bfloat16.storage


def _dtype_of(values: Array) -> DType:
    if (found := dtype_of_array(values)) is not None:
        return found
    raise wrong(
        f"an array of {values.dtype} does not say which element type the tensor should have",
        "pass dtype=, for example dtype=ttnn.bfloat16 or dtype=ttnn.int32",
    )
