"""MLIR and XLA of jaxlib as judges of our StableHLO: they read it, verify it, and run it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jaxlib.mlir import ir


def mlir_text(text: str) -> str:
    """The module as MLIR prints it, verified."""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        module.operation.verify()
        return str(module)


def run_with_xla(text: str, inputs: list[Any]) -> list[Any]:
    """The outputs of @main, computed by XLA on the CPU."""
    (device,) = jax.local_devices()[:1]
    devices = xla_client.DeviceList((device,))
    options = xla_client.CompileOptions()
    # Round to bfloat16 where the graph does.
    options.env_option_overrides = [
        ("xla_allow_excess_precision", False),
        ("xla_backend_optimization_level", 0),  # the graph runs once
    ]
    executable = device.client.compile_and_load(text, devices, options)
    with jax.enable_x64():
        buffers = [jax.device_put(each, device) for each in inputs]
        return [np.asarray(each) for each in executable.execute(buffers)]
