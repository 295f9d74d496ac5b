"""Tensors in the memory of the host: they are computed on a device all the same.

Those of the embedded ttnn have their elements in the same memory wherever they are; they become
tiles if the program has not chosen a layout. Those of the real one visit the device of the other
tensors, or the default one, and come back.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ttl.diagnostics import Diagnostic, Label, codes
from ttl.diagnostics.frames import calling_span
from ttl.language.operation import Program
from ttl.semantics.dtypes import find_dtype
from ttl.semantics.tensors import device_of
from ttl.ttnn.moves import make_tiles
from ttl.ttnn.tensor import Tensor

from .backend import is_real

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@contextmanager
def placed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Arguments]:
    """The arguments, with copies on the device for real tensors of the host."""
    tensors = [value for value in (*args, *kwargs.values()) if find_dtype(value) is not None]
    for tensor in tensors:
        if isinstance(tensor, Tensor) and tensor.device() is None and not tensor.is_layout_chosen:
            make_tiles(tensor)
    visitors = [tensor for tensor in tensors if is_real(tensor) and tensor.device() is None]
    device = _device(tensors) if visitors else None
    if device is None:  # where there is none, the check of the arguments tells
        yield args, kwargs
        return
    ttnn = _module_of(visitors[0])
    copies = {id(tensor): ttnn.to_device(tensor, device) for tensor in visitors}
    yield (
        tuple([copies.get(id(value), value) for value in args]),
        {name: copies.get(id(value), value) for name, value in kwargs.items()},
    )
    for tensor in visitors:
        ttnn.copy_device_to_host_tensor(copies[id(tensor)], tensor)


def _device(tensors: list[Any]) -> Any:
    on_device = (tensor.device() for tensor in tensors if tensor.device() is not None)
    default = getattr(_module_of(tensors[0]), "GetDefaultDevice", lambda: None)
    return next(on_device, None) or default()


def _module_of(tensor: object) -> Any:
    return sys.modules[type(tensor).__module__.partition(".")[0]]


def host_note(program: Program, has_visitors: bool) -> Diagnostic | None:
    """Make the note about a call that takes host tensors, or whose kernels capture some."""
    if not has_visitors and None not in map(device_of, program.tensors.values()):
        return None
    span = calling_span()
    return Diagnostic(
        codes.HOST_TENSOR,
        f"`{program.operation.__name__}` is given host tensors: it runs on the default device",
        None if span is None else Label(span),
        helps=(
            "make them with layout=ttnn.TILE_LAYOUT, device=ttnn.open_device(device_id=0): without "
            "a layout they are converted to tiles",
        ),
    )
