"""The language once more, in a few lines of numpy: what a program means, written without `ttl`.

A program's text is executed with this module in place of `ttl`. Buffers are queues without end,
transfers land at once, kernels are greenlets that go on while they can. A right program's results
depend on none of that. Releases that are left out happen when nobody can go on any more.

Values carry how far an engine may be off (`property.expressions`). What this module does not know
raises Unknown: then engines are only compared with each other.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from math import prod
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from fuzz.numpy_formats import INTEGERS, is_known, stored, wrapped
from property import reference
from property.expressions import KEPT, MEANINGS, SPACING, Approximate
from ttl.semantics.ops import BLOCK_OPS

TILE = 32
Array = np.ndarray[Any, Any]
Node = tuple[int, ...]


class Unknown(Exception):
    """Something that the reference has no opinion about."""


class Stuck(Exception):
    """Kernels wait for each other."""


class NeedsThreads(Exception):
    """A unified body waits for what it gives itself further down, on another thread."""


@dataclass
class Tensor:
    """Elements as engines are given them, and the format they are kept in."""

    array: Array
    dtype: str
    error: Array = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.error = np.zeros(self.array.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def __getitem__(self, items: Any) -> Part:
        items = items if isinstance(items, tuple) else (items,)
        if len(items) != self.array.ndim or self.array.ndim != 2:
            raise Unknown("tensors of other ranks")
        return Part(self, tuple(_elements(item) for item in items))


def _elements(item: Any) -> slice:
    first, last = (item.start or 0, item.stop) if isinstance(item, slice) else (item, item + 1)
    if last is None or first < 0:
        raise Unknown("open or negative slices")
    return slice(first * TILE, last * TILE)


@dataclass
class Part:
    tensor: Tensor
    place: tuple[slice, ...]


# Values -------------------------------------------------------------------------------------------


@dataclass(eq=False)  # `==` compares elements
class Value:
    """An expression of blocks, rounded to the format of DST."""

    held: Approximate
    run: Run

    def __getattr__(self, name: str) -> Any:
        raise Unknown(f"a value's {name}")

    def __matmul__(self, other: Any) -> Value:
        return compute(self.run, "@", self, other)


def _operator(sign: str) -> tuple[Callable[..., Value], Callable[..., Value]]:
    return (
        lambda self, other: compute(self.run, sign, self, other),
        lambda self, other: compute(self.run, sign, other, self),
    )


NAMES = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "%": "mod",
    "//": "floordiv",
    "^": "xor",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "==": "eq",
    "!=": "ne",
}
for _sign, _name in NAMES.items():
    _forward, _backward = _operator(_sign)
    setattr(Value, f"__{_name}__", _forward)
    if _sign in "+-*/%//^":
        setattr(Value, f"__r{_name}__", _backward)
Value.__neg__ = lambda self: compute(self.run, "neg", self)  # type: ignore[attr-defined]


def compute(run: Run, name: str, *operands: Any, **numbers: Any) -> Value:
    """Operations whose operands may be off are known where `property.expressions` has them."""
    operands = tuple(_operand(run, each) for each in operands)
    shapes = [each.values.shape for each in operands if each.values.ndim]
    if name != "@":
        operands = tuple(_spread(each, shapes) for each in operands)
    if run.dst in INTEGERS:
        return Value(_exact(_of_integers(run.dst, name, operands, numbers)), run)
    if name in MEANINGS:
        found = MEANINGS[name](SPACING[run.dst], *operands)
    else:
        found = _exact_or_close(run, name, operands, numbers)
    return Value(found.rounded(run.dst), run)


def _operand(run: Run, value: Any) -> Approximate:
    if isinstance(value, Value):
        return value.held
    if not isinstance(value, (int, float)):
        raise Unknown(f"an operand of type {type(value).__name__}")
    if run.dst in INTEGERS:
        return _exact(np.asarray(value, np.int64))
    return _exact(np.asarray(value, np.float32)).rounded(run.dst)


def _exact(values: Array) -> Approximate:
    return Approximate(values, np.zeros(values.shape))


def _of_integers(
    dtype: str, name: str, operands: Sequence[Approximate], numbers: dict[str, Any]
) -> Array:
    values = [each.values.astype(object) for each in operands]
    known = reference.INTEGER_BINARY | reference.INTEGER_UNARY
    if name == "where":
        found = reference.where(*values)
    elif name in ("%", "//") and (values[1] != 0).all():
        found = values[0] % values[1] if name == "%" else values[0] // values[1]
    elif name in known and not numbers:
        found = known[name](*values)
    elif name in reference.INTEGER_NUMBERS:
        found = reference.INTEGER_NUMBERS[name][0](*values, *numbers.values())
    else:
        raise Unknown(f"{name} of integers")
    return wrapped(found, dtype).astype(np.int64)


def _spread(operand: Approximate, shapes: Sequence[tuple[int, ...]]) -> Approximate:
    if operand.values.ndim or not shapes:
        return operand
    return Approximate(np.broadcast_to(operand.values, shapes[0]), np.zeros(shapes[0]))


def _exact_or_close(
    run: Run, name: str, operands: tuple[Approximate, ...], numbers: dict[str, Any]
) -> Approximate:
    values = [each.values.astype(np.float64) for each in operands]
    if name in WITHOUT_NUMBERS and not numbers:
        found = WITHOUT_NUMBERS[name](*values)
    elif name in reference.EXACT_NUMBERS:
        given = [np.float32(each) for each in numbers.values()]
        found = reference.EXACT_NUMBERS[name][0](*values, *given)
    else:  # known to the op table alone
        shape = np.broadcast_shapes(*(each.shape for each in values))
        return Approximate(np.zeros(shape, np.float32), np.full(shape, np.inf))
    error, bound = np.zeros(found.shape), _op_of(name).bound
    if bound is not None:
        error = bound(SPACING[run.dst], *[np.float32(each) for each in values], **numbers)
    is_off = sum(each.error for each in operands) != 0
    return Approximate(found.astype(np.float32), np.where(is_off, np.inf, error))


WITHOUT_NUMBERS = {
    "where": reference.where,
    **reference.EXACT_BINARY,
    **reference.EXACT_UNARY,
    **reference.CLOSE_BINARY,
    **reference.CLOSE_UNARY,
}


def _op_of(name: str) -> Any:
    return next(op for op in BLOCK_OPS.values() if name in (op.name, op.operator))


class Math:
    """ttl.math: functions of values; numbers after the operands have names."""

    def __getattr__(self, name: str) -> Any:
        if name not in BLOCK_OPS:
            raise Unknown(f"ttl.math.{name}")
        op = BLOCK_OPS[name]
        if any(parameter.kind.decides_types for parameter in op.parameters):
            raise Unknown(f"ttl.math.{name}")

        def call(*given: Any, **named: Any) -> Value:
            names = [parameter.name for parameter in op.parameters]
            numbers = dict(zip(names, given[op.operands :], strict=False)) | named
            return compute(current(), name, *given[: op.operands], **numbers)

        return call

    def fill(self, value: float, shape: tuple[int, ...] | None = None) -> Value:
        run = current()
        held = _operand(run, value)
        if shape is not None:
            held = _spread(held, [_in_elements(shape)])
        return Value(held, run)


def _in_elements(shape: Sequence[int]) -> tuple[int, ...]:
    return (*shape[:-2], *(size * TILE for size in shape[-2:]))


# Buffers ------------------------------------------------------------------------------------------


@dataclass
class Buffer:
    """One of a node: the n-th block that is waited for is the n-th that was reserved."""

    shape: tuple[int, ...]
    dtype: str
    run: Run
    blocks: list[Block] = field(default_factory=list)
    waited: int = 0

    def reserve(self) -> Block:
        held = Approximate(np.zeros(_in_elements(self.shape), np.float32), np.zeros(()))
        self.blocks.append(Block(held, self.run, self))
        return self.blocks[-1]

    def wait(self) -> Block:
        number = self.waited
        self.waited += 1
        until(lambda: len(self.blocks) > number and self.blocks[number].is_pushed)
        return self.blocks[number]


@dataclass(eq=False)  # `==` compares elements
class Block(Value):
    buffer: Buffer
    is_pushed: bool = False
    is_written: bool = False

    def __enter__(self) -> Block:
        return self

    def __exit__(self, *error: object) -> None:
        self.push()

    def push(self) -> None:
        self.is_pushed = True

    def pop(self) -> None:
        pass

    def store(self, value: Any) -> None:
        self._keep(_operand(self.run, value))

    def _keep(self, given: Approximate) -> None:
        shape = _in_elements(self.buffer.shape)
        if given.values.shape not in ((), shape):
            raise Unknown("values of other shapes")
        values, error = (np.broadcast_to(x, shape) for x in (given.values, given.error))
        self.held = Approximate(values, error)
        if self.buffer.dtype not in INTEGERS:
            self.held = stored(self.held, _format(self.buffer.dtype))
        self.is_written = True

    def __iadd__(self, value: Any) -> Block:
        if self.is_pushed:  # a name for what was waited for: a new value
            return compute(self.run, "+", self, value)  # type: ignore[return-value]
        self.store(compute(self.run, "+", self, value) if self.is_written else value)
        return self


def _format(dtype: str) -> str:
    if not is_known(dtype):
        raise Unknown(f"rounding to {dtype}")
    return dtype


# Transfers ----------------------------------------------------------------------------------------


@dataclass
class Transfer:
    is_done: Callable[[], bool]

    def wait(self) -> None:
        until(self.is_done)


class GroupTransfer:
    def __init__(self) -> None:
        self.transfers: list[Transfer] = []

    def add(self, transfer: Transfer) -> None:
        self.transfers.append(transfer)

    def wait_all(self) -> None:
        for each in self.transfers:
            each.wait()


def copy(source: Any, target: Any) -> Transfer:
    if isinstance(source, Part) and isinstance(target, Block):
        array, error = (x[source.place] for x in (source.tensor.array, source.tensor.error))
        target.held = Approximate(array.copy(), error.copy())
        target.is_written = True
        return Transfer(lambda: True)
    if isinstance(source, Block) and isinstance(target, Part):
        target.tensor.array[target.place] = source.held.values
        target.tensor.error[target.place] = source.held.error
        return Transfer(lambda: True)
    if isinstance(source, Block) and isinstance(target, PipeEnd):
        return target.send(source)
    if isinstance(source, PipeEnd) and isinstance(target, Block):
        return source.receive(target)
    raise Unknown("copies between other things")


@dataclass(frozen=True)
class Pipe:
    src: Any
    dst: Any


class PipeNet:
    """The n-th block that a pipe's source sends is the n-th that each of its receivers gets."""

    def __new__(cls, pipes: Sequence[Pipe]) -> PipeNet:
        return current().shared(lambda: super(PipeNet, cls).__new__(cls))

    def __init__(self, pipes: Sequence[Pipe]):
        if not hasattr(self, "pipes"):
            run = current()
            self.pipes = [(run.flat(each.src), run.nodes_of(each.dst)) for each in pipes]
            self.sent: list[list[Approximate]] = [[] for _ in pipes]
            self.got = [dict.fromkeys(receivers, 0) for _, receivers in self.pipes]

    def is_src(self) -> bool:
        return any(source == here() for source, _ in self.pipes)

    def is_dst(self) -> bool:
        return any(here() in receivers for _, receivers in self.pipes)

    def is_active(self) -> bool:
        return self.is_src() or self.is_dst()

    def if_src(self, function: Callable[[PipeEnd], Any]) -> None:
        for number, (source, _) in enumerate(self.pipes):
            if source == here():
                function(PipeEnd(self, number))

    def if_dst(self, function: Callable[[PipeEnd], Any]) -> None:
        for number, (_, receivers) in enumerate(self.pipes):
            if here() in receivers:
                function(PipeEnd(self, number))


