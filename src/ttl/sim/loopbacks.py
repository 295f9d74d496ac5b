"""Sends of nodes that receive what they send: rule OWN of pipes.

Whether the node's own receive goes into the sent block is known only when the kernel makes it. So
the send waits for that receive too, until no kernel can continue. That would be a deadlock: it is
remembered, and reported if the receive is a different one or never comes.
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
    """The sends in one run that may receive their own data."""

    __slots__ = ("_faults", "_users", "nets")

    def __init__(self) -> None:
        self._faults: dict[tuple[Shape, Place], KernelFault] = {}  # the first one, by node and copy
        self._users: dict[PipeNet, int] = {}
        self.nets: set[PipeNet] = set()  # nets in which a source has received its own data

    def resume_sends(self, simulation: Simulation) -> bool:
        """Let some of these sends continue when no kernel can; return False if there are none.

        In nets that several kernels of the node may receive from, only one send continues: if
        another kernel posts, it may be able to after that.
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
        """Count the kernels of a node that see the net, except through lists."""
        net = send.meeting.pipe.net
        if net not in self._users:
            moving = [each for each in kernels if each.kind is KernelKind.DATAMOVEMENT]
            self._users[net] = sum(
                [any(value is net for value in each.find_visible().values()) for each in moving]
            )
        return self._users[net]

    def fault_of(self, send: PipeSend) -> KernelFault:
        """Return the deadlock remembered for a send."""
        return self._faults[_key(send)]

    def check_end(self, pipes: Iterable[PipeRun]) -> None:
        """Raise the deadlock of a send whose kernel ended without receiving its own data."""
        for pipe in pipes:
            for send in pipe.owed:
                if send.kernel.is_finished:
                    raise self.fault_of(send)

    def notes(self) -> Iterator[Diagnostic]:
        for net in self.nets:
            yield source_left_out(net.name, net.span)


def _key(send: PipeSend) -> tuple[Shape, Place]:
    return send.kernel.coordinate, send.place
