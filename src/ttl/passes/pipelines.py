"""The order of the language's passes, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, get_type_hints

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from ttl.diagnostics import Diagnostic

if TYPE_CHECKING:
    from .verify.block_use import BlockUse

# Synchronization that the user may leave out.
SYNCHRONIZE = (
    "ttl-insert-copy-wait",
    "ttl-insert-cb-sync",  # after the waits: a block is released when its copies are done
    "ttl-post-before-send",  # after the waits: a wait directly after a send keeps the send in place
)

# Pipes: loops over a node's pipes, and the words that nodes signal each other with.
NODE_TO_NODE = (
    "ttl-assign-pipe-resources",  # needs posts next to their waits: one at a time, or several?
    "ttl-lower-pipe-roles",
)

# Block math to tiles, registers and loops.
COMPUTE = (
    "ttl-expand-compositions",  # first: later passes see only operations that the chip has
    "ttl-name-block-values",  # next: later passes see data flow, not the contents of blocks
    "ttl-annotate-l1-acc-loops",
    "ttl-peel-l1-acc-loops",  # while a sum is still a value: its last step is like any other
    "ttl-insert-intermediate-dfbs",
    "convert-ttl-to-compute",
    "ttl-set-compute-kernel-config",  # after sections exist: their size decides full sync
    "ttl-assign-dst",  # after the configuration: it gives the capacity
    "ttl-subblock-compute-for-dst",  # after slots are known: they share the registers
    "ttl-lower-to-loops",  # after registers are assigned: they become operands
    "ttl-round-up-block-counts",  # when no pass moves uses of blocks any more
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
    "ttl-lower-signpost-to-emitc",  # when no pass moves operations over its scopes any more
    "convert-ttkernel-to-emitc",
)

PIPELINE = SYNCHRONIZE + NODE_TO_NODE + COMPUTE + KERNEL

# Passes that only check. The first are parts of one check that the pipeline makes after
# SYNCHRONIZE, when every release and wait is in the IR: verify/ has a table of them.
PARTS = {
    "ttl-verify-dfb-spsc": "each buffer has one producer and one consumer",
    "ttl-verify-pipenet-guards": "pipes are used in the roles of their node only",
    "ttl-verify-pipenet-schedule": "all kernels come to their ends, whatever the nodes' order",
    "ttl-verify-tensor-slices": "slices lie in their tensors",
}
VERIFY = ("ttl-validate-cb-budget",)  # after COMPUTE


# The folder of each pass: one for each part of the pipeline, with files named like the passes.
ROOMS = {
    f"{__package__}.sync": SYNCHRONIZE,
    f"{__package__}.node_to_node": NODE_TO_NODE,
    f"{__package__}.compute": COMPUTE,
    f"{__package__}.kernel": KERNEL,
    f"{__package__}.verify": VERIFY,
}


@cache
def find_pass(name: str) -> type[ModulePass]:
    """Return the pass called `name` on the command line; raise KeyError if there is none."""
    if name in PARTS:
        from .verify import check_part

        return pass_of(name, partial(check_part, name))
    return pass_in(name, ROOMS)


Rooms = Mapping[str, tuple[str, ...]]  # packages, with the passes that have their files there


def module_of(name: str, rooms: Rooms) -> str:
    """Return the module of a pass; raise KeyError if it is in none of the rooms."""
    room = next((room for room, names in rooms.items() if name in names), None)
    if room is None:
        raise KeyError(name)
    return f"{room}.{name.replace('-', '_')}"


def pass_in(name: str, rooms: Rooms) -> type[ModulePass]:
    """Make a pass of the function `apply` in its file."""
    return pass_of(name, import_module(module_of(name, rooms)).apply)


def pass_of(name: str, function: Callable[..., None]) -> type[ModulePass]:
    """Make a pass of a function, whose keyword arguments are the options."""
    options: Mapping[str, object] = getattr(function, "__kwdefaults__", None) or {}

    def apply(self: ModulePass, context: Context, module: ModuleOp) -> None:
        function(module, **{option: getattr(self, option) for option in options})

    members = {"name": name, "apply": apply, "__module__": function.__module__, **options}
    if options:
        hints = get_type_hints(function)
        members["__annotations__"] = {option: hints[option] for option in options}
    made = type(name, (ModulePass,), members)
    return dataclass(frozen=True)(made) if options else made


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
        each.apply(context, module)
        if after:
            after(each.name, module)


def run_pipeline(
    module: ModuleOp,
    before: Observer | None = None,
    after: Observer | None = None,
    report: Callable[[Diagnostic], None] | None = None,
    first: Iterable[ModulePass] = (),
) -> None:
    """Run all passes and the static checks; raise CompileError with what they find.

    `report` gets their warnings; `first` are the passes of a frontend with IR of its own.
    """
    from .verify import check_synchronization, raise_errors

    used = synchronize(module, before, after, first)
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
    module: ModuleOp,
    before: Observer | None = None,
    after: Observer | None = None,
    first: Iterable[ModulePass] = (),
) -> BlockUse:
    """Put every release and wait into the IR; raise CompileError where a block is misused."""
    from .verify.block_states import verify_block_states

    passes = [*first, *(find_pass(name)() for name in SYNCHRONIZE)]
    run_passes(passes, Context(), module, before, after)
    used = verify_block_states(module)
    for each in used.unset:
        each.properties["unset"] = UnitAttr()
    return used