@dataclass
class PipeEnd:
    net: PipeNet
    number: int

    def send(self, block: Block) -> Transfer:
        self.net.sent[self.number].append(block.held)
        return Transfer(lambda: True)

    def receive(self, block: Block) -> Transfer:
        sent, got, node = self.net.sent[self.number], self.net.got[self.number], here()
        place = got[node]
        got[node] += 1

        def is_done() -> bool:
            if len(sent) > place and not block.is_written:
                block.held, block.is_written = sent[place], True
            return len(sent) > place

        return Transfer(is_done)


class Semaphore:
    def __new__(cls, initial: int = 0) -> Semaphore:
        return current().shared(lambda: super(Semaphore, cls).__new__(cls))

    def __init__(self, initial: int = 0):
        if not hasattr(self, "values"):
            self.values = dict.fromkeys(range(current().node_count), initial)

    def set(self, value: int) -> None:
        self.values[here()] = value

    def wait_ge(self, value: int) -> None:
        node = here()
        until(lambda: self.values[node] >= value)

    def wait_eq(self, value: int) -> None:
        node = here()
        until(lambda: self.values[node] == value)

    def get_remote(self, node: Any) -> SimpleNamespace:
        place = current().flat(node)

        def inc(value: int) -> None:
            self.values[place] += value

        return SimpleNamespace(inc=inc, set=lambda value: self.values.update({place: value}))

    def get_remote_multicast(self, nodes: Any = None) -> SimpleNamespace:
        run = current()
        places = range(run.node_count) if nodes is None else run.nodes_of(nodes)
        return SimpleNamespace(set=lambda value: self.values.update(dict.fromkeys(places, value)))


