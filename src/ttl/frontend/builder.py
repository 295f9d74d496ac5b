"""The state of translating one kernel to the ttl dialect.

Names are bound to Python objects (constants, buffers, tensors, modules, functions: everything the
operation's body computed) or to IR values. Functions that a kernel calls are translated in its
place, each call in a frame of its own; a variable is a name in a frame.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ttl.diagnostics import Diagnostic, Label, RuleBroken, Span, codes
from ttl.diagnostics.names import undefined_name
from ttl.dialects import ttl
from ttl.dialects.conditions import Facts
from ttl.dialects.locations import location_of
from ttl.dialects.ttcore import tensor_of
from ttl.language import DataflowBuffer, PipeNet
from ttl.language.described import described
from ttl.language.operation import KernelFunction
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.kernel_kinds import KernelKind, wrong_kind
from ttl.semantics.layout import layout_of
from ttl.semantics.tensors import TensorSlice, shape_in_units
from ttl.source.implicit_sync import RepairKind, repair_spans

from .containers import Containers
from .environment import MISSING, Environment, RuntimeArgument
from .source import node_span

Value = Any  # a Python object or an SSAValue
Variable = tuple[int, str]  # the number of a frame, and a name in it


class Nets:
    """The pipe nets that the kernels of a program use, by the names they have in its module."""

    def __init__(self, declared: tuple[PipeNet, ...], grid: tuple[int, ...]):
        self.declared = declared
        self.grid = grid
        self.by_name: dict[str, PipeNet] = {}

    def name(self, net: PipeNet) -> str:
        """A body that is run for every node makes its nets for every node: those are one net."""
        index = net.index
        if index is not None and index < len(self.declared):
            net = self.declared[index] if self.declared[index].pipes == net.pipes else net
        known = next((name for name, each in self.by_name.items() if each is net), None)
        if known is not None:
            return known
        name, number = net.name, 1
        while name in self.by_name:
            number += 1
            name = f"{net.name}_{number}"
        self.by_name[name] = net
        return name


INDEX = IndexType()
HANDLES = (ttl.BindBufferOp, ttl.RuntimeArgOp)  # made at the kernel's start when first needed
MOST_UNROLLED = 256  # iterations of loops that could be loops in C++ but for what they hand on
MOST_PATHS = 256

Inline = Callable[[Value, list[Value], dict[str, Value]], Value]


class CannotCompile(Exception):
    """A statement was given up; its diagnostic is recorded."""


class FlowBroken(RuleBroken):
    """A value that a loop or branch cannot hand on; what knows its path may have it."""


class Unusable:
    """Bound to a name that has no value a kernel could use from here on, and why."""

    def __init__(self, broken: RuleBroken | None):
        self.broken = broken  # None: its statement has a mistake that is reported already

    def refuse(self) -> CannotCompile | RuleBroken:
        if self.broken is None:
            return CannotCompile()
        return self.broken


MISTAKEN = Unusable(None)


@dataclass(slots=True)
class Frame:
    """A function being translated: the kernel, or a function it calls."""

    number: int
    file: str
    own: frozenset[str]  # the names that are variables of this function
    outer: Frame | None  # of the function around a nested one
    environment: Environment | None  # names around a function that is not nested
    shared: frozenset[str] = frozenset()  # variables that nested functions assign to
    tree: ast.AST | None = None
    caller: Frame | None = None
    call_site: Span | None = None


# Acquires and copies to be finished at the end of a function or of an unrolled iteration;
# None in loops and in the kernel itself, where passes do it.
Unfinished = list[Operation] | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of the translation that can be returned to."""

    block: Block
    last: Operation | None
    values: dict[Variable, Value]
    mistakes: tuple[Diagnostic, ...]
    flow_mistakes: int
    unfinished: tuple[Unfinished, ...]
    mutations: int
    shapeless: dict[Value, Span | None]
    released: frozenset[SSAValue]


