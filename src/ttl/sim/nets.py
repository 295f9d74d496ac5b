"""Nets of pipes during one launch: what if_src() and if_dst() give to the user's functions.

Not compiled, as pipes.py is: whether a call failed or what it called is seen by the traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import RuleBroken, codes
from ttl.language.described import described
from ttl.language.pipes import (
    DstPipeIdentity,
    PipeNet,
    SrcPipeIdentity,
    not_from_a_net,
    receiver_sends,
    source_receives,
)
from ttl.semantics.types import Shape

from .pipes import PipeRun

if TYPE_CHECKING:
    from .kernel import KernelRun


class SourceRole(SrcPipeIdentity):
    """A pipe in if_src() of one kernel on one node."""

    __slots__ = ("kernel", "open_calls", "run")

    def __init__(self, run: PipeRun, kernel: KernelRun):
        super().__init__(run.route)
        self.run = run
        self.kernel = kernel
        self.open_calls = 0  # of functions given to if_src() that have this pipe


class ReceiverRole(DstPipeIdentity):
    """A pipe in if_dst() of one kernel on one node."""

    __slots__ = ("kernel", "open_calls", "run")

    def __init__(self, run: PipeRun, kernel: KernelRun):
        super().__init__(run.route)
        self.run = run
        self.kernel = kernel
        self.open_calls = 0


Role = SourceRole | ReceiverRole
Roles = tuple[list[SourceRole], list[ReceiverRole]]


class NetRun:
    """A net during one launch: which pipes start and end at a node."""

    __slots__ = ("at_receivers", "at_sources")

    def __init__(self, net: PipeNet, grid: Shape):
        self.at_sources: dict[Shape, list[PipeRun]] = {}
        self.at_receivers: dict[Shape, list[PipeRun]] = {}
        for route in net.routes(grid):
            run = PipeRun(route)
            self.at_sources.setdefault(route.source, []).append(run)
            for node in route.receivers:
                self.at_receivers.setdefault(node, []).append(run)

    def roles(self, kernel: KernelRun) -> Roles:
        node = kernel.coordinate
        return (
            [SourceRole(run, kernel) for run in self.at_sources.get(node, ())],
            [ReceiverRole(run, kernel) for run in self.at_receivers.get(node, ())],
        )


class NetRuns:
    """The nets of one launch, each made when a kernel first uses it."""

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
        # A body that is run for every node makes its nets for every node: those are one net.
        if index is not None and index < len(self._declared):
            key = index if self._declared[index].pipes == net.pipes else net
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = NetRun(net, self._grid)
        return run


def call_for_each(roles: Iterable[Role], function: Callable[[Any], object], call: str) -> None:
    """What if_src() and if_dst() do."""
    for role in roles:
        role.open_calls += 1
        try:
            function(role)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            raise _wrong_function(call, function, error) from None  # the call itself failed
        finally:
            role.open_calls -= 1


def wrong_role(source: Any, destination: Any) -> RuleBroken | None:
    """What is wrong with a copy that has a pipe at one end, if it has one."""
    if isinstance(destination, ReceiverRole):
        return receiver_sends(destination.run.name)
    if isinstance(source, SourceRole):
        return source_receives(source.run.name)
    return not_from_a_net(source, destination)


def _wrong_function(call: str, function: object, error: TypeError) -> RuleBroken:
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        f"PipeNet.{call}() calls {described(function)} with one pipe: "
        f"it {str(error).partition('() ')[2] or error}"
        if callable(function)
        else f"PipeNet.{call}() takes a function, not {described(function)}",
        helps=(f"write `def f(pipe): ...` and {call}(f)",),
    )
