"""The interface of engines to the language, and how calls find the running engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ttl.diagnostics import UsageError, codes
from ttl.semantics.current_engine import ENGINE as ENGINE
from ttl.semantics.current_engine import SCOPE as SCOPE
from ttl.semantics.current_engine import running_engine as running_engine

from .calls import refused

if TYPE_CHECKING:
    from ttl.semantics.ops import BlockOp
    from ttl.semantics.tensors import TensorSlice
    from ttl.semantics.types import Shape

    from .block import Block, BlockExpression
    from .buffer import BufferState, DataflowBuffer
    from .declared import OperationScope
    from .operation import Operation
    from .pipes import DstPipeIdentity, PipeNet, SrcPipeIdentity
    from .semaphores import Semaphore
    from .transfer import Transfer


class Engine:
    """Runs kernels: every call in a kernel goes to its engine."""

    __slots__ = ()

    grid: Shape
    is_compute: bool

    def node(self) -> Shape:
        raise NotImplementedError

    def reserve(self, buffer: DataflowBuffer) -> Block:
        raise NotImplementedError

    def wait(self, buffer: DataflowBuffer) -> Block:
        raise NotImplementedError

    def release_oldest(self, buffer: DataflowBuffer, *, is_push: bool) -> None:
        raise NotImplementedError

    def begin_publish(self, buffer: DataflowBuffer) -> None:
        """Start to publish the buffer; reserve() and publish_block() follow for each block."""
        raise NotImplementedError

    def publish_block(self, block: Block) -> None:
        raise NotImplementedError

    def can_reserve(self, buffer: DataflowBuffer) -> bool:
        raise NotImplementedError

    def can_wait(self, buffer: DataflowBuffer) -> bool:
        raise NotImplementedError

    def buffer_state(self, buffer: DataflowBuffer) -> BufferState:
        raise NotImplementedError

    def slice(self, tensor: object, index: object) -> TensorSlice:
        raise NotImplementedError

    def copy(self, source: object, destination: object) -> Transfer:
        raise NotImplementedError

    def require_data_movement(self, call: str) -> None:
        raise NotImplementedError

    def sources(self, net: PipeNet) -> Sequence[SrcPipeIdentity]:
        """Return the pipes of the net that start at this node; for if_src()."""
        raise NotImplementedError

    def receivers(self, net: PipeNet) -> Sequence[DstPipeIdentity]:
        """Return the pipes of the net that end at this node; for if_dst()."""
        raise NotImplementedError

    def semaphore_wait(self, semaphore: Semaphore, value: object, *, at_least: bool) -> None:
        raise NotImplementedError

    def semaphore_set(
        self, semaphore: Semaphore, nodes: tuple[Shape, ...], value: object, call: str
    ) -> None:
        raise NotImplementedError

    def semaphore_inc(self, semaphore: Semaphore, node: Shape, value: object) -> None:
        raise NotImplementedError

    def apply(
        self, op: BlockOp, operands: tuple[object, ...], parameters: Mapping[str, object]
    ) -> BlockExpression:
        raise NotImplementedError

    def binary(self, op: BlockOp, left: object, right: object) -> BlockExpression:
        """Apply an operator, like apply() without parameters."""
        raise NotImplementedError

    def accumulate(self, block: Block, value: object) -> None:
        raise NotImplementedError

    def read_element(self, block: Block, coordinates: Shape) -> float:
        raise NotImplementedError

    def write_element(self, block: Block, coordinates: Shape, value: float) -> None:
        raise NotImplementedError

    def record_signpost(self, made: object) -> None:
        """Record a new signpost, to check that a `with` uses it."""
        raise NotImplementedError

    def signpost(self, signpost: object, is_end: bool) -> None:
        raise NotImplementedError


class Bound(Protocol):
    """A repeatable call, which `operation.bind` returns."""

    @property
    def artifact(self) -> object:
        """The compiled artifact; None on the simulator."""

    def __call__(self, *tensors: object) -> None:
        """Run on the same tensors, or on others of their kinds."""


class LaunchHook:
    """The functions that calls of operations use; `ttl/__init__` binds them to the driver."""

    define: Callable[[], None]  # loads what calls need, when an operation is defined
    launch: Callable[[Operation, tuple[object, ...], dict[str, object]], None]
    bind: Callable[[Operation, tuple[object, ...], dict[str, object]], Bound]
    compile: Callable[[Operation, tuple[object, ...], dict[str, object]], object]  # the artifact
    # Returns the function that declares the kernels: the operation's own, or one made from it.
    body_of: Callable[[Operation, dict[str, object]], Callable[..., object]]
    # Measures the configurations of a tuned operation for a call.
    tune: Callable[[object, tuple[object, ...], dict[str, object]], object]
    last_grid: Shape | None = None  # the last call's


LAUNCH_HOOK = LaunchHook()


def engine(call: str) -> Engine:
    """Return the engine that runs the calling kernel; raise an error about `call` if none does."""
    running: Engine | None = running_engine(None)
    if running is None:
        place = "in a kernel of a running operation"
        raise outside(call, place, "@ttl.compute() or @ttl.datamovement()")
    return running


def scope(call: str) -> OperationScope:
    """Return the scope of the operation whose body is running; raise an error if none is."""
    current: OperationScope | None = SCOPE.get(None)
    if current is None:
        raise outside(call, "in the body of an operation", "@ttl.operation(...)")
    return current


def outside(call: str, place: str, decorator: str) -> UsageError:
    """Describe a call in a place where it does not work."""
    help_text = f"move the call into a function decorated with {decorator}"
    return refused(f"{call} works only {place}", help_text, code=codes.OUTSIDE_OPERATION)