class KernelBuilder:
    """The state of translating one kernel."""

    def __init__(
        self,
        kernel: KernelFunction,
        environment: Environment,
        grid: tuple[int, ...],
        tensors: dict[str, Any],
        device_api: str,
        nets: Nets,
        keeps_kinds: bool = False,
    ):
        self.kernel = kernel
        self.names_around: Collection[str] = ()  # of the operation; for what is misspelt
        self.keeps_kinds = keeps_kinds
        self.nets = nets
        self.grid = grid
        self.device_api = device_api
        self.implicit = repair_spans(kernel.function)
        self.entry = self.block = Block()
        self.span: Span | None = None
        self.diagnostics: list[Diagnostic] = []
        self.values: dict[Variable, Value] = {}
        self.naturals: set[SSAValue] = set()  # run-time integers that are never negative
        self.slices: dict[SSAValue, TensorSlice] = {}  # as written; where they start is run time's
        self.flow_mistakes = 0
        self.unfinished: tuple[Unfinished, ...] = (None,)
        self.loops: tuple[Any, ...] = ()  # around this place, innermost last
        self.containers = Containers()
        self.shapeless: dict[Value, Span | None] = {}  # fills and broadcasts: where they are
        self.unrolled_count = 0
        self.may_be_unrolled = False  # the loop that is being translated
        self.path_count = 0
        self.facts: Facts = {}  # what conditions are decided on this path
        self.undecided: Any = None  # the last value that was needed as a constant (decided.py)
        self.ranges: dict[SSAValue, tuple[int, int]] = {}  # of loop counters: first and last
        self.frame_count = 0
        self.number_count = 0
        self.ages: dict[SSAValue, int] = {}  # of blocks, in the order of acquisition
        self.scoped: set[SSAValue] = set()  # blocks that the end of a `with` releases
        # Blocks that the program has released, and transfers that it has waited for.
        self.released: frozenset[SSAValue] = frozenset()
        # Has a variable been an int on one path and a float on another? Then it is a float, which
        # nobody notices but print() and isinstance(): with them such paths are kept apart.
        self.mixes_kinds = self.tells_kinds = False
        self.grown: dict[Variable, type] = {}  # numbers that a loop makes ones of another kind
        self.popped: set[SSAValue] = set()  # values of blocks that are popped before it says so
        self.inline: Inline = _no_functions
        self.call_value: Inline = _no_functions  # of anything that can be called
        code = kernel.function.__code__
        own = frozenset({*code.co_varnames, *code.co_cellvars})
        self.frame = self.new_frame(code.co_filename, own, environment=environment)
        self.buffers: dict[str, SSAValue] = {}
        self.page_buffers: dict[str, SSAValue] = {}  # for pages of tensors that are printed
        self.arguments: dict[RuntimeArgument, SSAValue] = {}
        self.tensor_names = {id(tensor): name for name, tensor in tensors.items()}
        self.tensors: dict[str, SSAValue] = {}
        moves = kernel.kind is KernelKind.DATAMOVEMENT  # compute kernels only ask for shapes
        captured = kernel.captures().values() if moves else ()
        for tensor in tensors.values():
            if any(tensor is value for value in captured):
                self.tensor(tensor)

    # Building -------------------------------------------------------------------------------------

    def emit(self, op: Operation) -> Operation:
        """Append an operation that stands for the syntax node being translated."""
        if self.span is not None:
            op.location = location_of(self.span, self.call_sites())
            self._mark_implicit(op, self.implicit.get(self.span))
        self.block.add_op(op)
        if isinstance(op, ttl.AcquireOp):
            self.ages[op.block] = len(self.ages)
        return op

    def _mark_implicit(self, op: Operation, kind: RepairKind | None) -> None:
        """Passes supply the releases and waits that the program leaves out.

        They know the ends of loops and of the kernel, not those of the functions it calls.
        """
        is_release = kind is RepairKind.RELEASE and isinstance(op, ttl.AcquireOp)
        is_wait = kind in (RepairKind.WAIT, RepairKind.WAIT_AT_ONCE) and isinstance(op, ttl.CopyOp)
        if kind is RepairKind.WAIT_AT_ONCE and is_wait:
            op.attributes["implicit_wait"] = StringAttr("at once")
        elif (is_release or is_wait) and self.unfinished[-1] is not None:
            self.unfinished[-1].append(op)
        elif is_release:
            op.attributes["implicit_release"] = UnitAttr()
        elif is_wait:
            op.attributes["implicit_wait"] = StringAttr("end of body")

    def value(self, op: Operation, hint: str | None = None) -> SSAValue:
        result = self.emit(op).results[0]
        result.name_hint = hint
        return result

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Operations made and rules broken inside belong to `node`."""
        outer, self.span = self.span, node_span(self.frame.file, node)
        try:
            yield
        except RuleBroken as broken:
            self.report(broken)
            raise CannotCompile from None
        finally:
            self.span = outer

    def report(self, broken: RuleBroken) -> None:
        sites = dict.fromkeys(self.call_sites())  # a function that calls itself does so at one
        broken.secondary += tuple(Label(span, "called here") for span in sites)
        found = broken.at(self.span)
        known = [(each.message, each.primary) for each in self.diagnostics]
        if (found.message, found.primary) not in known:  # functions are translated at each call
            self.diagnostics.append(found)
        self.flow_mistakes += isinstance(broken, FlowBroken)

    # Trying ---------------------------------------------------------------------------------------

    def mark(self) -> Mark:
        return Mark(
            self.block,
            self.block.last_op,
            dict(self.values),
            tuple(self.diagnostics),
            self.flow_mistakes,
            tuple(None if level is None else list(level) for level in self.unfinished),
            self.containers.mark(),
            dict(self.shapeless),
            self.released,
        )

    def go_back(self, mark: Mark) -> None:
        """Take back all that was translated since."""
        assert self.block is mark.block
        op = self.block.last_op
        while op is not None and op is not mark.last:
            made, op = op, op.prev_op
            if not isinstance(made, HANDLES):
                made.detach()
                made.erase(safe_erase=False)
        self.values = dict(mark.values)
        self.diagnostics[:] = mark.mistakes
        self.flow_mistakes = mark.flow_mistakes
        self.unfinished = mark.unfinished
        self.containers.go_back(mark.mutations)
        self.shapeless = dict(mark.shapeless)
        self.released = mark.released

    def has_room(self, count: int) -> bool:
        """For so many iterations more?"""
        return self.unrolled_count + count <= MOST_UNROLLED

    def may_unroll(self, count: int) -> bool:
        """Is there room for so many iterations more? Then they have it."""
        if not self.has_room(count):
            return False
        self.unrolled_count += count
        return True

    def count_path(self) -> None:
        self.path_count += 1
        if self.path_count > MOST_PATHS:
            raise not_yet("so many conditions that decide which block, transfer or list it is")

    def call_sites(self) -> tuple[Span, ...]:
        """Where the function being translated is called, innermost first."""
        sites, frame = [], self.frame
        while frame.caller is not None and frame.call_site is not None:
            sites.append(frame.call_site)
            frame = frame.caller
        return tuple(sites)

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    # Frames and names -----------------------------------------------------------------------------

    def new_frame(
        self,
        file: str,
        own: frozenset[str] = frozenset(),
        outer: Frame | None = None,
        environment: Environment | None = None,
    ) -> Frame:
        self.frame_count += 1
        return Frame(self.frame_count, file, own, outer, environment)

    def variable(self, name: str) -> Variable | None:
        """The variable that a name means here; None if it is one of the names around."""
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.own:
                return frame.number, name
            frame = frame.outer
        return None

    def lookup(self, name: str) -> Value:
        variable = self.variable(name)
        if variable is None:
            return self._around(name)
        value = self.values.get(variable, MISSING)
        if value is MISSING:
            raise FlowBroken(  # an iteration before may have given it one
                codes.NOT_IN_KERNELS,
                f"`{name}` has no value here",
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
        found = frame.environment.lookup(name, self.runtime_argument)
        if found is MISSING:
            known = (*self.frame.own, *self.names_around)
            raise undefined_name(name, frame.environment.functions[0], known)
        return found

    def assign(self, name: str, value: Value) -> None:
        variable = self.variable(name)
        if variable is None:
            raise not_in_kernels(f"assignment to `{name}`, which is not a variable of the kernel")
        self.values[variable] = value
        if isinstance(value, SSAValue) and value.name_hint is None and name.isidentifier():
            value.name_hint = value_name(name)

    # Values ---------------------------------------------------------------------------------------

    def index(self, value: Value) -> SSAValue:
        """An integer as an IR value."""
        if isinstance(value, SSAValue) and isinstance(value.type, IndexType):
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            raise RuleBroken(
                codes.WRONG_ARGUMENT, f"{describe(value)} where an integer is needed"
            )
        if not -(2**31) <= value < 2**31:
            raise RuleBroken(
                codes.NOT_IN_KERNELS,
                f"{value} does not fit in the 32 bits that kernels calculate integers with",
            )
        attribute = IntegerAttr(value, INDEX)
        made = arith.ConstantOp.create(properties={"value": attribute}, result_types=[INDEX])
        constant = self.value(made)
        if value >= 0:
            self.naturals.add(constant)
        return constant

    def buffer(self, buffer: DataflowBuffer) -> SSAValue:
        """The kernel's handle of a dataflow buffer, made at the kernel's start."""
        if buffer.name not in self.buffers:
            bind = ttl.BindBufferOp.create(
                properties={"buffer": SymbolRefAttr(buffer.name)},
                result_types=[buffer_type(buffer)],
            )
            bind.result.name_hint = value_name(buffer.name)
            self.insert_first(bind)
            self.buffers[buffer.name] = bind.result
        return self.buffers[buffer.name]

    def runtime_argument(self, argument: RuntimeArgument, type: Attribute) -> SSAValue:
        """A value that differs between nodes, read at the kernel's start."""
        known = self.arguments.get(argument)
        if known is not None and known.type == type:
            return known
        taken = [other.name for other in self.arguments]
        name, number = argument.name, 1
        while argument.name in taken:
            number += 1
            argument = RuntimeArgument(f"{name}_{number}", argument.words)
        op = ttl.RuntimeArgOp.create(
            properties={
                "index": IntegerAttr(len(self.arguments), i64),
                "arg_name": StringAttr(argument.name),
            },
            result_types=[type],
        )
        op.result.name_hint = value_name(name)
        self.insert_first(op)
        self.arguments[argument] = op.result
        if isinstance(type, IndexType) and all(word < 2**31 for word in argument.words):
            self.naturals.add(op.result)
        return op.result

    def drop_unused_arguments(self) -> None:
        """Of a tuple whose items differ between nodes, a kernel may use only some."""
        used = {argument: value for argument, value in self.arguments.items() if value.uses}
        for argument, value in self.arguments.items():
            op = value.owner
            assert isinstance(op, Operation)
            if argument not in used:
                op.detach()
                op.erase()
        for number, value in enumerate(used.values()):
            value.owner.properties["index"] = IntegerAttr(number, i64)  # type: ignore[union-attr]
        self.arguments = used

    def insert_first(self, op: Operation) -> None:
        """Behind the other handles and arguments, in front of everything else."""
        following = self.entry.first_op
        while isinstance(following, HANDLES):
            following = following.next_op
        if following is None:
            self.entry.add_op(op)
        else:
            self.entry.insert_op_before(op, following)

    def number(self, acquire: Operation | Block) -> Attribute:
        """Tells a release which block it is of."""
        assert isinstance(acquire, ttl.AcquireOp)
        if "number" not in acquire.attributes:
            self.number_count += 1
            acquire.attributes["number"] = IntegerAttr(self.number_count, i64)
        return acquire.attributes["number"]

    def is_tensor(self, value: Value) -> bool:
        return id(value) in self.tensor_names

    def tensor(self, tensor: Any) -> SSAValue:
        """The argument of the kernel that stands for a tensor of the operation."""
        name = self.tensor_names[id(tensor)]
        if name not in self.tensors:
            dtype = dtype_of(tensor)
            assert dtype is not None
            type = tensor_of(shape_in_units(tensor), dtype, layout_of(tensor))
            argument = self.entry.insert_arg(type, len(self.entry.args))
            argument.name_hint = value_name(name)
            self.tensors[name] = argument
        return self.tensors[name]

    def require(self, kind: KernelKind, call: str) -> None:
        if self.kernel.kind is not kind:
            raise wrong_kind(call, self.kernel.kind)


