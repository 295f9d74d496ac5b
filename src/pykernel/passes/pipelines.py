"""The order of the passes from threads of cores to kernels of the language, and why."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ttl.passes.pipelines import COMPUTE, KERNEL, NODE_TO_NODE, SYNCHRONIZE, pass_in

from .marks import D2M_MARK

# Passes from threads of cores to kernels of the language, in the guide's three parts.
D2M_FRONTEND = (
    "arith-to-d2m-tile-ops",  # first: later passes look for tile operations
    "d2m-generic-replace-globals",
    "d2m-lower-to-layout",  # while tensor layouts still tell host from device
    "d2m-generic-generate-datamovement",  # to explicit form, which all later passes need
    "d2m-generic-generate-loops",
)
D2M_MIDDLEEND = (
    "one-shot-bufferize",
    "d2m-bufferize-function-args",
    "d2m-insert-explicit-streams",
    "d2m-allocate",
    "d2m-generic-lower-dmas",  # in the generic, whose grid bounds the indices
    "d2m-generic-hw-thread-selection",
    "d2m-generic-regions-to-funcs",
)
D2M_BACKEND = (
    "linalg-to-loops",
    "d2m-insert-dst-register-access",
    "convert-d2m-to-ttl",
    "convert-d2m-to-ttmetal",
)
REGISTER_DEVICE = ("ttcore-register-device",)  # first: the others use its cores and memory
# A graph starts here: ttgraph has earlier passes.
GRID_SELECTION = ("d2m-grid-selection",)
D2M = D2M_FRONTEND + D2M_MIDDLEEND + D2M_BACKEND

# The language's passes do this step of the guide: from tile loops to the chip's calls.
D2M_TO_TTKERNEL = D2M_BACKEND[2:] + SYNCHRONIZE + NODE_TO_NODE + COMPUTE + KERNEL[:5]

ROOMS = {__package__: REGISTER_DEVICE + GRID_SELECTION + D2M}


@cache
def find_pass(name: str) -> type[ModulePass]:
    return pass_in(name, ROOMS)


def is_d2m(module: ModuleOp) -> bool:
    return D2M_MARK in module.attributes
