"""Converts arrays of numpy and torch to tensors and back. Copies elements once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttl.semantics.dtypes import (
    NARROW,
    Array,
    DType,
    as_dtype,
    bfloat16,
    dtype_of_array,
    uint8,
    uint16,
    uint32,
)
from ttl.semantics.layout import TILE_LAYOUT, Layout

from .allocation import checked_device, layout_for, new_tensor
from .creation import filled
from .device import Device
from .distribution import MeshComposer, MeshMapper
from .faults import wrong, wrong_call, wrong_type
from .mesh import MeshDevice
from .mesh_tensor import MeshTensor, checked_tensor
from .shape import Shape
from .tensor import Tensor
from .tensor_spec import TensorSpec

__all__ = [
    "aggregate_tensor",
    "as_tensor",
    "distribute_tensor",
    "from_buffer",
    "from_numpy",
    "from_torch",
    "to_numpy",
    "to_torch",
]


def from_numpy(
    array: Any,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    mesh_mapper: Any = None,
) -> Tensor:
    """A tensor with a copy of the array's elements, rounded to `dtype`; in tiles by default.

    The real ttnn does not have it: ttl.from_numpy() works with both.
    """
    values = np.asarray(array)
    if values.dtype.kind not in "fiub" and values.dtype != bfloat16.storage:
        raise wrong_call(f"an array of {values.dtype} has no numbers", "pass an array of numbers")
    arranged = TILE_LAYOUT if layout is None else layout
    kind = dtype or _dtype_of(values)
    return _uploaded(values, kind, arranged, device, memory_config, mesh_mapper)


def _uploaded(
    values: Array, dtype: Any, layout: Any, device: Any, memory_config: Any, mapper: Any
) -> Tensor:
    kind = as_dtype(dtype)
    if kind in NARROW and values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            values = np.trunc(values).astype(np.int64)  # numbers that are too large wrap around
    if mapper is not None:
        arranged = layout_for(dtype, layout)
        return _distributed(values, dtype, arranged, device, memory_config, mapper)
    return filled(values.shape, values, dtype, layout, device, memory_config)


def made_by_constructor(tensor: Any = None, *args: Any, data: Any = None, **options: Any) -> Tensor:
    """Implement the forms of `ttnn.Tensor(...)`: a tensor, an array, a list with a shape."""
    given = tensor if data is None else data
    if isinstance(given, Tensor):
        from .allocation import alias

        return alias(given)
    if isinstance(given, (list, tuple)):
        return _of_numbers(given, *args, **options)
    if not isinstance(given, np.ndarray) and not _is_torch(given):
        raise wrong_type(
            "tensor",
            given,
            "an array or a list",
            "write ttnn.Tensor(array, dtype, device, layout, memory_config) or "
            "ttnn.Tensor(numbers, shape, dtype, layout)",
        )
    return _of_array(given, *args, **options)


def _of_numbers(
    data: Any,
    shape: Any,
    data_type: DType,
    layout: Layout,
    device: Any = None,
    memory_config: Any = None,
    tile: Any = None,
    pad_value: float = 0.0,
) -> Tensor:
    values = np.asarray(data)
    sizes = Shape(shape)
    if values.dtype.kind not in "fiub" or values.size != np.prod(tuple(sizes), dtype=int):
        raise wrong(
            f"{values.size} numbers do not make a tensor of shape {sizes}",
            "give as many numbers as the shape has elements",
        )
    return _uploaded(values.reshape(tuple(sizes)), data_type, layout, device, memory_config, None)


def _of_array(
    tensor: Any,
    data_type: DType | None = None,
    device: Any = None,
    layout: Layout | None = None,
    mem_config: Any = None,
    tile: Any = None,
    cq_id: int | None = None,
    pad_value: float | None = None,
    mesh_mapper: Any = None,
    preserve_nan_values: bool = False,
    col_tilize: bool = False,
    enable_bfloat_opt: bool = False,
) -> Tensor:
    values, own = _torch_values(tensor)
    if values.dtype in (np.float64, np.float16):
        raise wrong(
            f"ttnn.Tensor() of an array of {values.dtype}",
            "convert it first: array.astype(np.float32)",
        )
    kind = data_type or own or _dtype_of(values)
    return _uploaded(values, kind, layout, device, mem_config, mesh_mapper)


def from_buffer(
    buffer: Any,
    shape: Any,
    dtype: DType,
    device: Any,
    layout: Layout | None = None,
    memory_config: Any = None,
) -> Tensor:
    """A tensor on a device of a list of numbers."""
    kind = layout_for(dtype, layout)
    return _of_numbers(buffer, shape, dtype, kind, device, memory_config)


def _distributed(
    values: Array, dtype: Any, layout: Any, device: Any, memory_config: Any, mapper: Any
) -> Tensor:
    """Make a tensor of each device's part of the array, cut by the mapper."""
    if not isinstance(mapper, MeshMapper):
        raise wrong_type(
            "mesh_mapper",
            mapper,
            "a mesh mapper",
            "use for example ttnn.ShardTensorToMesh(mesh, dim=0)",
        )
    checked_device(mapper.mesh)
    place = checked_device(device)
    if isinstance(place, Device) and mapper.mesh.devices == (place,):
        return filled(values.shape, values, dtype, layout, place, memory_config)
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