# Running ------------------------------------------------------------------------------------------


@dataclass
class Run:
    """One call of an operation: its nodes, their kernels, what the nodes share."""

    grid: Node
    dst: str
    kernels: list[tuple[int, Callable[[], None]]] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    made: Counter[int] = field(default_factory=Counter)  # of the objects, by each node
    node: int = 0  # whose body or kernel runs

    @property
    def node_count(self) -> int:
        return prod(self.grid)

    def flat(self, place: Any) -> int:
        (found,) = self.nodes_of(place)
        return found

    def nodes_of(self, place: Any) -> list[int]:
        """Coordinates with fewer entries than the grid count the rest of it in the last one."""
        entries = place if isinstance(place, tuple) else (place,)
        sizes = (*self.grid[: len(entries) - 1], prod(self.grid[len(entries) - 1 :]))
        ranges = [
            range(*each.indices(size)) if isinstance(each, slice) else (each,)
            for each, size in zip(entries, sizes, strict=True)
        ]
        return [int(np.ravel_multi_index(each, sizes)) for each in product(*ranges)]

    def shared(self, make: Callable[[], Any]) -> Any:
        """The body runs for every node, and each time makes the same objects in this order."""
        if self.made[self.node] == len(self.objects):
            self.objects.append(make())
        self.made[self.node] += 1
        return self.objects[self.made[self.node] - 1]

    def go(self, body: Callable[[], Any]) -> None:
        """Bodies declare kernels, or, of unified operations, do all that one node does."""
        self.kernels = [(node, body) for node in range(self.node_count)]
        try:
            self._finish()
        except Stuck:
            raise NeedsThreads from None
        self._finish()

    def _finish(self) -> None:
        """All go on while they can; then what was written counts as pushed."""
        waiting: dict[greenlet, Callable[[], bool]] = {}
        nodes: dict[greenlet, int] = {}
        for node, kernel in self.kernels:
            task = greenlet(kernel)
            waiting[task], nodes[task] = (lambda: True), node
        self.kernels = []
        while waiting:
            ready = [task for task, condition in waiting.items() if condition()]
            for task in ready:
                self.node = nodes[task]
                condition = task.switch()
                if task.dead:
                    del waiting[task]
                else:
                    waiting[task] = condition
            if not ready and not self._push_written():
                raise Stuck

    def _push_written(self) -> bool:
        found = [
            block
            for buffer in self.buffers
            for block in buffer.blocks
            if block.is_written and not block.is_pushed
        ]
        for block in found:
            block.push()
        return bool(found)


