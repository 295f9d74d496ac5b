"""Step every block of a kernel through its states, in the order of the operations.

Runs after ttl-insert-cb-sync, when releases and waits are explicit. A mistake happens on every path
that gets there. The check walks a loop body once, and again if it changes blocks from before the
loop. If something is wrong only on some paths, under a condition, or in an iteration other than the
first, it is a doubt, which exact_states decides. If that cannot, whatever is wrong on every path
that gets there is a mistake.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ttl.diagnostics import CompileError, Diagnostic, RuleBroken, Severity
from ttl.dialects import ttl
from ttl.dialects.building import around
from ttl.dialects.ttkernel import name_of

from ..module_pass import cannot_compile, kernels, not_yet
from ..path_walker import Fork, PathWalker
from .block_use import BlockUse
from .block_walk import BlockWalk


def verify_block_states(module: ModuleOp) -> BlockUse:
    """Return the use of blocks; raise CompileError with the first mistake of each kernel."""
    found = [(kernel, _check(kernel)) for kernel in kernels(module)]
    if mistakes := [result for _, result in found if isinstance(result, Diagnostic)]:
        raise CompileError(*mistakes)
    walked = [(kernel, walker) for kernel, walker in found if isinstance(walker, _Walker)]
    return BlockUse(
        {
            kernel: walker.suspected
            for kernel, walker in walked
            if walker.has_doubt and not _hands_over(kernel)
        },
        [each for _, walker in walked for each in walker.warnings.values()],
        [op for _, walker in walked for op in walker.unset_prints()],
    )


def _hands_over(op: Operation) -> bool:
    """Does it hand over values? They have the same name in every iteration, so after the first one
    a walk cannot distinguish them.
    """
    return any(isinstance(inner, (ttl.HandOverOp, ttl.HandOverTransferOp)) for inner in op.walk())


MOST_PATHS = 64


class _TooManyPaths(Exception):
    """Raised if a kernel has more paths than the check walks."""


def _check(kernel: func.FuncOp) -> Diagnostic | _Walker:
    """Return the mistake on every path, or the walker of the paths."""
    walker = _Walker()
    try:
        paths = walker.block(kernel.body.block, [BlockWalk()])
    except CompileError as error:
        return error.diagnostics[0]
    except _TooManyPaths:
        walker.has_doubt = True
        return walker
    if walker.suspected is not None and (not paths or _hands_over(kernel)):
        return walker.suspected
    found = [mistake for path in paths if (mistake := path.find_leftover(name_of(kernel)))]
    if len(found) < len(paths):
        walker.has_doubt |= bool(found)
    elif found[0].severity is Severity.ERROR:
        return found[0]
    else:
        walker.warnings[kernel] = found[0]
    return walker


class _Walker(PathWalker[BlockWalk]):
    def __init__(self) -> None:
        self.has_doubt = False
        self.suspected: Diagnostic | None = None  # the first mistake under a condition
        self.warnings: dict[Operation, Diagnostic] = {}
        self._prints: dict[ttl.PrintOp, set[bool]] = {}  # did it show a block without data?

    def unset_prints(self) -> list[ttl.PrintOp]:
        """Return the prints that show no data; raise CompileError for one that varies by path."""
        for op, answers in self._prints.items():
            if len(answers) > 1:
                raise not_yet(
                    "print() of a block that holds data on some paths only",
                    op,
                    "print it where it was written, or in each branch by itself",
                )
        return [op for op, answers in self._prints.items() if True in answers]

    def step(self, op: Operation, paths: list[BlockWalk]) -> list[BlockWalk]:
        """Return paths that can continue; raise CompileError if none can and one gets here."""
        going_on, refused = [], None
        for path in paths:
            try:
                if isinstance(op, ttl.PrintOp):
                    self._prints.setdefault(op, set()).add(path.is_unset(op))
                path.step(op)
                going_on.append(path)
            except RuleBroken as broken:
                refused = refused or cannot_compile(broken, op)
        if refused is not None and not going_on:
            if not any(isinstance(outer, Fork) for outer in around(op)):
                raise refused
            self.suspected = self.suspected or refused.diagnostics[0]
        tolerated = [found for path in going_on if (found := path.take_tolerated()) is not None]
        self.has_doubt |= refused is not None or 0 < len(tolerated) < len(paths)
        if tolerated and len(tolerated) == len(paths):
            self.warnings[op] = tolerated[0]
        return going_on

    def loop(self, op: Operation, paths: list[BlockWalk]) -> list[BlockWalk]:
        """Walk a second iteration if the first changed earlier blocks; there may be none at all."""
        before = self.step(op, paths)
        after = self.regions(op, [path.copy(path.facts) for path in before])
        known = before[0].known() if before else ()
        changes = {path.summary(known) for path in after} - {path.summary(known) for path in before}
        if changes and not _hands_over(op):
            decided = {key for path in before for key in path.facts}
            again = [
                path.copy({key: fact for key, fact in path.facts.items() if key in decided})
                for path in after
            ]
            known_warnings, suspected = dict(self.warnings), self.suspected
            try:
                self.regions(op, again)
            except (CompileError, _TooManyPaths):
                self.has_doubt = True
            self.has_doubt |= self.warnings.keys() != known_warnings.keys()
            self.warnings, self.suspected = known_warnings, suspected
        return after

    def merge(self, paths: list[BlockWalk]) -> list[BlockWalk]:
        distinct = {path.signature(): path for path in reversed(paths)}
        if len(distinct) > MOST_PATHS:
            raise _TooManyPaths
        return list(reversed(distinct.values()))
