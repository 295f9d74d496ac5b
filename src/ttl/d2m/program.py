"""A pykernel program as an operation of the language: buffers, semaphores and kernels of a call."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ttl.diagnostics import Span, codes
from ttl.diagnostics.frames import calling_span
from ttl.language import Operation, make_dataflow_buffer_like
from ttl.language import Semaphore as LanguageSemaphore
from ttl.language.engine import scope
from ttl.language.operation import KernelFunction
from ttl.language.operation import Program as LanguageProgram
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.metal_layout import MetalLayout
from ttl.semantics.types import Shape

from .iteration import Iteration, Iterations, Mover
from .mistakes import wrong_type, wrong_value
from .objects import STREAMS, CircularBuffer, Semaphore, Stream
from .running import Moves, calling, mover, one_after_the_other, running
from .threads import Thread, bound_thread, check_threads

STREAM_BLOCKS = 2  # a stream is filled while its last block is used
SHARD_BLOCKS = 1


class Program:
    """The threads of a kernel; call it with the tensors, the output last."""

    def __init__(self, *threads: Thread):
        self.span = calling_span()
        for thread in threads:
            if not isinstance(thread, Thread):
                raise wrong_type(
                    f"Program() was given {thread!r}, which is no thread",
                    "decorate its functions with @compute() or @datamovement()",
                    self.span,
                )
        if not threads:
            raise wrong_type("Program() without threads", "give it at least one", self.span)
        check_threads(threads)
        # Data movement first: the first of it reads.
        self.threads = tuple(sorted(threads, key=lambda thread: thread.is_compute))

    def __call__(self, *args: Any, **kwargs: Any) -> BoundProgram:
        parameters = self.threads[0].parameters
        kinds = self.threads[0].kinds
        buffers = [each for each in parameters if kinds[each.variable.name] == "cb"]
        if kwargs or len(args) != len(buffers):
            raise wrong_type(
                f"the program takes {len(buffers)} tensors, one for each circular buffer of its "
                f"threads, and was called with {len(args) + len(kwargs)}",
                "call it with the tensors in the order of the threads' parameters",
                calling_span(),
            )
        if any(kinds[each.variable.name] == "cb" for each in parameters[len(buffers) :]):
            raise wrong_type(
                "a circular buffer stands after a semaphore",
                "write the circular buffers first, then the semaphores",
                self.threads[0].span(parameters[-1]),
            )
        threads = tuple(bound_thread(thread, args) for thread in self.threads)
        return BoundProgram(threads, args, tuple(STREAMS.get()))


@dataclass(frozen=True, slots=True)
class BoundProgram:
    """The threads and the tensors they were called with, as the user has them."""

    threads: tuple[Thread, ...]
    tensors: tuple[Any, ...]
    made_streams: tuple[Stream, ...] = ()  # also those that no thread captures

    @property
    def streams(self) -> list[Stream]:
        """Those that threads capture, each once."""
        found: list[Stream] = []
        for thread in self.threads:
            for value in thread.captures().values():
                if isinstance(value, Stream) and value not in found:
                    found.append(value)
        return found

    def names(self, kind: str, thread: Thread | None = None) -> list[str]:
        kinds = (thread or self.threads[0]).kinds
        return [name for name, each in kinds.items() if each == kind]


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor of the program on its way to the device."""

    name: str
    argument: Any  # as the user gave it
    tensor: Any  # of ttnn, collapsed and padded
    layout: MetalLayout
    grid: Shape  # the parts it is divided into


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a pykernel program."""

    name: str
    program: BoundProgram
    operands: tuple[Operand, ...]
    grid: Shape  # rows, columns
    use_tile_matmul: bool = True
    iteration: Iteration | None = None  # in affine form
    system_desc: str = ""  # of the device, if one is described: see memory.py

    @property
    def output(self) -> Operand:
        return self.operands[-1]

    def is_streamed(self, position: int) -> bool:
        if self.iteration is not None:
            return position < len(self.operands) - 1
        argument = self.operands[position].argument
        if not any(stream.argument is argument for stream in self.program.streams):
            return False
        # A tensor that is given twice may be streamed once: then its buffer is the one filled.
        same = [n for n, each in enumerate(self.operands) if each.argument is argument]
        return position in ([n for n in same if self._is_filled(n)] or same)

    def _is_filled(self, position: int) -> bool:
        return any("reserve" in self.calls_on(position, each) for each in self.program.threads)

    def bind_streams(self) -> None:
        for stream in self.program.streams:
            found = [each for each in self.operands if each.argument is stream.argument]
            if not found:
                raise wrong_value(
                    f"`{stream.name}` is streamed, but the program is not called with it",
                    "give it to the program: Program(...)(lhs, rhs, out)",
                    calling_span(),
                )
            operand = found[0]
            stream.tensor, stream.layout = operand.tensor, operand.layout
            stream.grid = operand.grid
        self.check_streams()

    def check_streams(self) -> None:
        """A stream says that a thread fills its buffer: no shard is put there instead."""
        read = self.program.streams
        for stream in (each for each in self.program.made_streams if each not in read):
            for position, operand in enumerate(self.operands):
                if operand.argument is stream.argument and self.is_prefilled(position):
                    raise wrong_value(
                        f"`{stream.name}` is streamed, but no thread reads the stream and none "
                        "fills its buffer",
                        "fill it: dma(stream[y, x], cb.reserve()); or leave Stream() out",
                        stream.span,
                    )

    # Who does what to which buffer ----------------------------------------------------------------

    def calls_on(self, position: int, thread: Thread) -> set[str]:
        return thread.calls_on(self.program.names("cb", thread)[position])

    def is_prefilled(self, position: int) -> bool:
        """An input that nobody fills and that is not streamed: it is the core's shard."""
        calls = [self.calls_on(position, thread) for thread in self.program.threads]
        is_read = any("pop" in each for each in calls)
        is_input = position < len(self.operands) - 1
        is_there = not self._is_filled(position) and not self.is_streamed(position)
        return is_input and is_read and is_there

    @property
    def writers(self) -> list[Thread]:
        """The threads that reserve the output."""
        last = len(self.operands) - 1
        return [t for t in self.program.threads if "reserve" in self.calls_on(last, t)]

    @property
    def takers(self) -> list[Thread]:
        """Other threads, which take the output's blocks."""
        last = len(self.operands) - 1
        return [
            thread
            for thread in self.program.threads
            if "pop" in self.calls_on(last, thread) and thread not in self.writers
        ]

    @property
    def is_output_streamed(self) -> bool:
        """A thread writes its blocks where it wants them: dma(block, stream[y, x])."""
        return self.iteration is None and self.is_streamed(len(self.operands) - 1)

    @property
    def is_written_back(self) -> bool:
        """By a kernel that does so at its end; who takes the blocks does it for each."""
        return bool(self.writers) and not self.takers

    @property
    def movers(self) -> list[tuple[Thread, ...]]:
        """The data movement kernels: a core has two, so the second does what further ones do."""
        threads = [thread for thread in self.program.threads if not thread.is_compute]
        return [group for group in (tuple(threads[:1]), tuple(threads[1:])) if group]

    def moves(self, thread: Thread) -> Moves:
        names = self.program.names("cb", thread)
        is_first = any(thread is each[0] for each in self.movers[:1])
        pushes = thread in self.writers and self.is_written_back and self.iteration is None
        writes = self.is_written_back and any(thread is each[-1] for each in self.movers[1:])
        return Moves(
            self._prefilled(names) if is_first else (),
            (names[-1],) if pushes else (),
            (names[-1],) if writes else (),
        )

    def _prefilled(self, names: list[str]) -> tuple[str, ...]:
        return tuple(name for n, name in enumerate(names) if self.is_prefilled(n))

    def uses(self, threads: Sequence[Thread]) -> frozenset[tuple[str, str]]:
        """What the threads and their moves do, in the words of the language."""
        names, found = self.program.names("cb"), set()
        for thread in threads:
            moves, own = self.moves(thread), self.program.names("cb", thread)
            for position, name in enumerate(names):
                calls = self.calls_on(position, thread)
                if "reserve" in calls or own[position] in moves.fills:
                    found.add(("reserve", name))
                if "pop" in calls or own[position] in moves.writes:
                    found.add(("wait", name))
        return frozenset(found)

    @property
    def extra(self) -> Moves | None:
        """What a further data movement kernel does, if there is room for one."""
        names = self.program.names("cb")
        fills = () if self.movers else self._prefilled(names)
        has_room = len(self.movers) < 2
        writes = (names[-1],) if self.is_written_back and has_room else ()
        return Moves(fills=fills, writes=writes) if fills or writes else None