def _no_functions(function: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """Until the translation of statements has put itself in this place."""
    raise not_yet("calls of functions")


def value_name(name: str) -> str:
    """A Python name as IR values may have it: in ASCII."""
    return "".join(character if character.isascii() else "_" for character in name)


def buffer_type(buffer: DataflowBuffer) -> ttl.DataflowBufferType:
    return ttl.DataflowBufferType.of(
        buffer.shape, buffer.dtype, buffer.block_count, buffer.layout
    )


def not_yet(what: str) -> RuleBroken:
    return RuleBroken(
        codes.NOT_COMPILED_YET,
        f"the compiler does not translate {what} yet",
        helps=("run the program on the simulator, or write it in a simpler way",),
    )


def flow_broken(what: str) -> FlowBroken:
    return FlowBroken(
        codes.NOT_COMPILED_YET,
        f"the compiler does not translate {what} yet",
        helps=("give it one name on each path, or give the loop bounds known when compiling",),
    )


def finish(builder: KernelBuilder, unfinished: list[Operation]) -> None:
    """What a body left to be finished at its end: first the transfers, then the blocks."""
    for copy in unfinished:
        if isinstance(copy, ttl.CopyOp):
            builder.emit(ttl.WaitTransferOp.create(operands=[copy.transfer]))
    blocks = [op.block for op in unfinished if isinstance(op, ttl.AcquireOp)]
    if blocks:
        builder.emit(ttl.ScopeEndOp.create(operands=blocks))


def not_in_kernels(what: str, *helps: str) -> RuleBroken:
    return RuleBroken(
        codes.NOT_IN_KERNELS,
        f"{what}: not part of the language of kernels",
        helps=helps or ("write it with scalars, if, for over range, while, with and functions",),
    )


def describe(value: Value) -> str:
    if not isinstance(value, SSAValue):
        return _describe_object(value)
    if ttl.is_block_value(value.type):
        if isinstance(value.owner, ttl.TensorSliceOp):
            return "a tensor slice"
        return "a block" if isinstance(value.owner, ttl.AcquireOp) else "a block expression"
    if isinstance(value.type, ttl.PipeType):
        return "a pipe"
    if isinstance(value.type, ttl.GroupType):
        return "a group of transfers"
    return "a transfer" if isinstance(value.type, ttl.TransferType) else "a run-time value"


def _describe_object(value: Value) -> str:
    """As the program has it; never by the representation of an object of the compiler."""
    if isinstance(text := getattr(value, "described", None), str):
        return text
    if isinstance(value, (tuple, list, set, dict)):
        return f"a {type(value).__name__}"
    if isinstance(value, (bool, int, float, str)):
        return f"the {type(value).__name__} {value!r}"
    return described(value)
