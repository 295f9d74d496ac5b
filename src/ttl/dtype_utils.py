"""Element types by the names of others, as programs for the public tools ask for them.

They are those of the ttnn that the program imports, the embedded or the real one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ttl.semantics.dtypes import DTYPES


def is_ttnn_tensor(tensor: object) -> bool:
    return isinstance(tensor, import_module("ttnn").Tensor)


def torch_dtype_to_ttnn_datatype(torch_dtype: object) -> Any:
    """ValueError if ttnn has no such type."""
    return format_name_to_ttnn_dtype(str(torch_dtype).removeprefix("torch."))


def format_name_to_ttnn_dtype(name: str) -> Any:
    """The element type that is called "bfloat16", "float32" and so on; ValueError if none is."""
    found = getattr(import_module("ttnn"), name, None) if name in DTYPES else None
    if found is None:
        raise ValueError(f"{name!r} is not an element type of ttnn, as {', '.join(DTYPES)} are")
    return found


def tile_bytes_from_dtype(dtype: Any) -> int:
    """The bytes of a tile; ValueError if it is not an element type of ttnn."""
    name = str(getattr(dtype, "name", dtype)).lower()
    if name not in DTYPES:
        raise ValueError(f"{dtype!r} is not an element type of ttnn, as {', '.join(DTYPES)} are")
    return DTYPES[name].tile_bytes
