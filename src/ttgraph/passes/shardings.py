"""Rejects graphs whose tensors are divided among several devices, with the annotation's name.

A graph is lowered for one device. Taking its shapes for one device's would silently compute other
parts, or all parts everywhere. Meshes of one device divide nothing.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ttgraph.dialects.stablehlo.annotations import annotations_of, devices_of_meshes
from ttl.diagnostics import codes
from ttl.passes.module_pass import cannot_compile

HELP = "lower the function for one device, without shardings or a mesh of several devices"


def refuse_shardings(module: ModuleOp) -> None:
    """Raise CompileError for the first annotation that needs several devices."""
    meshes = devices_of_meshes(module)
    inside = [op for op in module.walk() if op is not module]
    for op in (*inside, module):  # the module's own counts are least specific
        for found in annotations_of(op, meshes):
            message = f"{found} divides tensors among devices: sharded graphs are not lowered"
            raise cannot_compile(codes.GRAPH_NOT_LOWERED.broken(message, HELP), op)
