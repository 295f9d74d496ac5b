"""Semaphores of the ttl dialect."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from typing import ClassVar

from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    ModuleOp,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.irdl import operand_def, opt_prop_def, prop_def, traits_def, var_operand_def
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..building import QuickOperation
from ..definitions import define_operation
from .pipe_nets import module_of

__all__ = [
    "DeclareSemaphoreOp",
    "SemaphoreIncRemoteOp",
    "SemaphoreOp",
    "SemaphoreSetMulticastOp",
    "SemaphoreSetOp",
    "SemaphoreSetRemoteOp",
    "SemaphoreWaitOp",
    "semaphores_of",
]


class DeclareSemaphoreOp(QuickOperation):
    """A value on each node; ttl-assign-pipe-resources sets its index."""

    name = "ttl.semaphore"
    sym_name = prop_def(SymbolNameConstraint())
    initial = prop_def(IntegerAttr)
    index = opt_prop_def(IntegerAttr)
    traits = traits_def(SymbolOpInterface())


class SemaphoreOp(QuickOperation, ABC):
    """An operation on a semaphore, on the nodes in `place`.

    `place` is empty for the own node, x and y of another node, or the four corners x, y, x, y of a
    rectangle of nodes, including the last. The value has 32 bits without sign.
    """

    semaphore = prop_def(SymbolRefAttr)
    value = operand_def(IndexType)
    place = var_operand_def(IndexType)
    PLACES: ClassVar[int]

    @property
    def declaration(self) -> DeclareSemaphoreOp:
        for op in semaphores_of(module_of(self)):
            if op.sym_name == self.semaphore.root_reference:
                return op
        raise VerifyException(f"{self.name}: there is no semaphore {self.semaphore}")

    def verify_(self) -> None:
        assert self.declaration
        if len(self.place) != self.PLACES:
            raise VerifyException(f"{self.name} has {self.PLACES} coordinates")


class SemaphoreWaitOp(SemaphoreOp):
    """Wait until the node's own value is `value`, or with `at_least` not less."""

    name = "ttl.semaphore_wait"
    at_least = opt_prop_def(UnitAttr)
    PLACES: ClassVar[int] = 0


SemaphoreSetOp = define_operation("ttl.semaphore_set", SemaphoreOp, PLACES=0)
SemaphoreSetRemoteOp = define_operation("ttl.semaphore_set_remote", SemaphoreOp, PLACES=2)
SemaphoreIncRemoteOp = define_operation("ttl.semaphore_inc_remote", SemaphoreOp, PLACES=2)
# On all nodes of a rectangle, which may include the own node.
SemaphoreSetMulticastOp = define_operation("ttl.semaphore_set_multicast", SemaphoreOp, PLACES=4)


def semaphores_of(module: ModuleOp) -> Iterator[DeclareSemaphoreOp]:
    return (op for op in module.ops if isinstance(op, DeclareSemaphoreOp))
