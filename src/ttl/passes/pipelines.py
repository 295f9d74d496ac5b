"""The order of the passes, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from ttl.diagnostics import Diagnostic

from .module_pass import D2M_MARK
from .registered_device import SYSTEM_DESC

if TYPE_CHECKING:
    from .verify.block_use import BlockUse

_XDSL = {
    "canonicalize": ("xdsl.transforms.canonicalize", "CanonicalizePass"),
}

# Synchronization the user may leave out.
SYNCHRONIZE = (
    "ttl-insert-copy-wait",
    "ttl-insert-cb-sync",  # after the waits: a block is released when its copies are done
    "ttl-post-before-send",  # after the waits: those that follow a send at once keep it there
)

# Pipes: loops over those of a node, and the words that nodes signal each other with.
NODE_TO_NODE = (
    "ttl-assign-pipe-resources",  # while a post stands beside its wait: one at a time, or several?
    "ttl-lower-pipe-roles",
)

# Block math to tiles, registers and loops.
COMPUTE = (
    "ttl-expand-compositions",  # first: what follows sees only operations that the chip has
    "ttl-name-block-values",  # next: what follows sees data flow, not what blocks hold when
    "ttl-annotate-l1-acc-loops",
    "ttl-peel-l1-acc-loops",  # while a sum is still a value: its last step is like any other
    "ttl-insert-intermediate-dfbs",
    "convert-ttl-to-compute",
    "ttl-set-compute-kernel-config",  # after sections exist: their size decides full sync
    "ttl-assign-dst",  # after the configuration: it gives the capacity
    "ttl-subblock-compute-for-dst",  # after slots are known: they share the registers
    "ttl-lower-to-loops",  # after registers are assigned: they become operands
    "ttl-round-up-block-counts",  # when nothing moves uses of blocks any more
    "ttl-finalize-dfb-indices",  # last, when no pass adds buffers any more
)

# Calls of the chip's interface, then C++.
KERNEL = (
    "ttl-flush-writes",  # while copies still name their tensors
    "convert-ttl-to-ttkernel",
    "ttkernel-read-ahead",  # while loops over tiles are still affine: it counts their pages
    "ttkernel-insert-inits",  # while loops over tiles are still affine: nothing else is moved
    "ttkernel-insert-l1-accumulation",  # for the same reason
    "ttkernel-combine-pack-tiles",  # after both: they know packs of tiles
    "lower-affine",
    "cse",  # when all calls are there: copies of equal shape share their arithmetic
    "ttl-lower-signpost-to-emitc",  # when no pass moves anything over its scopes any more
    "convert-ttkernel-to-emitc",
)

PIPELINE = SYNCHRONIZE + NODE_TO_NODE + COMPUTE + KERNEL

# Threads of cores (the pykernel DSL) to kernels of the language, in the guide's three parts.
D2M_FRONTEND = (
    "arith-to-d2m-tile-ops",  # first: what follows looks for tile operations
    "d2m-generic-replace-globals",
    "d2m-lower-to-layout",  # while tensors still say by their layout where they are
    "d2m-generic-generate-datamovement",  # affine form to explicit form, which all the rest takes
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
REGISTER_DEVICE = ("ttcore-register-device",)  # first: its cores and its memory count for the rest
# A graph joins here, as tt-mlir writes it or as shlo-to-ttir does.
TTIR_TO_D2M = ("ttir-to-ttir-decomposition", "ttir-to-d2m", "d2m-grid-selection")
D2M = D2M_FRONTEND + D2M_MIDDLEEND + D2M_BACKEND

# A step of the guide that the language's passes do: from loops over tiles to calls of the chip.
D2M_TO_TTKERNEL = D2M_BACKEND[2:] + SYNCHRONIZE + NODE_TO_NODE + COMPUTE + KERNEL[:5]

# What the command line knows under one name.
PIPELINES = {
    "ttl-to-cpp": PIPELINE,
    "d2m-to-ttkernel": D2M_TO_TTKERNEL,
    "ttir-to-ttmetal-frontend": REGISTER_DEVICE + TTIR_TO_D2M + D2M_FRONTEND,
    "ttir-to-ttmetal-middleend": D2M_MIDDLEEND,
    "ttir-to-ttmetal-backend": REGISTER_DEVICE + TTIR_TO_D2M + D2M + PIPELINE,
    "ttir-to-ttmetal-pipeline": REGISTER_DEVICE + TTIR_TO_D2M + D2M + PIPELINE,
    "convert-d2m-to-ttkernel": D2M_TO_TTKERNEL,
    "ttir-to-ttnn-backend-pipeline": (),  # GRAPH, from ttir on: below
}
# Passes that only look. The first are parts of one check that the pipeline makes after SYNCHRONIZE,
# when every release and wait stands in the IR: verify/ has a table of them.
PARTS = {
    "ttl-verify-dfb-spsc": "each buffer has one producer and one consumer",
    "ttl-verify-pipenet-guards": "pipes are used in the roles of their node only",
    "ttl-verify-pipenet-schedule": "all kernels come to their ends, whatever the nodes' order",
    "ttl-verify-tensor-slices": "slices lie in their tensors",
}
VERIFY = ("ttl-validate-cb-budget",)  # after COMPUTE

# A graph of tensors with TT-Lang operations in it, to what is written as a flatbuffer.
GRAPH = (
    "shlo-inline-calls",
    "shlo-outline-regions",  # after calls: a region that calls nothing becomes one function
    "shlo-to-ttir",
    "ttir-to-ttir-decomposition",  # of a graph that came as ttir
    "ttir-fold-shapes",  # before patterns are looked for: it leaves one form of each
    "ttir-fuse-normalization",
    "ttir-fuse-softmax",
    "ttir-fuse-activations",
    "ttir-fuse-attention",  # after softmax, of which it is made
    "ttir-fuse-linear",  # after attention, whose products are none
    "ttir-fuse-casts",  # when all of these are there
    "ttnn-layout",  # before ttnn: whose calls say where their results lie
    "ttir-to-ttnn",
    "ttnn-deallocate",  # while results are still tied to the tensors they are written to
    "ttnn-resolve-tt-lang-kernels",  # after layouts: kernels are compiled for them
    "ttnn-lower-tt-lang-to-generic",
)
PIPELINES["ttir-to-ttnn-backend-pipeline"] = (
    *REGISTER_DEVICE,
    *GRAPH[GRAPH.index("ttir-to-ttir-decomposition") :],
)
KNOWN = (
    *PIPELINE,
    *PARTS,
    *VERIFY,
    *REGISTER_DEVICE,
    *TTIR_TO_D2M[1:],
    *D2M,
    *GRAPH,
    *(name for name in _XDSL if name not in PIPELINE),
)

# Where each pass lives: a folder for each part of the pipeline, files named as the passes.
ROOMS = {
    "sync": SYNCHRONIZE,
    "node_to_node": NODE_TO_NODE,
    "compute": COMPUTE,
    "kernel": KERNEL,
    "verify": VERIFY,
    "d2m": REGISTER_DEVICE + TTIR_TO_D2M[1:] + D2M,
    "graph": GRAPH,
}


# What stands on the command line for the passes of one part, in a sentence.
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
    """What a pass or a pipeline does, in a sentence."""
    if name in SUMMARIES or name in PARTS:
        return (SUMMARIES | PARTS)[name]
    module = "xdsl's own" if name in _XDSL else import_module(_module_of(name)).__doc__ or ""
    paragraph = " ".join(module.partition("\n\n")[0].split())
    return paragraph.removeprefix(f"{name}: ").rstrip(".")


def find_passes(name: str) -> tuple[str, ...]:
    """The passes that a name on the command line stands for."""
    return PIPELINES.get(name, (name,))


def make_passes(
    names: tuple[str, ...], options: Mapping[str, tuple[Any, ...]] | None = None
) -> list[ModulePass]:
    """Those of a pipeline, whose options are for the passes that have them; ValueError for others.

    The decomposition that ttir-to-d2m goes on from is one to tiles.
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