RUNS: list[Run] = []  # the last is going on; a greenlet has context variables of its own


def current() -> Run:
    return RUNS[-1]


def here() -> int:
    return current().node


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        scheduler = getcurrent().parent
        if scheduler is None:
            raise Unknown("waiting outside kernels")
        scheduler.switch(condition)


def node(dims: int | None = None) -> Any:
    grid = current().grid
    dims = len(grid) if dims is None else dims
    sizes = (*grid[: dims - 1], prod(grid[dims - 1 :]))
    found = tuple(int(each) for each in np.unravel_index(here(), sizes))
    return found[0] if dims == 1 else found


def make_dataflow_buffer_like(
    tensor: Tensor, shape: tuple[int, ...], block_count: int = 2
) -> Buffer:
    made = Buffer(shape, tensor.dtype, current())
    current().buffers.append(made)
    return made


def kernel(**options: Any) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def declare(function: Callable[[], None]) -> Callable[[], None]:
        current().kernels.append((here(), function))
        return function

    return declare


def operation(grid: Any = None, **options: Any) -> Callable[..., Callable[..., Run]]:
    def declare(body: Callable[..., Any]) -> Callable[..., Run]:
        def call(*tensors: Tensor) -> Run:
            size = (grid,) if isinstance(grid, int) else grid
            if size is None or isinstance(size, str):
                raise Unknown("the grid of a chip")
            run = Run(size, _dst(tensors, options))
            with _running(run):
                run.go(lambda: body(*tensors))
            return run

        return call

    return declare


