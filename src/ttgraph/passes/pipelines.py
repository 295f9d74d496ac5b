"""The order of the passes on graphs, and every pass and pipeline that the command line knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.utils.arg_spec import ArgSpec

from pykernel.passes import pipelines as of_threads
from pykernel.passes.pipelines import (
    D2M,
    D2M_BACKEND,
    D2M_FRONTEND,
    D2M_MIDDLEEND,
    D2M_TO_TTKERNEL,
    GRID_SELECTION,
    REGISTER_DEVICE,
    is_d2m,
)
from ttl.passes import pipelines as of_kernels
from ttl.passes.pipelines import PARTS, PIPELINE, VERIFY, Observer, module_of, pass_in
from ttl.passes.registered_device import SYSTEM_DESC

# From a graph, tt-mlir's or shlo-to-ttir's, to threads of cores.
DECOMPOSITION = "ttir-to-ttir-decomposition"
TTIR_TO_D2M = (DECOMPOSITION, "ttir-to-d2m", *GRID_SELECTION)

# From a graph of tensors with TT-Lang operations to the input of the flatbuffer's writer.
GRAPH = (
    "shlo-inline-calls",
    "shlo-outline-regions",  # after calls: a region that calls nothing becomes one function
    "shlo-to-ttir",
    DECOMPOSITION,  # for input in ttir
    "ttir-fold-shapes",  # before pattern matching: it leaves one form of each
    "ttir-fuse-normalization",
    "ttir-fuse-softmax",
    "ttir-fuse-activations",
    "ttir-fuse-attention",  # after softmax, its part
    "ttir-fuse-linear",  # after attention, whose products are not linear
    "ttir-fuse-casts",  # after all of these
    "ttnn-layout",  # before ttnn, whose calls name the layout of their results
    "ttir-to-ttnn",
    "ttnn-deallocate",  # while results are still tied to the tensors they are written to
    "ttnn-resolve-tt-lang-kernels",  # after layouts: kernels are compiled for them
    "ttnn-lower-tt-lang-to-generic",
)
# Pipelines that the command line knows under one name.
PIPELINES = {
    "ttl-to-cpp": PIPELINE,
    "d2m-to-ttkernel": D2M_TO_TTKERNEL,
    "ttir-to-ttmetal-frontend": REGISTER_DEVICE + TTIR_TO_D2M + D2M_FRONTEND,
    "ttir-to-ttmetal-middleend": D2M_MIDDLEEND,
    "ttir-to-ttmetal-backend": REGISTER_DEVICE + TTIR_TO_D2M + D2M + PIPELINE,
    "ttir-to-ttmetal-pipeline": REGISTER_DEVICE + TTIR_TO_D2M + D2M + PIPELINE,
    "convert-d2m-to-ttkernel": D2M_TO_TTKERNEL,
    "ttir-to-ttnn-backend-pipeline": REGISTER_DEVICE + GRAPH[GRAPH.index(DECOMPOSITION) :],
}
_XDSL = {"canonicalize": CanonicalizePass}
KNOWN = (
    *PIPELINE,
    *PARTS,
    *VERIFY,
    *REGISTER_DEVICE,
    *TTIR_TO_D2M[1:],
    *D2M,
    *GRAPH,
    *_XDSL,
)
ROOMS = of_kernels.ROOMS | of_threads.ROOMS | {__package__: (*TTIR_TO_D2M[:2], *GRAPH)}

# Sentences for the command line's help: the names of several passes.
SUMMARIES = {
    "ttl-to-cpp": "a program of the language to C++ kernels: the whole pipeline",
    "d2m-to-ttkernel": "loops over tiles to calls of the chip",
    "ttir-to-ttmetal-frontend": "a graph to threads of cores",
    "ttir-to-ttmetal-middleend": "threads to kernel functions, with addresses",
    "ttir-to-ttmetal-pipeline": "the same, by tt-mlir's name",
    "convert-d2m-to-ttkernel": "d2m-to-ttkernel, by tt-mlir's name",
    "ttir-to-ttnn-backend-pipeline": "a graph of ttir to calls of ttnn, with kernels",
    "ttir-to-ttmetal-backend": "a graph all the way to C++ kernels and commands of the host",
}


def summary_of(name: str) -> str:
    """Describe a pass or a pipeline in a sentence."""
    if name in SUMMARIES or name in PARTS:
        return (SUMMARIES | PARTS)[name]
    module = "xdsl's own" if name in _XDSL else import_module(module_of(name, ROOMS)).__doc__ or ""
    paragraph = " ".join(module.partition("\n\n")[0].split())
    return paragraph.removeprefix(f"{name}: ").rstrip(".")


@cache
def find_pass(name: str) -> type[ModulePass]:
    """Return the pass called `name` on the command line; raise KeyError if there is none."""
    if name in _XDSL:
        return _XDSL[name]
    return of_kernels.find_pass(name) if name in PARTS else pass_in(name, ROOMS)


def find_passes(name: str) -> tuple[str, ...]:
    """Return the passes that a name on the command line stands for."""
    return PIPELINES.get(name, (name,))


def make_passes(
    names: tuple[str, ...],
    options: Mapping[str, tuple[str | int | bool | float, ...]] | None = None,
) -> list[ModulePass]:
    """Make a pipeline's passes; options go to the passes that have them. ValueError for others.

    The decomposition before ttir-to-d2m is into tile operations.
    """
    given = dict(options or {})
    if TTIR_TO_D2M[1] in names:
        given["in_tiles"] = (True,)
    kinds = [find_pass(name) for name in names]
    known = [{field.name for field in fields(kind)} for kind in kinds]
    for name in given:
        if not any(name in each for each in known):
            raise ValueError(f"no pass of it has the option {name.replace('_', '-')}")
    return [
        kind.from_spec(ArgSpec(kind.name, {n: v for n, v in given.items() if n in own}))
        for kind, own in zip(kinds, known, strict=True)
    ]


def programs(module: ModuleOp) -> list[ModuleOp]:
    """Return the modules to run passes on: a graph's called programs, or the module itself."""
    inside = [op for op in module.ops if type(op) is ModuleOp and is_d2m(op)]
    return inside or [module]


def run_passes(
    passes: Iterable[ModulePass],
    context: Context,
    module: ModuleOp,
    before: Observer | None = None,
    after: Observer | None = None,
) -> None:
    """Run passes on a graph, on the programs of threads in it, or on a program."""
    for each in passes:
        if before:
            before(each.name, module)
        if not (each.name in OF_THREADS and _is_left_to_host(module)):
            for program in programs(module):
                each.apply(context, program)
        if after:
            after(each.name, module)


OF_THREADS = frozenset((*TTIR_TO_D2M[2:], *D2M, *PIPELINE))
# Passes that need the whole program; the others only look at tiles.
OF_WHOLE_PROGRAMS = OF_THREADS - {"arith-to-d2m-tile-ops", *D2M_BACKEND[:2], *PIPELINE}


def _is_left_to_host(module: ModuleOp) -> bool:
    """Did nothing of a graph become threads? ttir-to-d2m leaves data movement to the host."""
    if is_d2m(module) or any(type(op) is ModuleOp for op in module.ops):
        return False
    dialects = (op.dialect_name() for op in module.walk())
    found = next((name for name in dialects if name in ("ttir", *_OF_KERNELS)), None)
    return found == "ttir" or (found is None and SYSTEM_DESC in module.attributes)


_OF_KERNELS = ("ttl", "d2m", "ttkernel", "emitc", "ttmetal")