class Body:
    """The body of the operation, in the place of the user's function."""

    def __init__(self, call: Call, function: Any):
        self.call = call
        self.__name__ = call.name
        self.__code__ = function.__code__
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = [operand.name for operand in call.operands]
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def __call__(self, *tensors: Any) -> None:
        collected = scope(self.call.name)
        objects = self._declare()
        call = self.call
        computes = [(thread,) for thread in call.program.threads if thread.is_compute]
        iterations = None
        if call.iteration is not None:
            buffers = tuple(objects[: len(call.operands)])
            iterations = Iterations(call.iteration, buffers[-1])
            collected.kernels += self._movers(Mover(call.iteration, buffers))
        for threads in (*call.movers, *computes):
            functions = [
                running(t, _by_parameter(t, objects), call.moves(t), iterations) for t in threads
            ]
            function = one_after_the_other(threads, functions)
            written_as = tuple(thread.function for thread in threads)
            kernel = KernelFunction(threads[0].kind, function, call.uses(threads), written_as)
            collected.kernels.append(kernel)
        if call.extra is not None and call.iteration is None:
            first = call.program.threads[-1]
            name = "write_shards" if call.extra.writes else "read_shards"
            function = mover(first, name, _by_parameter(first, objects), call.extra)
            collected.kernels.append(KernelFunction(KernelKind.DATAMOVEMENT, function))

    def _movers(self, mover: Mover) -> list[KernelFunction]:
        """The kernels that move what the maps name; they stand where the thread stands."""
        (thread,) = self.call.program.threads
        *inputs, output = self.call.program.names("cb")
        found = []
        if inputs:
            uses = frozenset(("reserve", name) for name in inputs)
            function = calling(thread, "read_blocks", mover, "read")
            found.append(KernelFunction(KernelKind.DATAMOVEMENT, function, uses))
        if self.call.is_written_back:
            uses = frozenset({("wait", output)})
            function = calling(thread, "write_shards", mover, "write")
            found.append(KernelFunction(KernelKind.DATAMOVEMENT, function, uses))
        return found

    def _declare(self) -> list[Any]:
        call = self.call
        found: list[Any] = []
        for position, name in enumerate(call.program.names("cb")):
            operand = call.operands[position]
            blocks = STREAM_BLOCKS if call.is_streamed(position) else SHARD_BLOCKS
            shape = operand.layout.shard_shape(operand.grid)
            buffer = make_dataflow_buffer_like(operand.tensor, shape=shape, block_count=blocks)
            buffer.name = name
            buffer.span = parameter_span(call.program.threads[0], name)
            cb = CircularBuffer(buffer, operand.tensor, operand.layout, operand.grid)
            cb.is_aliased = position == len(call.operands) - 1
            cb.is_taken = cb.is_aliased and bool(call.takers)
            cb.is_streamed = cb.is_aliased and call.is_output_streamed
            found.append(cb)
        for name in call.program.names("semaphore"):
            semaphore = LanguageSemaphore(0)
            semaphore.name = name
            semaphore.span = parameter_span(call.program.threads[0], name)
            found.append(Semaphore(semaphore))
        return found