@cache
def find_pass(name: str) -> type[ModulePass]:
    """The pass called `name` on the command line; KeyError if there is none.

    Its file has a function `apply`, whose keyword arguments are the options.
    """
    if name in PARTS:
        from .verify import check_part

        return _pass_of(name, partial(check_part, name))
    if name in _XDSL:
        module, class_name = _XDSL[name]
        found: type[ModulePass] = getattr(import_module(module), class_name)
        return found
    return _pass_of(name, import_module(_module_of(name)).apply)


def _module_of(name: str) -> str:
    room = next((room for room, names in ROOMS.items() if name in names), None)
    if room is None:
        raise KeyError(name)
    return f"{__package__}.{room}.{name.replace('-', '_')}"


def _pass_of(name: str, function: Callable[..., None]) -> type[ModulePass]:
    options: Mapping[str, Any] = getattr(function, "__kwdefaults__", None) or {}

    def apply(self: ModulePass, context: Context, module: ModuleOp) -> None:
        function(module, **{option: getattr(self, option) for option in options})

    members = {"name": name, "apply": apply, "__module__": function.__module__, **options}
    if options:
        hints = get_type_hints(function)
        members["__annotations__"] = {option: hints[option] for option in options}
    made = type(name, (ModulePass,), members)
    return dataclass(frozen=True)(made) if options else made


