"""Writes tensors to files and reads them, in our own format."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from ttl.semantics.dtypes import DTYPES
from ttl.semantics.layout import Layout

from .creation import filled
from .exchange import to_numpy
from .faults import wrong
from .mesh_tensor import checked_tensor
from .tensor import Tensor

__all__ = ["dump_tensor", "load_tensor"]

Name = str | PathLike[str]


def dump_tensor(file_name: Name, tensor: Tensor, *, mode: Any = None) -> None:
    """Write a tensor to a file."""
    found = checked_tensor(tensor, "dump_tensor")
    values = to_numpy(found)
    with open(file_name, "wb") as file:
        np.savez(
            file,
            values=values.astype(np.float32) if found.dtype.is_float else values,
            kind=np.array([found.dtype.spelling, found.layout.name]),
        )


def load_tensor(file_name: Name, *, device: Any = None) -> Tensor:
    """The tensor of a file, on the host or on a device."""
    try:
        with np.load(file_name) as content:
            values, (dtype, layout) = content["values"], content["kind"].tolist()
    except (OSError, ValueError, KeyError) as error:
        raise wrong(
            f"{file_name} holds no tensor: {error}",
            "name a file that ttnn.dump_tensor() has written",
        ) from None
    return filled(values.shape, values, DTYPES[dtype], Layout[layout], device, None)
