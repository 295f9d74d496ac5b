"""The life of every block on every node in turn, through the branches and iterations it takes.

The skeleton of a kernel is walked, as for synchronization, with all that changes the state of
blocks. That is as exact as a run and takes as many steps, so it is left to the cases of doubt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ttl.diagnostics import CompileError, Diagnostic, RuleBroken

from ..module_pass import cannot_compile, thread_of
from .block_states import HANDLERS, READERS, BlockWalk
from .events import effects_of
from .skeleton import Builder, Kernel, MakeStatement
from .statements import Budget, BudgetSpent, CannotEvaluate, Statement, Walk
from .walk import names_of

MOST_STEPS = 20_000


def first_mistake(kernel: func.FuncOp, module: ModuleOp) -> Diagnostic | None:
    """What goes wrong on the first node where something does; None as far as it is not known."""
    names, walker = names_of(module), _Walker()
    effects = effects_of(names, has_pipes=bool(names.pipes)) | _steps(kernel, walker)
    budget = Budget(MOST_STEPS)
    try:
        skeleton = _Builder(kernel, effects, walker).build(thread_of(kernel))
        for number, node in enumerate(names.nodes):
            walker.blocks = BlockWalk()
            found = _on_node(skeleton, node, number, budget, walker)
            if found is not None:
                return replace(found, notes=(*found.notes, f"on node {node}"))
    except (CannotEvaluate, BudgetSpent):
        pass
    return None


def _on_node(
    skeleton: Kernel, node: tuple[int, ...], number: int, budget: Budget, walker: _Walker
) -> Diagnostic | None:
    try:
        skeleton.walk(node, number, budget)
    except CompileError as error:
        return error.diagnostics[0]
    return walker.blocks.left_over(skeleton.name)


class _Walker:
    """The blocks of the node that is walked."""

    def __init__(self) -> None:
        self.blocks = BlockWalk()


@dataclass(slots=True)
class _Step(Statement):
    op: Operation
    walker: _Walker

    def run(self, walk: Walk) -> None:
        walk.budget.spend(1)
        try:
            self.walker.blocks.step(self.op)
        except RuleBroken as broken:
            raise cannot_compile(broken, self.op) from None


@dataclass(slots=True)
class _Entered(Statement):
    """A loop reads the blocks that it carries."""

    step: _Step
    loop: Statement

    def run(self, walk: Walk) -> None:
        self.step.run(walk)
        self.loop.run(walk)


def _steps(kernel: func.FuncOp, walker: _Walker) -> dict[type[Operation], MakeStatement]:
    def step(builder: Builder, op: Operation) -> Statement:
        return _Step(op, walker)

    kinds = {
        type(op)
        for op in kernel.walk()
        if type(op) in HANDLERS or (isinstance(op, READERS) and not op.regions)
    }
    return dict.fromkeys(kinds, step)


class _Builder(Builder):
    """Every iteration counts."""

    def __init__(
        self,
        function: func.FuncOp,
        effects: dict[type[Operation], MakeStatement],
        walker: _Walker,
    ):
        super().__init__(function, effects)
        self.walker = walker

    def _loop(self, op: scf.ForOp) -> Statement:
        return _Entered(_Step(op, self.walker), super()._loop(op))

    def _while(self, op: scf.WhileOp) -> Statement:
        return _Entered(_Step(op, self.walker), super()._while(op))

    def _varies(self, loop: scf.ForOp) -> bool:
        return True