def programs(module: ModuleOp) -> list[ModuleOp]:
    """What passes are applied to: the programs that a graph calls, or the module itself."""
    inside = [op for op in module.ops if type(op) is ModuleOp and is_d2m(op)]
    return inside or [module]


Observer = Callable[[str, ModuleOp], None]


def run_passes(
    passes: Iterable[ModulePass],
    context: Context,
    module: ModuleOp,
    before: Observer | None = None,
    after: Observer | None = None,
) -> None:
    for each in passes:
        if before:
            before(each.name, module)
        if not (each.name in OF_THREADS and _is_left_to_host(module)):
            for program in programs(module):
                each.apply(context, program)
        if after:
            after(each.name, module)


OF_THREADS = frozenset((*TTIR_TO_D2M[2:], *D2M, *PIPELINE))
# Those that have to know all of a program; the others look at tiles, whatever is around them.
OF_WHOLE_PROGRAMS = OF_THREADS - {"arith-to-d2m-tile-ops", *D2M_BACKEND[:2], *PIPELINE}


def _is_left_to_host(module: ModuleOp) -> bool:
    """A graph of which nothing became threads: ttir-to-d2m leaves moves of elements to the host."""
    if is_d2m(module) or any(type(op) is ModuleOp for op in module.ops):
        return False
    dialects = (op.dialect_name() for op in module.walk())
    found = next((name for name in dialects if name in ("ttir", *_OF_KERNELS)), None)
    return found == "ttir" or (found is None and SYSTEM_DESC in module.attributes)


_OF_KERNELS = ("ttl", "d2m", "ttkernel", "emitc", "ttmetal")


def is_d2m(module: ModuleOp) -> bool:
    return D2M_MARK in module.attributes


def run_pipeline(
    module: ModuleOp,
    before: Observer | None = None,
    after: Observer | None = None,
    report: Callable[[Diagnostic], None] | None = None,
) -> None:
    """All passes, and the static checks; CompileError with what they find.

    `report` gets their warnings.
    """
    from .verify import check_synchronization, raise_errors

    used = synchronize(module, before, after)
    found = check_synchronization(module, used)
    raise_errors(found)
    if report is not None:
        for warning in found:
            report(warning)
    lower(module, before, after)


def lower(module: ModuleOp, before: Observer | None = None, after: Observer | None = None) -> None:
    """Lower a synchronized module, in which the checks found nothing, to emitc."""
    context = Context()
    blocks = NODE_TO_NODE + COMPUTE
    run_passes([find_pass(name)() for name in blocks], context, module, before, after)
    find_pass("ttl-validate-cb-budget")().apply(context, module)
    run_passes([find_pass(name)() for name in KERNEL], context, module, before, after)


def synchronize(
    module: ModuleOp, before: Observer | None = None, after: Observer | None = None
) -> BlockUse:
    """Put every release and wait into the IR; CompileError where a block is misused.

    Threads of the d2m dialect become kernels first.
    """
    from .verify.block_states import verify_block_states

    if is_d2m(module):
        run_passes([find_pass(name)() for name in D2M], Context(), module, before, after)
    run_passes([find_pass(name)() for name in SYNCHRONIZE], Context(), module, before, after)
    used = verify_block_states(module)
    for each in used.unset:
        each.properties["unset"] = UnitAttr()
    return used