def to_numpy(tensor: Tensor, mesh_composer: Any = None) -> NDArray[Any]:
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
            "mesh_composer",
            mesh_composer,
            "a mesh composer",
            "use for example ttnn.ConcatMeshToTensor(mesh, dim=0)",
        )
    if len(found.shards) != mesh_composer.mesh.num_devices:
        raise wrong(
            f"the composer is for {mesh_composer.mesh.num_devices} devices, the tensor lies on "
            f"{len(found.shards)}"
        )
    joined = mesh_composer.join([shard.storage.logical for shard in found.shards])
    # A single part is still the tensor's own memory.
    return joined.copy() if len(found.shards) == 1 else joined


def from_torch(
    tensor: Any,
    dtype: DType | None = None,
    *,
    spec: TensorSpec | None = None,
    tile: Any = None,
    pad_value: float | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    mesh_mapper: Any = None,
    cq_id: int | None = None,
    preserve_nan_values: bool = False,
    col_tilize: bool = False,
    enable_bfloat_opt: bool = False,
) -> Any:
    """A tensor with a copy of a torch tensor's elements, or an array's, rounded to `dtype`.

    None gives None. Without `layout` it is in rows, of block floats in tiles. Padding is always
    zero. `tile` and the keywords from `cq_id` on have no meaning here.
    """
    if tensor is None:
        return None
    values, own = _torch_values(tensor)
    if spec is not None:
        if not isinstance(spec, TensorSpec):
            raise wrong_type("spec", spec, "a ttnn.TensorSpec")
        _check_spec(spec, values.shape, dtype, layout, memory_config)
        dtype, layout, memory_config = spec.dtype or dtype, spec.layout, spec.memory_config
    kind = dtype or own or _dtype_of(values)
    result = _uploaded(values, kind, layout, device, memory_config, mesh_mapper)
    if pad_value and result.padded_shape != result.shape:
        raise wrong(
            f"pad_value={pad_value!r}: padding is zero here",
            "pad the torch tensor itself, or mask the padding in the kernel",
        )
    return result


def _torch_values(tensor: Any) -> tuple[Array, DType | None]:
    """Return the elements as an array in the tensor's own memory, and their element type if numpy
    does not have it.
    """
    if isinstance(tensor, np.ndarray):  # the real ttnn accepts it, too
        return tensor, None
    if not _is_torch(tensor):
        raise wrong_call(f"from_torch() takes a torch tensor, not a {type(tensor).__name__}")
    plain = tensor.detach().cpu()
    if str(plain.dtype) != "torch.bfloat16":
        return plain.numpy(), None
    # torch cannot pass bfloat16 to numpy, only its bits as integers.
    import torch  # type: ignore[import-not-found,unused-ignore]

    return plain.view(torch.int16).numpy().view(ml_dtypes.bfloat16), bfloat16


def _is_torch(tensor: Any) -> bool:
    """Is it a torch.Tensor, or a subclass such as Parameter? Does not import torch."""
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
    cache_dump_mode: Any = None,
) -> Any:
    """As from_torch(); nothing is kept in files."""
    values = tensor if preprocess is None else preprocess(tensor)
    return from_torch(
        values,
        dtype,
        layout=layout,
        device=device,
        memory_config=memory_config,
        mesh_mapper=mesh_mapper,
    )


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
    values, config = source.storage.logical, source.memory_config()
    return _distributed(values, source.dtype, source.layout, place, config, mapper)


def aggregate_tensor(tensor: Tensor, composer: Any) -> Tensor:
    """A host tensor of the parts of all devices, joined."""
    source = checked_tensor(tensor, "aggregate_tensor")
    return from_numpy(to_numpy(source, composer), source.dtype, source.layout)


# The real ttnn's types for arrays of numbers that no element type has.
_NEAREST = {
    "int64": uint32,
    "uint64": uint32,
    "int16": uint16,
    "int8": uint8,
    "bool": uint8,
}


def _dtype_of(values: Array) -> DType:
    if (found := dtype_of_array(values)) is not None:
        return found
    if values.dtype.name in _NEAREST:
        return _NEAREST[values.dtype.name]
    raise wrong(
        f"an array of {values.dtype} does not say which element type the tensor should have",
        "pass dtype=, for example dtype=ttnn.bfloat16 or dtype=ttnn.int32",
    )
