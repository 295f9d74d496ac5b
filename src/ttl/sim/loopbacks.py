"""Sends of nodes that receive what they send: rule OWN of pipes.

Whether the node's own receive goes into the block that was sent is only known when it is made. So
such a send waits for it like for all others until no kernel can go on; what is a deadlock then is
remembered, and told if the receive is another one, or never comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ttl.diagnostics import Diagnostic, KernelFault
from ttl.diagnostics.loopback import source_left_out
from ttl.language.operation import KernelFunction
from ttl.language.pipes import PipeNet
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.types import Shape

from .pipes import PipeRun, PipeSend
from .place import Place

if TYPE_CHECKING:
    from .simulation import Simulation


class Loopbacks:
    """Those of one run."""

    __slots__ = ("_faults", "_users", "nets")

    def __init__(self) -> None:
        self._faults: dict[tuple[Shape, Place], KernelFault] = {}  # by node and copy, the first
        self._users: dict[PipeNet, int] = {}
        self.nets: set[PipeNet] = set()  # of which a source has received what it sent

    def go_on(self, simulation: Simulation) -> bool:
        """No kernel can go on: some of these sends do. False if there is none.

        Of nets that another kernel of the node may receive from, one at a time: where it is the
        other one that posts, something else may let it.
        """
        waiting = [
            kernel.waiting_for
            for kernel in simulation.kernels
            if isinstance(kernel.waiting_for, PipeSend) and kernel.waiting_for.misses_itself_only
        ]
        if not waiting:
            return False
        if any(_key(send) not in self._faults for send in waiting):
            fault = simulation.deadlock()
            for send in waiting:
                self._faults.setdefault(_key(send), fault)
        kernels = simulation.program.kernels
        certain = [send for send in waiting if self._users_of_net(send, kernels) == 1]
        for send in certain or waiting[:1]:
            send.post_for_itself()
        return True

    def _users_of_net(self, send: PipeSend, kernels: Iterable[KernelFunction]) -> int:
        """How many kernels of a node see it; what they have in lists is not counted."""
        net = send.meeting.pipe.net
        if net not in self._users:
            moving = [each for each in kernels if each.kind is KernelKind.DATAMOVEMENT]
            self._users[net] = sum(
                [any(value is net for value in each.find_visible().values()) for each in moving]
            )
        return self._users[net]

    def fault_of(self, send: PipeSend) -> KernelFault:
        """The deadlock that it was."""
        return self._faults[_key(send)]

    def check_end(self, pipes: Iterable[PipeRun]) -> None:
        """A kernel has ended that had to receive what it sent."""
        for pipe in pipes:
            for send in pipe.owed:
                if send.kernel.is_finished:
                    raise self.fault_of(send)

    def notes(self) -> Iterator[Diagnostic]:
        for net in self.nets:
            yield source_left_out(net.name, net.span)


def _key(send: PipeSend) -> tuple[Shape, Place]:
    return send.kernel.coordinate, send.place