def _by_parameter(thread: Thread, objects: list[Any]) -> dict[str, Any]:
    return dict(zip(thread.names_of_parameters, objects, strict=True))


def parameter_span(thread: Thread, name: str) -> Span:
    return thread.span(next(each for each in thread.parameters if each.variable.name == name))


def check_call(call: Call) -> None:
    """What can be said before anything runs; WrongValue if it is wrong."""
    if call.iteration is not None:
        _check_affine(call)
    for thread in call.takers:
        if thread.is_compute or not call.writers or len(call.takers) > 1:
            raise _wrong_end(
                call, thread, -1, "pops `{}`, the buffer of the output",
                "let one thread reserve the output, and one of data movement pop it",
            )  # fmt: skip
    if call.is_output_streamed and call.writers and not call.takers:
        raise _wrong_end(
            call, call.writers[0], -1, "reserves `{}`, the streamed output, and no thread pops it",
            "let a datamovement thread write it: dma(out_cb.pop(), stream[y, x]).wait(); or leave "
            "Stream() of the output out",
        )  # fmt: skip
    if len(call.writers) > 1:
        raise _wrong_end(
            call, call.writers[1], -1, "reserves `{}`, the output, beside another thread",
            "let one thread write the output",
        )  # fmt: skip
    for position in range(len(call.operands) - 1):
        _check_ends(call, position)
        calls = {thread: call.calls_on(position, thread) for thread in call.program.threads}
        makers = [t for t in calls if t.is_compute and t.stores and "reserve" in calls[t]]
        if makers and not any("pop" in each for each in calls.values()):
            raise _wrong_end(
                call, makers[0], position, "writes `{}`, which nobody pops: a second output",
                "a program has one output, its last tensor; write one program for each",
            )  # fmt: skip


