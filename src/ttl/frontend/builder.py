"""The evaluation of one kernel: its position, and the operations made so far.

Names are bound to Python objects (constants, buffers, tensors, modules, functions: everything the
operation's body computed) or to run-time values. Calls of functions are evaluated in place, each in
a frame of its own; a variable is a name in a frame.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from ttl.diagnostics import Label, RuleBroken, Span, codes, wrong_argument
from ttl.diagnostics.names import undefined_name
from ttl.dialects import ttl
from ttl.dialects.building import integer
from ttl.dialects.conditions import Facts
from ttl.language.operation import KernelFunction
from ttl.language.signposts import signpost
from ttl.semantics.kernel_kinds import KernelKind, wrong_kind
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.tensors import with_tensor_name
from ttl.source import bindings, tree
from ttl.source.bindings import Around, Binding, Scope
from ttl.source.functions import own_code, place_of

from .environment import MISSING, Environment, definition, repaired_trees
from .handlers import Handlers
from .handles import Handles
from .hir import (
    INDEX,
    BlockValue,
    Body,
    HeldBlock,
    Op,
    Origin,
    PipeValue,
    RunTime,
    Scalar,
    Value,
    value_name,
)
from .nets import Nets
from .problems import (
    MOST_UNROLLED,
    FlowBroken,
    Mistake,
    Raised,
    Unusable,
    describe,
    not_in_kernels,
    not_yet,
)
from .state import ContainerT, Do, Frame, Local, Made, OpenLoop, Path, Reached, functions_in

if TYPE_CHECKING:
    from .continuations import Steps
    from .looping import Failure

MOST_PATHS = 256


class KernelBuilder(ABC):
    """The evaluation of one kernel."""

    def __init__(
        self,
        kernel: KernelFunction,
        environment: Environment,
        grid: tuple[int, ...],
        tensors: Mapping[str, TensorLike],
        device_api: str,
        nets: Nets,
        handlers: Handlers,
        keeps_kinds: bool = False,
    ):
        self.kernel, self.grid, self.device_api, self.nets = kernel, grid, device_api, nets
        self.handlers = handlers
        self.names_around: Collection[str] = ()  # of the operation, to correct spelling
        # If a variable is an int on one path and a float on another, it is a float. Only print()
        # and isinstance() can tell: kernels with them keep such paths apart.
        self.keeps_kinds = keeps_kinds
        self.mixes_kinds = self.tells_kinds = False
        # Includes the supplied releases and waits.
        self.repaired = repaired_trees(kernel.function)
        self.state = Reached()
        self.entry = self.body = Body()
        self.node: tree.Node | None = None  # being evaluated
        self.loops: tuple[OpenLoop, ...] = ()  # around this place, innermost last
        self.pipes: tuple[PipeValue, ...] = ()  # of the net functions around it, innermost last
        self.is_trial = False  # can evaluation fall back if values cannot be carried?
        self.may_be_unrolled = False  # the loop being evaluated
        self.frame_count = self.block_count = self.number_count = 0
        self.known_loops: dict[Hashable, Failure] = {}  # by their starting state
        self.parts: set[tree.Node] = set()  # loops in nests without their first iteration
        self.signposts: dict[signpost, Origin | None] = {}  # made, but not entered on any path
        # Variables that are None before a loop, but not after each iteration.
        self.changing: set[tuple[tree.Node, Local]] = set()
        file = own_code(kernel.function).co_filename
        self.frame = self.new_frame(file, Scope(kernel.name), environment=environment)
        moves = kernel.kind is KernelKind.DATAMOVEMENT  # compute kernels only ask for shapes
        captured = list(kernel.captures().values()) if moves else []
        self.handles = Handles(self.entry, tensors, captured)

    # In other modules -----------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, node: tree.Expression) -> object:
        """Return the value of an expression."""

    @abstractmethod
    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """Call any callable."""

    @abstractmethod
    def sequence(self, steps: Steps, after: Steps = ()) -> Steps:
        """Evaluate the steps and what they duplicate of `after`; return the steps left to do."""

    # Building -------------------------------------------------------------------------------------

    def add(self, op: Op) -> Op:
        """Append an operation for the syntax node being evaluated."""
        op.place = self.place
        self.body.add(op)
        return op

    def emit(
        self,
        becomes: type[Operation],
        operands: Iterable[RunTime] = (),
        properties: Mapping[str, Attribute] | None = None,
    ) -> Op:
        return self.add(Op(becomes, operands, (), properties))

    def value(
        self,
        becomes: type[Operation],
        operands: Iterable[RunTime],
        type: Attribute,
        properties: Mapping[str, Attribute] | None = None,
        hint: str | None = None,
    ) -> RunTime:
        op = self.add(Op(becomes, operands, (type,), properties))
        op.results[0].hint = hint
        return op.results[0]

    def scalar(
        self,
        becomes: type[Operation],
        operands: Iterable[RunTime],
        type: Attribute = INDEX,
        properties: Mapping[str, Attribute] | None = None,
    ) -> Scalar:
        return cast(Scalar, self.value(becomes, operands, type, properties))

    def block_value(
        self,
        becomes: type[Operation],
        operands: Iterable[RunTime],
        type: Attribute,
        properties: Mapping[str, Attribute] | None = None,
    ) -> BlockValue:
        return cast(BlockValue, self.value(becomes, operands, type, properties))

    def acquired(self, becomes: type[Operation], buffer: RunTime, type: Attribute) -> HeldBlock:
        block = cast(HeldBlock, self.value(becomes, [buffer], type))
        self.block_count += 1
        block.age = self.block_count
        return block

    def copied(self, operands: Iterable[RunTime], kind: str) -> RunTime:
        return self.value(ttl.CopyOp, operands, ttl.TransferType(StringAttr(kind)))

    def number(self, block: HeldBlock) -> Attribute:
        """Number a block, which tells its release apart from others."""
        if block.number is None:
            self.number_count += 1
            block.number = self.number_count
            block.acquire.attributes["number"] = integer(block.number)
        return integer(block.number)

    def release(self, becomes: type[ttl.ReleaseOp], block: HeldBlock) -> Op:
        op = self.emit(becomes, [block.buffer])
        op.attributes["number"] = self.number(block)
        return op

    # Places and mistakes --------------------------------------------------------------------------

    @property
    def span(self) -> Span | None:
        return None if self.node is None else self.frame.span(self.node)

    @property
    def place(self) -> Origin | None:
        return None if self.node is None else Origin(self.frame, self.node)

    @contextmanager
    def at(self, node: tree.Node) -> Iterator[None]:
        """Operations made and rules broken inside belong to `node`."""
        outer, self.node = self.node, node
        try:
            yield
        except RuleBroken as broken:
            raise self.mistake(broken) from None
        finally:
            self.node = outer

    def mistake(self, broken: RuleBroken) -> Mistake:
        sites = dict.fromkeys(self.frame.call_sites())  # a recursive function has one call site
        broken = with_tensor_name(broken, self.handles.tensor_name(broken.subject))
        found = broken.at(self.span)
        if isinstance(broken, Raised):
            found = replace(found, message=f"kernel `{self.kernel.name}` raised {found.message}")
        calls = tuple(Label(span, "called here") for span in sites)
        return Mistake(replace(found, secondary=found.secondary + calls), broken)

    def report(self, mistake: Mistake) -> None:
        if mistake.diagnostic is not None:
            self.state.note_mistake(mistake.diagnostic)

    # Paths ----------------------------------------------------------------------------------------

    def path(self, do: Do, facts: Facts | None = None) -> Path:
        """Run `do` on a fork of this state."""
        path = Path(self.state.fork(), Body())
        if facts is not None:
            path.state.facts = facts
        self.go_on(path, do)
        return path

    def go_on(self, path: Path, do: Do) -> None:
        """Continue a path with `do`; the path has its end even if `do` raises."""
        state, body = self.state, self.body
        self._switch(path.state)
        self.body = path.body
        try:
            do()
        finally:
            path.state = self.state
            self._switch(state)
            self.body = body

    def _switch(self, state: Reached) -> None:
        if self.state.containers:
            self.state.keep()
        if state.containers:
            state.resume()
        self.state = state

    def adopt(self, path: Path) -> None:
        """Continue from the end of a path."""
        self._switch(path.state)
        self.body.take(path.body)

    def attempt(self, do: Do) -> Path:
        """Try a path that ends if values cannot be carried, raising Mistake with `flow`.
        Mistakes of other kinds count even if another way is taken."""
        outer, self.is_trial = self.is_trial, True
        path = Path(self.state.fork(), Body(around=self.body))
        try:
            self.go_on(path, do)
        except FlowBroken as broken:
            raise self.mistake(broken) from None
        except Mistake as mistake:
            if mistake.flow is None:
                self.state.mistakes = path.state.mistakes
            raise
        finally:
            self.is_trial = outer
        return path

    def may_unroll(self, count: int) -> bool:
        """Reserve budget for this many more iterations; return whether there was any."""
        if not self.has_room(count):
            return False
        self.state.unrolled += count
        return True

    def has_room(self, count: int) -> bool:
        return self.state.unrolled + count <= MOST_UNROLLED

    def count_path(self) -> None:
        self.state.split += 1
        if self.state.split > MOST_PATHS:
            raise not_yet("so many conditions that decide which block, transfer or list it is")

    # Frames and names -----------------------------------------------------------------------------

    def new_frame(
        self,
        file: str,
        scope: Scope,
        outer: Frame | None = None,
        environment: Environment | None = None,
    ) -> Frame:
        self.frame_count += 1
        return Frame(self.frame_count, file, scope, outer, environment)

    def tree_of(self, function: object) -> tree.Function:
        """Return a function's definition, with supplied releases and waits."""
        return self.repaired.get(place_of(own_code(function))) or definition(function)

    def forget(self, frame: Frame, result: Value = None) -> None:
        """Drop the variables of a frame, unless a function in the result still uses them."""
        if any(each.uses(frame) for each in functions_in(result)):
            return
        values = self.state.values
        self.state.values = {v: x for v, x in values.items() if v.frame != frame.number}

    def variable(self, binding: Binding) -> Local | None:
        """Find the variable of a name; None if it is an outer name."""
        frame: Frame | None = None if isinstance(binding, Around) else self.frame
        while frame is not None:
            if frame.scope is binding.scope:  # type: ignore[union-attr]
                return frame.variable(binding)  # type: ignore[arg-type]
            frame = frame.outer
        return None

    def variables(self, bindings: Iterable[Binding]) -> set[Local]:
        return {found for each in bindings if (found := self.variable(each))}

    def lost(self, values: Mapping[Local, object]) -> dict[bindings.Variable, Unusable]:
        """Return this function's variables that lost their value on a path from here."""
        return {
            variable.of: value
            for variable, value in values.items()
            if variable.frame == self.frame.number
            and isinstance(value, Unusable)
            and value.is_lost
            and self.state.values.get(variable) is not value
        }

    def lookup(self, binding: Binding) -> Value:
        variable = self.variable(binding)
        if variable is None:
            return self._around(binding.name)
        value = self.state.values.get(variable, MISSING)
        if value is MISSING:
            raise FlowBroken(  # an earlier iteration may assign it
                codes.KERNEL_EXCEPTION,  # Python refuses it too
                f"`{binding.name}` has no value here",
                helps=("assign it before, on every path",),
            )
        if isinstance(value, Unusable):
            raise value.refuse()
        return value

    def _around(self, name: str) -> Value:
        frame = self.frame
        while frame.environment is None:
            assert frame.outer is not None
            frame = frame.outer
        found = frame.environment.lookup(name, self.handles.argument)
        if found is MISSING:
            known = (*self.frame.scope.variables, *self.names_around)
            raise undefined_name(name, frame.environment.functions[0], known)
        return found

    def assign(self, binding: Binding, value: Value) -> None:
        name, variable = binding.name, self.variable(binding)
        if variable is None:
            raise not_in_kernels(f"assignment to `{name}`, which is not a variable of the kernel")
        self.state.values[variable] = value
        name_value(value, name)

    # Values ---------------------------------------------------------------------------------------

    def index(self, value: Value) -> Scalar:
        """Make a run-time integer."""
        if isinstance(value, Scalar) and value.kind is int:
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_argument(f"{describe(value)} where an integer is needed")
        if not -(2**31) <= value < 2**31:
            raise codes.NOT_IN_KERNELS.broken(
                f"{value} does not fit in the 32 bits that kernels calculate integers with"
            )
        constant = self.scalar(arith.ConstantOp, (), INDEX, {"value": integer(value, INDEX)})
        constant.is_natural = value >= 0
        return constant

    def new(self, value: ContainerT, carrier: OpenLoop | None = None) -> ContainerT:
        """Register a container that the kernel makes, and may change."""
        self.state.containers[id(value)] = Made(value, self.loop, [], carrier)
        return value

    @property
    def region(self) -> Body:
        return self.body.region

    @property
    def loop(self) -> OpenLoop | None:
        return self.loops[-1] if self.loops else None

    @contextmanager
    def into(self, body: Body) -> Iterator[None]:
        outer, self.body = self.body, body
        try:
            yield
        finally:
            self.body = outer

    @contextmanager
    def inside(self, loop: OpenLoop, body: Body) -> Iterator[None]:
        """Evaluate inside the body of a loop."""
        loops, self.loops = self.loops, (*self.loops, loop)
        try:
            with self.into(body):
                yield
        finally:
            self.loops = loops

    def is_block(self, value: BlockValue) -> bool:
        """Is it a block, possibly carried by a loop or condition, and not an expression?"""
        is_carried = value.is_popped or not isinstance(value.owner, Op) or bool(value.owner.bodies)
        return is_carried or isinstance(value, HeldBlock)

    def is_tensor(self, value: Value) -> TypeGuard[TensorLike]:
        return self.handles.is_tensor(value)

    def require(self, kind: KernelKind, call: str) -> None:
        if self.kernel.kind is not kind:
            raise wrong_kind(call, self.kernel.kind)


def name_value(value: Value, name: str) -> None:
    if isinstance(value, RunTime) and value.hint is None and name.isidentifier():
        value.hint = value_name(name)
