"""What the programs of the gallery share: tensors from arrays, and the check against numpy."""

import sys

import numpy as np
import ttnn

import ttl
from ttl.config import Config


def tensor(array, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT):
    """A tensor on the device."""
    device = ttnn.open_device(device_id=0)
    return ttl.from_numpy(np.asarray(array), dtype=dtype, layout=layout, device=device)


def values(tensor):
    """What a tensor holds, after rounding to its element type, as f32."""
    return ttl.to_numpy(tensor).astype(np.float32)


def agree(name, result, expected, tolerance):
    """Compares a result with numpy's; the tolerance is a share of the largest value."""
    error = np.abs(values(result) - expected).max() / np.abs(expected).max()
    _report(name, error, tolerance, "largest error {:.3%} of the largest value")


def alike(name, result, expected, share=0.0):
    """Compares results that are whole numbers; a share of the elements may differ."""
    differing = np.mean(values(result) != expected)
    _report(name, differing, share, "{:.3%} of the elements differ")


def _report(name, found, allowed, text):
    if Config.current().estimate:
        return  # an estimate computes nothing
    print(f"{name}: {text.format(found)}")
    if not found <= allowed:
        sys.exit(f"{name} differs from numpy: more than {allowed:.3%}")
