"""Nets of pipes during one launch: the arguments of the functions given to if_src(), if_dst()."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ttl.diagnostics import RuleBroken
from ttl.language.pipes import (
    DstPipeIdentity,
    Pipe,
    PipeNet,
    Route,
    SrcPipeIdentity,
    not_from_a_net,
    receiver_sends,
    source_receives,
)
from ttl.semantics.nodes import without_role
from ttl.semantics.types import Shape

from .pipes import PipeEnd, PipeRun

if TYPE_CHECKING:
    from .kernel import KernelRun


class SourceRole(SrcPipeIdentity):
    """A pipe in one kernel's if_src() on one node."""

    __slots__ = ("end",)

    def __init__(self, end: PipeEnd):
        super().__init__(end.run.route)
        self.end = end


class ReceiverRole(DstPipeIdentity):
    """A pipe in one kernel's if_dst() on one node."""

    __slots__ = ("end",)

    def __init__(self, end: PipeEnd):
        super().__init__(end.run.route)
        self.end = end


Role = TypeVar("Role", SourceRole, ReceiverRole)


class NetRun:
    """A net during one launch: the pipes that start and end at each node."""

    __slots__ = ("_at_receivers", "_at_sources", "runs")

    def __init__(self, routes: Iterable[Route], net: PipeNet):
        self._at_sources: dict[Shape, list[PipeRun]] = {}
        self._at_receivers: dict[Shape, list[tuple[PipeRun, int]]] = {}
        self.runs = [PipeRun(route, net) for route in routes]
        for run in self.runs:
            route = run.route
            self._at_sources.setdefault(route.source, []).append(run)
            for index, node in enumerate(route.receivers, 1):
                self._at_receivers.setdefault(node, []).append((run, index))

    def sources(self, kernel: KernelRun) -> list[SourceRole]:
        runs = self._at_sources.get(kernel.coordinate, ())
        return [SourceRole(PipeEnd(run, kernel, 0)) for run in runs]

    def receivers(self, kernel: KernelRun) -> list[ReceiverRole]:
        runs = self._at_receivers.get(kernel.coordinate, ())
        return [ReceiverRole(PipeEnd(run, kernel, index)) for run, index in runs]


class NetRuns:
    """The nets of one launch, each created when a kernel first uses it."""

    __slots__ = ("_declared", "_grid", "_runs")

    def __init__(self, declared: tuple[PipeNet, ...], grid: Shape):
        self._declared = declared
        self._grid = grid
        self._runs: dict[int | PipeNet, NetRun] = {}

    @property
    def are_used(self) -> bool:
        return bool(self._runs)

    def find(self, net: PipeNet) -> NetRun:
        key: int | PipeNet = net
        index = net.index
        # A body that runs once per node declares its nets once per node: those are one net.
        if index is not None and index < len(self._declared):
            key = index if self._declared[index].pipes == net.pipes else net
        run = self._runs.get(key)
        if run is None:
            declared = self._declared[key] if isinstance(key, int) else key
            run = self._runs[key] = NetRun(declared.routes(self._grid), net)
        return run

    def pipes(self) -> Iterator[PipeRun]:
        for net in self._runs.values():
            yield from net.runs


def source_of(kernel: KernelRun, pipe: object) -> SourceRole | None:
    """Find the role for sending through a `ttl.Pipe` itself; None for anything else."""
    if not isinstance(pipe, Pipe):
        return None
    given = _find_given_role(pipe, kernel.source_roles)
    return given or _find_own_role(kernel, pipe, kernel.sources, "src")


def receiver_of(kernel: KernelRun, pipe: object) -> ReceiverRole | None:
    """Find the role for receiving from a `ttl.Pipe` itself; None for anything else."""
    if not isinstance(pipe, Pipe):
        return None
    given = _find_given_role(pipe, kernel.receiver_roles)
    return given or _find_own_role(kernel, pipe, kernel.receivers, "dst")


def _find_given_role(pipe: Pipe, roles: Mapping[PipeNet, Sequence[Role]]) -> Role | None:
    """Find the pipe's role in a callback that is running around the copy."""
    known = (role for of_net in roles.values() for role in of_net if role.open_calls)
    return next((role for role in known if role.route.pipe == pipe), None)


def _find_own_role(
    kernel: KernelRun, pipe: Pipe, roles_in: Callable[[PipeNet], list[Role]], kind: str
) -> Role | None:
    """Find the pipe's role on this node without a callback; None if the pipe is in no net."""
    if pipe.home is None:
        return None
    net, number = pipe.home
    run = kernel.simulation.nets.find(net).runs[number]
    found = next((role for role in roles_in(net) if role.end.run is run), None)
    if found is None:
        raise without_role(pipe.name, kind)
    own = type(found)(found.end)
    own.open_calls = 1
    return own


def wrong_role(source: object, destination: object) -> RuleBroken | None:
    """Report a pipe at the wrong end of a copy, if there is one."""
    if isinstance(destination, ReceiverRole):
        return receiver_sends(destination.end.run.name)
    if isinstance(source, SourceRole):
        return source_receives(source.end.run.name)
    return not_from_a_net(source, destination)
