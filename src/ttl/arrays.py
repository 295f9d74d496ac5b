"""Converts numpy arrays to ttnn tensors and back, with the embedded ttnn and the real one.

The real ttnn has no from_numpy(), and its Tensor.to_numpy() gives no usable array of bfloat16.
These functions round as the embedded ttnn does, so a program starts from equal numbers in both, and
need no torch.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ttl.diagnostics import UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.dtypes import Array, DType, as_dtype, dtype_of_array, find_dtype, round_to
from ttl.semantics.layout import TILE_LAYOUT, Layout, as_layout

if TYPE_CHECKING:
    from ttl.ttnn import Tensor

__all__ = ["from_numpy", "to_numpy"]


def from_numpy(
    array: object,
    dtype: object = None,
    layout: object = None,
    device: object = None,
    memory_config: object = None,
    mesh_mapper: object = None,
) -> Tensor:
    """Make a tensor with a copy of the array's elements, rounded to `dtype`.

    The tensor belongs to the ttnn of `device`, `memory_config` and `dtype`; without these, to the
    one that `import ttnn` gives. The default layout is TILE_LAYOUT, the default element type the
    array's, float32 for float64. Without a device the tensor is on the host.
    """
    values = np.asarray(array)
    if values.dtype.kind not in "fiub" and dtype_of_array(values) is None:
        raise _wrong(f"an array of {values.dtype} has no numbers", "pass an array of numbers")
    kind, arranged = _element_type(values, dtype), _layout(layout)
    if kind.is_block_float and arranged is not TILE_LAYOUT:
        raise _wrong(f"{kind} is only in tiles", "leave layout= out")
    ttnn = _home(device, memory_config, dtype)
    made: Tensor  # for type checkers; it may be one of the real ttnn
    if _is_embedded(ttnn):
        mapper = {} if mesh_mapper is None else {"mesh_mapper": mesh_mapper}
        made = ttnn.from_numpy(values, kind, arranged, device, memory_config, **mapper)
        return made
    options = {} if mesh_mapper is None else {"mesh_mapper": _plain(mesh_mapper)}
    if device is None:
        made = _real_tensor(ttnn, values, kind, arranged, mem_config=memory_config, **options)
    else:
        host = _real_tensor(ttnn, values, kind, arranged, **options)
        made = ttnn.to_device(host, device, memory_config=memory_config)
    return made


def to_numpy(tensor: Any, mesh_composer: object = None) -> Array:
    """Return a new array of the tensor's elements, without padding, in the tensor's own type.

    bfloat16 is ml_dtypes'. Block floats become float32, since numpy has none. A mesh composer joins
    the parts of several devices.
    """
    kind = find_dtype(tensor)
    if kind is None or not hasattr(tensor, "layout"):
        raise _wrong(f"to_numpy() takes a tensor of ttnn, not a {type(tensor).__name__}")
    ttnn = _home(tensor)
    if _is_embedded(ttnn):
        found: Array = ttnn.to_numpy(tensor, mesh_composer)
        return found
    if not tensor.is_allocated():
        raise _wrong("the tensor is deallocated", "read it before ttnn.deallocate(tensor)")
    host = tensor if tensor.device() is None else tensor.cpu()
    if kind.is_float:
        host = ttnn.to_dtype(host, ttnn.float32)
    return np.array(host.to_numpy(mesh_composer), kind.storage)


# ttnn ---------------------------------------------------------------------------------------------


def _home(*values: object) -> ModuleType:
    """Return the ttnn module of the first value that has one, else the one programs import."""
    for value in values:
        package = type(value).__module__.partition(".")[0]
        if package == "ttl":
            return import_module("ttl.ttnn")
        if hasattr(sys.modules.get(package), "to_device"):
            return sys.modules[package]
    return import_module("ttnn")


def _is_embedded(ttnn: object) -> bool:
    return ttnn is sys.modules.get("ttl.ttnn")


def _plain(mapper: object) -> object:
    """Unwrap a mesh mapper: the one that copies to every device has a Python wrapper."""
    return mapper.unwrap() if hasattr(mapper, "unwrap") else mapper


def _real_tensor(
    ttnn: ModuleType, values: Array, kind: DType, layout: Layout, **options: object
) -> Any:
    """Make a host tensor of the real ttnn, from numbers that ttnn need not round."""
    element_type = getattr(ttnn, kind.name.lower(), None)
    if element_type is None:
        raise _wrong(f"the installed ttnn has no {kind}", "use bfloat16 or float32")
    storage = np.dtype(np.float32) if kind.is_float else kind.storage
    numbers = np.ascontiguousarray(round_to(values, kind), storage).reshape(values.shape)
    arranged = ttnn.TILE_LAYOUT if layout is TILE_LAYOUT else ttnn.ROW_MAJOR_LAYOUT
    return ttnn.Tensor(numbers, element_type, layout=arranged, **options)


# Arguments ----------------------------------------------------------------------------------------


def _element_type(values: Array, dtype: object) -> DType:
    found = dtype_of_array(values) if dtype is None else as_dtype(dtype)
    if found is not None:
        return found
    helps = "pass dtype=, for example dtype=ttnn.bfloat16 or dtype=ttnn.int32"
    if dtype is not None:
        raise _wrong(f"dtype={dtype!r}: not an element type", helps)
    which = "does not say which element type the tensor should have"
    raise _wrong(f"an array of {values.dtype} {which}", helps)


def _layout(layout: object) -> Layout:
    found = TILE_LAYOUT if layout is None else as_layout(layout)
    if found is None:
        raise _wrong(f"layout={layout!r}: not a layout", "use ttnn.TILE_LAYOUT")
    return found


def _wrong(message: str, *helps: str) -> UsageError:
    return UsageError(codes.WRONG_ARGUMENT.broken(message, *helps).at(calling_span()))
