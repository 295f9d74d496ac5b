"""Semaphores during one launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttl.diagnostics import RuleBroken, codes
from ttl.language.semaphores import SEMAPHORE_VALUES, Semaphore, semaphore_value
from ttl.semantics.types import Shape

if TYPE_CHECKING:
    from .kernel import KernelRun


class NodeSemaphore:
    """The value of a semaphore on one node."""

    __slots__ = ("declared", "node", "sleepers", "value")

    def __init__(self, declared: Semaphore, node: Shape):
        self.declared = declared
        self.node = node
        self.value = declared.initial
        self.sleepers: list[KernelRun] = []

    def set(self, value: int, kernel: KernelRun) -> None:
        if kernel.races is not None:
            kernel.races.on_semaphore_change(kernel, self, value, is_set=True)
        self._change(value, kernel)

    def increment(self, added: int, kernel: KernelRun) -> None:
        if kernel.races is not None:
            kernel.races.on_semaphore_change(kernel, self, added, is_set=False)
        self._change((self.value + added) % SEMAPHORE_VALUES, kernel)

    def _change(self, value: int, kernel: KernelRun) -> None:
        self.value = value
        if self.sleepers:  # they check when they run, and can miss a value
            kernel.simulation.ready.extend(self.sleepers)
            self.sleepers = []


@dataclass(frozen=True, slots=True)
class SemaphoreWait:
    """The condition that a sleeping kernel waits for."""

    semaphore: NodeSemaphore
    wanted: int
    at_least: bool

    @property
    def is_over(self) -> bool:
        value = self.semaphore.value
        return value >= self.wanted if self.at_least else value == self.wanted


class SemaphoreRuns:
    """The semaphores of one launch on all nodes, each created at its first use."""

    __slots__ = ("_declared", "_runs")

    def __init__(self, declared: tuple[Semaphore, ...]):
        self._declared = declared
        self._runs: dict[tuple[int, Shape], NodeSemaphore] = {}

    @property
    def are_used(self) -> bool:
        return bool(self._runs)

    def find(self, semaphore: Semaphore, node: Shape) -> NodeSemaphore:
        run = self._runs.get((semaphore.index, node))
        if run is not None:
            return run
        if semaphore.index >= len(self._declared):
            raise RuleBroken(
                codes.WRONG_ARGUMENT,
                f"semaphore `{semaphore.name}` belongs to another operation",
                helps=("make the semaphore in the body of the operation that uses it",),
            )
        declared = self._declared[semaphore.index]
        return self._runs.setdefault((semaphore.index, node), NodeSemaphore(declared, node))


def wait_for(kernel: KernelRun, semaphore: Semaphore, value: int, at_least: bool) -> None:
    run = kernel.simulation.semaphores.find(semaphore, kernel.coordinate)
    wait = SemaphoreWait(run, semaphore_value(value, "the value waited for"), at_least)
    if kernel.races is not None:
        kernel.races.on_semaphore_wait(kernel, wait)
    while not wait.is_over:
        run.sleepers.append(kernel)
        kernel.sleep(wait, run.declared.name, run.value)
    if kernel.races is not None:
        kernel.races.on_semaphore_pass(kernel, wait)


def set_value(
    kernel: KernelRun, semaphore: Semaphore, nodes: tuple[Shape, ...], value: int
) -> None:
    checked = semaphore_value(value, "the value set")
    for node in nodes:
        kernel.simulation.semaphores.find(semaphore, node).set(checked, kernel)


def increment(kernel: KernelRun, semaphore: Semaphore, node: Shape, value: int) -> None:
    run = kernel.simulation.semaphores.find(semaphore, node)
    added = semaphore_value(value, "the value added")
    run.increment(added, kernel)
