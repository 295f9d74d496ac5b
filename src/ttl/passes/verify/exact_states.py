"""Step the blocks of every node through the branches and iterations it really takes.

The kernel's skeleton finds these, as for synchronization. That is as exact as a run and takes as
many steps, so only doubtful cases use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ttl.diagnostics import CompileError, Diagnostic, RuleBroken, Severity, codes
from ttl.dialects.locations import span_of
from ttl.dialects.ttkernel import name_of, processor_of

from ..module_pass import cannot_compile
from ..path_walker import Fork, PathWalker
from .block_walk import HANDLERS, READERS, BlockWalk
from .events import effects_of
from .skeleton import Builder, KernelSkeleton, MakeStatement
from .statements import Budget, BudgetSpent, CannotEvaluate
from .walk import names_of

MOST_STEPS = 20_000


def first_mistake(kernel: func.FuncOp, module: ModuleOp, patience: int) -> Diagnostic | None:
    """Find the first node's error, or its warning if there is no error, or report that this is
    unknown.
    """
    first: Diagnostic | None = None
    names = names_of(module)
    effects = effects_of(names, has_pipes=bool(names.pipes)) | _steps(kernel)
    budgets = Budget(patience * MOST_STEPS), Budget(patience * MOST_STEPS)
    try:
        skeleton = Builder(kernel, effects, every_iteration=True).build(processor_of(kernel))
        right: set[tuple[bool, ...]] = set()  # paths followed to their ends
        for number, node in enumerate(names.nodes):
            found = _on_node(skeleton, node, number, right, *budgets)
            is_error = found is not None and found.severity is Severity.ERROR
            if found is not None and (first is None or is_error):
                first = replace(found, notes=(*found.notes, f"on node {node}"))
            if is_error:
                break
    except BudgetSpent:
        why = f"{patience * MOST_STEPS} steps are not enough to follow it"
        return first or _not_proven(kernel, why)
    except CannotEvaluate:
        why = "its control flow depends on what is not known before the run"
        return first or _not_proven(kernel, why)
    return first


def _steps(kernel: func.FuncOp) -> dict[type[Operation], MakeStatement]:
    """Keep the control flow around all operations that change or read blocks."""
    kinds = {
        type(op)
        for op in kernel.walk()
        if type(op) in HANDLERS or (isinstance(op, READERS) and not op.regions)
    }
    return dict.fromkeys(kinds, lambda builder, op: None)


def _not_proven(kernel: func.FuncOp, why: str) -> Diagnostic:
    found = codes.NOT_PROVEN.broken(
        f"it is not proven that `{name_of(kernel)}` uses its blocks in order: {why}",
        "run it on the simulator, which checks each use",
    )
    spans = (span_of(op.location) for op in kernel.walk())
    return found.at(next((span for span in spans if span is not None), None))


def _on_node(
    skeleton: KernelSkeleton,
    node: tuple[int, ...],
    number: int,
    right: set[tuple[bool, ...]],
    for_ways: Budget,
    for_steps: Budget,
) -> Diagnostic | None:
    """Return the first mistake on the node's path, as far as the path is known."""
    ways: list[bool] = []
    unknown: Exception | None = None
    try:
        skeleton.walk(node, number, for_ways, ways)
    except (BudgetSpent, CannotEvaluate) as error:
        unknown = error
    if tuple(ways) in right:  # most nodes take the path of another
        return None
    walker = _Walker(iter(ways), for_steps)
    try:
        (path,) = walker.block(skeleton.function.body.block, [BlockWalk()])
    except CompileError as error:
        return error.diagnostics[0]
    except _WayUnknown:
        assert unknown is not None
        raise unknown from None
    found = path.find_leftover(skeleton.name)
    is_right = found is None or found.severity is not Severity.ERROR
    if is_right and unknown is None:
        right.add(tuple(ways))
    return found if found is not None else walker.warning


class _WayUnknown(Exception):
    """Raised if the node goes further than the skeleton could be walked."""


class _Walker(PathWalker[BlockWalk]):
    """Follows one path; `ways` are its decisions in order."""

    def __init__(self, ways: Iterator[bool], budget: Budget):
        self.ways = ways
        self.budget = budget
        self.warning: Diagnostic | None = None  # the first

    def decided(self, op: Operation, path: BlockWalk) -> bool:
        try:
            return next(self.ways)
        except StopIteration:
            raise _WayUnknown from None

    def step(self, op: Operation, paths: list[BlockWalk]) -> list[BlockWalk]:
        self.budget.spend(1)
        (path,) = paths
        try:
            path.step(op)
        except RuleBroken as broken:
            raise cannot_compile(broken, op) from None
        tolerated = path.take_tolerated()
        self.warning = self.warning or tolerated
        return paths

    def fork(self, op: Fork, paths: list[BlockWalk]) -> list[BlockWalk]:
        return super().fork(op, paths) if isinstance(op, scf.IfOp) else self._repeat(op, paths)

    def loop(self, op: Operation, paths: list[BlockWalk]) -> list[BlockWalk]:
        return self._repeat(op, self.step(op, paths))

    def _repeat(self, op: Operation, paths: list[BlockWalk]) -> list[BlockWalk]:
        *condition, body = op.regions
        while True:
            for region in condition:
                paths = self.block(region.block, paths)
            if not self.decided(op, paths[0]):
                return paths
            paths = self.block(body.block, paths)
