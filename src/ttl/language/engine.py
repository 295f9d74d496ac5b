"""What the language needs from whoever runs it, and how it is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.current_engine import ENGINE as ENGINE
from ttl.semantics.current_engine import SCOPE as SCOPE

if TYPE_CHECKING:
    from ttl.semantics.ops import BlockOp
    from ttl.semantics.tensors import TensorSlice
    from ttl.semantics.types import Shape

    from .block import Block, BlockExpression
    from .buffer import BufferState, DataflowBuffer
    from .copies import Transfer
    from .operation import Operation, OperationScope
    from .pipes import DstPipeIdentity, PipeNet, SrcPipeIdentity
    from .semaphores import Semaphore


class Engine(Protocol):
    """Runs kernels: the target of every call a kernel makes."""

    @property
    def grid(self) -> Shape: ...
    @property
    def is_compute(self) -> bool: ...
    def node(self) -> Shape: ...
    def reserve(self, buffer: DataflowBuffer) -> Block: ...
    def wait(self, buffer: DataflowBuffer) -> Block: ...
    def can_reserve(self, buffer: DataflowBuffer) -> bool: ...
    def can_wait(self, buffer: DataflowBuffer) -> bool: ...
    def buffer_state(self, buffer: DataflowBuffer) -> BufferState: ...
    def slice(self, tensor: Any, index: Any) -> TensorSlice: ...
    def copy(self, source: Any, destination: Any) -> Transfer: ...
    def multicast(self, source: Any, destination: Any, nodes: tuple[Shape, ...]) -> Transfer: ...
    def require_data_movement(self, call: str) -> None: ...
    def if_src(self, net: PipeNet, function: Callable[[SrcPipeIdentity], object]) -> None: ...
    def if_dst(self, net: PipeNet, function: Callable[[DstPipeIdentity], object]) -> None: ...
    def semaphore_wait(self, semaphore: Semaphore, value: int, *, at_least: bool) -> None: ...
    def semaphore_set(
        self, semaphore: Semaphore, nodes: tuple[Shape, ...], value: int, call: str
    ) -> None: ...
    def semaphore_inc(self, semaphore: Semaphore, node: Shape, value: int) -> None: ...
    def apply(
        self, op: BlockOp, operands: tuple[Any, ...], parameters: Mapping[str, Any] = ...
    ) -> BlockExpression: ...
    def accumulate(self, block: Block, value: Any) -> None: ...
    def signpost(self, name: str, is_end: bool) -> None: ...


class LaunchHook:
    """Where a call of an operation goes. `ttl/__init__` binds it to the driver."""

    launch: Callable[[Operation, tuple[Any, ...], dict[str, Any]], None]


LAUNCH_HOOK = LaunchHook()


def engine(call: str) -> Engine:
    """The engine that runs the calling kernel; `call` is named in the error if there is none."""
    running: Engine | None = ENGINE.get(None)
    if running is None:
        place = "in a kernel of a running operation"
        raise outside(call, place, "@ttl.compute() or @ttl.datamovement()")
    return running


def scope(call: str) -> OperationScope:
    """The operation whose body is being run."""
    current: OperationScope | None = SCOPE.get(None)
    if current is None:
        raise outside(call, "in the body of an operation", "@ttl.operation(...)")
    return current


def outside(call: str, place: str, decorator: str) -> UsageError:
    """`call` was made in a place where it does not work."""
    broken = RuleBroken(
        codes.OUTSIDE_OPERATION,
        f"{call} works only {place}",
        helps=(f"move the call into a function decorated with {decorator}",),
    )
    return UsageError(broken.at(calling_span()))