@contextmanager
def _running(run: Run) -> Iterator[None]:
    RUNS.append(run)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        RUNS.pop()


def _dst(tensors: Sequence[Tensor], options: dict[str, Any]) -> str:
    """32 bits where asked for, or where a buffer has more than 16; a product asks for them, too."""
    formats = {each.dtype for each in tensors}
    wide = options.get("fp32_dest_acc_en")
    if formats & INTEGERS.keys():
        if len(formats) > 1:
            raise Unknown("integers beside others")
        return formats.pop()
    if wide is None:
        wide = formats & {"float32", "float16"} or options.get("has_product", False)
    if not wide and "float16" in formats:
        raise Unknown("registers of float16")
    if wide and "float32" in formats:
        return "float32"
    return KEPT if wide else "bfloat16"  # no buffer has 32 bits: docs/decisions/0005


def loaded(text: str) -> dict[str, Any]:
    """The names of a program that gets this module for `ttl`."""
    known = __import__

    def other_import(name: str, *rest: Any) -> Any:
        return _module(" @ " in text) if name == "ttl" else known(name, *rest)

    names: dict[str, Any] = {"__name__": "reference"}
    names["__builtins__"] = vars(builtins) | {"__import__": other_import}
    exec(compile(text, "<reference>", "exec"), names)
    return names


def _module(has_product: bool) -> ModuleType:
    made = ModuleType("ttl")

    def declare(grid: Any = None, **options: Any) -> Any:
        return operation(grid, has_product=has_product, **options)

    math = Math()
    vars(made).update(
        operation=declare,
        compute=kernel,
        datamovement=kernel,
        node=node,
        copy=copy,
        Pipe=Pipe,
        make_dataflow_buffer_like=make_dataflow_buffer_like,
        GroupTransfer=GroupTransfer,
        PipeNet=PipeNet,
        Semaphore=Semaphore,
        math=math,
        block=math,
    )
    return made
