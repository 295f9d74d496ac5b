"""Walk a module: the actions of every kernel on every node, without data.

Control flow in kernels depends on the node, on constants and on loop counters, so for a given grid
the order of buffer, pipe and semaphore operations is known. `walk_module` follows it exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ttl.diagnostics import RuleBroken, Span
from ttl.dialects import ttl
from ttl.dialects.locations import span_of
from ttl.dialects.ttkernel import name_of, processor_of

from ..loopback import nets_to_themselves
from ..module_pass import kernels, numbers_in
from .events import Event, Names, Node, WalkEventKind, count_events, effects_of
from .skeleton import Builder, KernelSkeleton
from .statements import Budget, BudgetSpent, CannotEvaluate, Items
from .symbolic import Number
from .touches import touching_copies

# Most steps of a walk, for all kernels on all nodes: about a third of a second.
MOST_STEPS = 300_000

Slices = list[tuple[Operation, tuple[Number, ...]]]


@dataclass(frozen=True, slots=True)
class WalkedBuffer:
    name: str
    block_count: int
    span: Span | None
    in_tensor: bool = False


@dataclass(frozen=True, slots=True)
class WalkedSemaphore:
    name: str
    initial: int
    span: Span | None


@dataclass(slots=True)
class WalkedModule:
    """The actions of every kernel on every node.

    `unknown` is control flow that could not be evaluated; if there is any, or if the budget was
    spent, the traces are incomplete.
    """

    names: Names
    buffers: list[WalkedBuffer]
    semaphores: list[WalkedSemaphore]
    kernels: list[KernelSkeleton]
    traces: list[tuple[Items, ...]] = field(default_factory=list)  # for each node and kernel
    slices: list[tuple[Slices, ...]] = field(default_factory=list)  # likewise
    faults: list[tuple[Node, Operation, RuleBroken]] = field(default_factory=list)
    unknown: list[tuple[str, Node, Operation]] = field(default_factory=list)
    is_spent: bool = False

    def kernel_number(self, name: str) -> int:
        return [kernel.name for kernel in self.kernels].index(name)

    @property
    def nodes(self) -> Sequence[Node]:
        return self.names.nodes

    def distinct(self) -> list[tuple[Node, tuple[Items, ...]]]:
        """Return the first of the nodes on which the kernels do the same."""
        found: dict[tuple[int, ...], tuple[Node, tuple[Items, ...]]] = {}
        for node, traces in zip(self.nodes, self.traces, strict=False):
            found.setdefault(tuple([id(trace) for trace in traces]), (node, traces))
        return list(found.values())

    def events(self, *kinds: WalkEventKind) -> Iterator[tuple[Node, str, Event]]:
        """Return these kinds of events, with kernels; only the first of nodes that do the same."""
        for node, traces in self.distinct():
            for kernel, items in zip(self.kernels, traces, strict=True):
                for event, _ in count_events(items):
                    if event[0] in kinds:
                        yield node, kernel.name, event

    @property
    def is_complete(self) -> bool:
        return not self.unknown and not self.is_spent


def walk_module(module: ModuleOp, most_steps: int = MOST_STEPS) -> WalkedModule:
    walked = _read(module)
    if walked.unknown:
        return walked
    budget = Budget(most_steps)
    known: dict[Items, Items] = {}  # makes equal traces one object
    try:
        for number, node in enumerate(walked.names.nodes):
            traces, slices = [], []
            for kernel in walked.kernels:
                try:
                    walk = kernel.walk(node, number, budget)
                except CannotEvaluate as error:
                    walked.unknown.append((kernel.name, node, error.op))
                    walked.faults += [(node, *fault) for fault in error.faults]
                    return walked
                trace = tuple(walk.items)
                traces.append(known.setdefault(trace, trace))
                slices.append(walk.slices)
                walked.faults += [(node, *fault) for fault in walk.faults]
            walked.traces.append(tuple(traces))
            walked.slices.append(tuple(slices))
    except BudgetSpent:
        walked.is_spent = True
    return walked


def _read(module: ModuleOp) -> WalkedModule:
    declared = [op for op in module.ops if isinstance(op, ttl.DeclareBufferOp)]
    buffers = [
        WalkedBuffer(
            op.sym_name.data,
            op.type.block_count.value.data,
            span_of(op.location),
            op.tensor is not None,
        )
        for op in declared
    ]
    semaphores = [
        WalkedSemaphore(op.sym_name.data, op.initial.value.data, span_of(op.location))
        for op in ttl.semaphores_of(module)
    ]
    names = names_of(module)
    if names.pipes or semaphores:  # only these can order nodes
        names.touching = touching_copies(kernels(module))
    effects = effects_of(names, has_pipes=bool(names.pipes))
    walked = WalkedModule(names, buffers, semaphores, [])
    for kernel in kernels(module):
        try:
            walked.kernels.append(Builder(kernel, effects).build(processor_of(kernel)))
        except CannotEvaluate as error:
            walked.unknown.append((name_of(kernel), names.nodes[0], error.op))
    return walked


def names_of(module: ModuleOp) -> Names:
    buffers = [op.sym_name.data for op in module.ops if isinstance(op, ttl.DeclareBufferOp)]
    names = Names(_grid(module), buffers, [op.sym_name.data for op in ttl.semaphores_of(module)])
    to_themselves = nets_to_themselves(module)
    for net in ttl.nets_of(module):
        names.add_net(net, net.sym_name.data in to_themselves)
    return names


def _grid(module: ModuleOp) -> tuple[int, int]:
    columns, rows = numbers_in(module.attributes.get("ttl.launch_grid")) or (1, 1)
    return columns, rows