def _check_ends(call: Call, position: int) -> None:
    """One kernel fills an input and one takes its blocks."""
    kernels = [*call.movers, *((thread,) for thread in call.program.threads if thread.is_compute)]
    for method, what in (("reserve", "reserves"), ("pop", "pops")):
        found = [
            thread
            for threads in kernels
            for thread in threads
            if method in call.calls_on(position, thread)
        ]
        others = [t for t in found if not any(t in each and found[0] in each for each in kernels)]
        if others:
            raise _wrong_end(
                call, others[0], position, f"{what} `{{}}` beside thread `{found[0].name}`",
                f"let one thread call {method}() on it",
            )  # fmt: skip


def check_written(call: Call) -> None:
    """After a run, so that it hides no mistake in a thread which is not written to its end yet."""
    if not call.writers and not call.is_output_streamed:
        raise _wrong_end(
            call, call.program.threads[-1], -1, "and all others leave `{}`, the output, unwritten",
            "store into a block of it: out_cb.reserve().store(value)",
        )  # fmt: skip


def _check_affine(call: Call) -> None:
    threads = call.program.threads
    if len(threads) != 1 or not threads[0].is_compute:
        raise wrong_value(
            "a program with indexing_maps has one compute thread: the maps move its blocks",
            "leave the datamovement threads out, or leave out indexing_maps",
            threads[0].span(threads[0].definition),
        )
    if call.program.streams:
        raise wrong_value(
            "a stream in a program with indexing_maps, which name the blocks",
            "leave Stream() out",
            threads[0].span(threads[0].definition),
        )


def _wrong_end(call: Call, thread: Thread, position: int, what: str, help_text: str) -> Exception:
    name = call.program.names("cb", thread)[position]
    text = f"thread `{thread.name}` {what.format(name)}"
    return wrong_value(text, help_text, parameter_span(thread, name), codes.BUFFER_ENDS)


def make_operation(call: Call, function: Any, **kernels: Any) -> Operation:
    rows, columns = call.grid
    return Operation(Body(call, function), (columns, rows), lowering=_Lowering(call), **kernels)


@dataclass(frozen=True, slots=True)
class _Lowering:
    """Makes the d2m module of a call."""

    call: Call

    @property
    def key_parts(self) -> tuple[Any, ...]:
        """What the module depends on beside the kernels: see driver/memo.py."""
        call = self.call
        layouts = tuple((each.name, each.layout.logical_shape) for each in call.operands)
        places = tuple(each.layout.memory_space for each in call.operands)
        return (
            call.use_tile_matmul, call.grid, layouts, places, call.iteration, call.system_desc,
        )  # fmt: skip

    def __call__(self, program: LanguageProgram, target: Any) -> Any:
        from .frontend import build_module

        return build_module(self.call, program, target)
