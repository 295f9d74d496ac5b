"""Shared parts of the programs here: inputs, the clock, the comparison and the line of figures.

Either simulator runs a program as it is. Arrays are numpy's; only where ttl has no `from_numpy`
do they pass through torch, which that simulator has loaded anyway. Grids are square, because one
simulator counts node coordinates columns first and the other rows first.
"""

import json
import os
import resource
import statistics
import sys
import time

import numpy as np
import ttnn

import ttl

WARM = int(os.environ.get("BENCH_WARM", "3"))  # number of calls after the first one
TOLERANCE = 0.01  # of the largest value expected: some steps of bfloat16, far below a lost block


def random_array(random, *shape):
    """Return values from -1 to 1 that bfloat16 represents exactly, for equal inputs in both."""
    array = random.integers(-64, 65, size=shape, dtype=np.int8).astype(np.float32)
    array /= 64
    return array


def measure(operation, inputs, output_shape, reference):
    """Run `operation(*tensors, output)` on new inputs for each call and print the figures.

    `inputs(random)` makes the arrays, `reference(*arrays)` what the output must hold. The clocks
    see the call alone. Memory is the peak up to the end of the first call, before the reference is
    computed for the first time: what interpreter, tensors and operation need.
    """
    device = ttnn.open_device(device_id=0)
    calls, errors = [], []
    peak = 0
    for seed in range(1 + WARM):
        tensors = [_tensor(array, device) for array in inputs(np.random.default_rng(seed))]
        output = _tensor(np.zeros(output_shape, np.float32), device)
        calls.append(spent(operation, *tensors, output))
        peak = peak or peak_bytes()
        del tensors
        # Recreated from the seed, to detect an operation that changes its inputs.
        expected = reference(*inputs(np.random.default_rng(seed)))
        errors.append(_error(_array(output), expected))
    report(calls, peak, max(errors))
    ttnn.close_device(device)


def spent(function, *arguments):
    """Return the CPU and wall seconds of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    function(*arguments)
    return time.process_time() - cpu, time.perf_counter() - wall


def report(calls, peak, error):
    """Print one line of JSON; the exit status tells whether the output was correct."""
    warm = calls[1:] or calls
    figures = {
        "cpu_seconds": statistics.median(cpu for cpu, _ in warm),
        "first": calls[0],
        "warm": warm,
        "peak_bytes": peak,
        "error": error,
    }
    print(json.dumps(figures))
    if not error <= TOLERANCE:  # also if it is NaN
        sys.exit(f"the output is wrong: off by {error:.1%} of the largest value")


def _error(actual, expected):
    """Return the largest difference, relative to the largest expected value."""
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def _tensor(array, device):
    options = {"dtype": ttnn.bfloat16, "layout": ttnn.TILE_LAYOUT, "device": device}
    if hasattr(ttl, "from_numpy"):
        return ttl.from_numpy(array, **options)
    import torch

    return ttnn.from_torch(torch.from_numpy(array), **options)


def _array(tensor):
    if hasattr(ttl, "to_numpy"):
        return ttl.to_numpy(tensor).astype(np.float32)
    return ttnn.to_torch(tensor).float().numpy()


def peak_bytes():
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
