"""Transfers between tensors, blocks and pipes."""

from __future__ import annotations

from ttl.diagnostics import RuleBroken, codes

from .engine import Engine, engine, running_engine
from .transfer import Transfer


def _not_a_transfer(value: object) -> RuleBroken:
    from .described import described  # imports this module

    return codes.WRONG_ARGUMENT.broken(
        f"GroupTransfer.add() takes what ttl.copy() returns, not {described(value)}",
        "write group.add(ttl.copy(source, destination))",
    )


class GroupTransfer:
    """Copies to wait for together. Data movement kernels only."""

    __slots__ = ("is_done", "transfers")

    def __init__(self) -> None:
        engine("ttl.GroupTransfer()").require_data_movement("ttl.GroupTransfer()")
        self.transfers: list[Transfer] = []
        self.is_done = False

    def add(self, transfer: Transfer) -> None:
        """Add a transfer for wait_all(); it can no longer be waited for alone."""
        self._refuse_if_done("add()")
        if not isinstance(transfer, Transfer):
            raise _not_a_transfer(transfer)
        transfer.join(self)
        self.transfers.append(transfer)

    def wait_all(self) -> None:
        """Wait until all copies of the group are complete; the group is dead afterwards."""
        self._refuse_if_done("wait_all()")
        self.is_done = True
        for transfer in self.transfers:
            transfer.finish()

    def _refuse_if_done(self, call: str) -> None:
        if self.is_done:
            raise codes.TRANSFER_REUSED.broken(
                f"{call} on a group of transfers that was waited for already",
                "make a new ttl.GroupTransfer()",
            )


def copy(src: object, dst: object) -> Transfer:
    """Data movement kernels: start a copy.

    It connects a tensor slice and a block, two blocks of a node, or a block and a pipe.
    """
    running: Engine | None = running_engine(None)
    if running is None:
        running = engine("ttl.copy()")
    return running.copy(src, dst)
