"""What the programs of the gallery share: tensors from arrays, and the check against numpy."""

import sys

import numpy as np
import numpy.typing as npt
import ttnn

import ttl
from ttl.config import Config


def tensor(
    array: npt.ArrayLike,
    dtype: ttnn.DataType = ttnn.bfloat16,
    layout: ttnn.Layout = ttnn.TILE_LAYOUT,
) -> ttnn.Tensor:
    """A tensor on the device."""
    device = ttnn.open_device(device_id=0)
    return ttl.from_numpy(np.asarray(array), dtype=dtype, layout=layout, device=device)


def values(tensor: ttnn.Tensor) -> np.ndarray:
    """What a tensor holds, after rounding to its element type, as f32."""
    return ttl.to_numpy(tensor).astype(np.float32)


def agree(name: str, result: ttnn.Tensor, expected: np.ndarray, tolerance: float) -> None:
    """Compares a result with numpy's; the tolerance is a share of the largest value."""
    error = np.abs(values(result) - expected).max() / np.abs(expected).max()
    _report(name, error, tolerance, "largest error {:.3%} of the largest value")


def alike(name: str, result: ttnn.Tensor, expected: np.ndarray, share: float = 0.0) -> None:
    """Compares results that are whole numbers; a share of the elements may differ."""
    differing = np.mean(values(result) != expected)
    _report(name, differing, share, "{:.3%} of the elements differ")


def _report(name: str, found: float, allowed: float, text: str) -> None:
    if Config.current().estimate:
        return  # an estimate computes nothing
    print(f"{name}: {text.format(found)}")
    if not found <= allowed:
        sys.exit(f"{name} differs from numpy: more than {allowed:.3%}")
