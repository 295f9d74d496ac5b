"""Calls an operation with tensors of the real ttnn that are on no device, and prints what it gets.

Run by the real ttnn's Python.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import ttnn

import ttl
from ttl.device.plan import TTNN_DTYPES
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.layout import layout_of


@ttl.operation(grid=(1, 1))
def nothing(a, b):  # type: ignore[no-untyped-def]
    pass


def main() -> None:
    array = np.zeros((64, 32), np.float32)
    tiles = ttnn.Tensor(array, ttnn.float32, layout=ttnn.TILE_LAYOUT)
    rows = ttnn.Tensor(array, ttnn.uint32, layout=ttnn.ROW_MAJOR_LAYOUT)
    for tensor in (tiles, rows):
        print(f"{dtype_of(tensor)}", layout_of(tensor).name, tuple(tensor.shape))
    types = [getattr(ttnn, name) for name in TTNN_DTYPES.values()]
    print(*(f"{dtype_of(SimpleNamespace(dtype=dtype))}" for dtype in types))
    try:
        nothing(tiles, rows)
    except ttl.TTLError as error:
        print(error.diagnostics[0].message)


if __name__ == "__main__":
    main()
