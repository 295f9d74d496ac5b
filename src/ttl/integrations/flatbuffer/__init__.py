"""From a StableHLO module to a flatbuffer, and running it.

    binary = compile_module(module)                  # bytes of a .ttnn file
    outputs = Runtime(binary).run([array, ...])      # no user code, no torch
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from ttl.trace import Recorder


def compile_module(
    module: ModuleOp,
    *,
    mesh_shape: Sequence[int] = (1, 1),
    python_module: str = "tt_torch.tt_lang",
    python_function: str = "resolve_operation",
) -> bytes:
    """The flatbuffer of a StableHLO module, which the passes change.

    The kernels of TT-Lang operations in it are asked for from `python_function` of
    `python_module`. CompileError for what cannot be lowered.
    """
    raise NotImplementedError


class Runtime:
    """A loaded flatbuffer. Loading checks everything: UsageError for what is not right."""

    def __init__(self, binary: bytes, *, cache_dir: Path | None = None):
        raise NotImplementedError

    def run(self, inputs: Sequence[Any], *, recorder: Recorder | None = None) -> list[np.ndarray]:
        """The outputs of the first program, as fresh arrays, for inputs in its order.

        Inputs are numpy arrays, or torch tensors on the CPU. Outputs have the element types of
        the flatbuffer, bfloat16 as that of ml_dtypes; booleans are bfloat16, 0 or 1, and 64 bits
        have become 32.
        """
        raise NotImplementedError
