"""A pykernel program as an operation of the language: a call's buffers, semaphores and kernels."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import Span, codes
from ttl.diagnostics.frames import calling_span
from ttl.language import Operation, make_dataflow_buffer_like
from ttl.language import Semaphore as LanguageSemaphore
from ttl.language.engine import scope
from ttl.language.operation import KernelFunction
from ttl.language.operation import Program as LanguageProgram
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.types import Shape

from .iteration import Iteration, Iterations, Mover
from .mistakes import wrong_type, wrong_value
from .objects import STREAMS, CircularBuffer, Semaphore, Stream
from .operands import Argument
from .running import MethodCall, Moves, bind_kernel, chain_threads, make_calling_kernel
from .threads import ThreadFunction, bind_thread, check_threads

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

STREAM_BLOCKS = 2  # one is filled while the other is used
SHARD_BLOCKS = 1
MOVER = ".mover"


class Program:
    """The threads of a kernel; call it with the tensors, the output last."""

    def __init__(self, *threads: ThreadFunction):
        self.span = calling_span()
        for thread in threads:
            if not isinstance(thread, ThreadFunction):
                raise wrong_type(
                    f"Program() was given {thread!r}, which is no thread",
                    "decorate its functions with @compute() or @datamovement()",
                    self.span,
                )
        if not threads:
            raise wrong_type("Program() without threads", "give it at least one", self.span)
        check_threads(threads)
        # Put data movement first: its first thread reads.
        self.threads = tuple(sorted(threads, key=lambda thread: thread.is_compute))

    def __call__(self, *args: object, **kwargs: object) -> BoundProgram:
        first = self.threads[0]
        if kwargs or len(args) != len(first.buffers):
            raise wrong_type(
                f"the program takes {len(first.buffers)} tensors, one for each circular buffer of "
                f"its threads, and was called with {len(args) + len(kwargs)}",
                "call it with the tensors in the order of the threads' parameters",
                calling_span(),
            )
        if first.names_of_parameters != first.buffers + first.semaphores:
            raise wrong_type(
                "a circular buffer stands after a semaphore",
                "write the circular buffers first, then the semaphores",
                first.span(first.parameters[-1]),
            )
        threads = tuple(bind_thread(thread, args) for thread in self.threads)
        return BoundProgram(threads, args, tuple(STREAMS.get()))


@dataclass(frozen=True, slots=True)
class BoundProgram:
    """The threads and the user's tensors that they were called with."""

    threads: tuple[ThreadFunction, ...]
    tensors: tuple[object, ...]
    made_streams: tuple[Stream, ...] = ()  # including streams that no thread captures

    @property
    def streams(self) -> list[Stream]:
        """List the streams that threads capture, each once."""
        found: list[Stream] = []
        for thread in self.threads:
            for value in thread.captures().values():
                if isinstance(value, Stream) and value not in found:
                    found.append(value)
        return found


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a pykernel program."""

    name: str
    program: BoundProgram
    operands: tuple[Argument, ...]
    grid: Shape  # rows, columns
    use_tile_matmul: bool = True
    iteration: Iteration | None = None  # in affine form
    system_desc: str = ""  # of a described device: see memory.py

    @property
    def output(self) -> Argument:
        return self.operands[-1]

    @property
    def names(self) -> list[str]:
        """Return the first thread's names of the operands."""
        return self.program.threads[0].buffers

    def is_streamed(self, position: int) -> bool:
        if self.iteration is not None:
            return position < len(self.operands) - 1
        argument = self.operands[position].argument
        if not any(stream.argument is argument for stream in self.program.streams):
            return False
        # If a tensor is passed twice but streamed once, a thread fills its streamed buffer.
        same = [n for n, each in enumerate(self.operands) if each.argument is argument]
        return position in ([n for n in same if self.callers("reserve", n)] or same)

    def bind_streams(self) -> None:
        """Connect streams with operands; WrongValue if one is unknown or not needed."""
        read = self.program.streams
        for stream in read:
            operand = next((o for o in self.operands if o.argument is stream.argument), None)
            if operand is None:
                raise wrong_value(
                    f"`{stream.name}` is streamed, but the program is not called with it",
                    "give it to the program: Program(...)(lhs, rhs, out)",
                    calling_span(),
                )
            stream.operand = operand
        # A stream promises that a thread fills its buffer, so no shard is put there.
        filled = [each.argument for n, each in enumerate(self.operands) if self.is_prefilled(n)]
        for stream in self.program.made_streams:
            if stream not in read and any(stream.argument is each for each in filled):
                raise wrong_value(
                    f"`{stream.name}` is streamed, but no thread reads the stream and none "
                    "fills its buffer",
                    "fill it: dma(stream[y, x], cb.reserve()); or leave Stream() out",
                    stream.span,
                )

    # Buffer uses ----------------------------------------------------------------------------------

    def callers(self, method: str, position: int = -1) -> list[ThreadFunction]:
        """Return the threads that call a method of a buffer, by default of the output's."""
        return [t for t in self.program.threads if method in t.calls_on(t.buffers[position])]

    def is_prefilled(self, position: int) -> bool:
        """Is it an input without stream that no thread fills, so it holds the core's shard?"""
        is_read = position < len(self.operands) - 1 and bool(self.callers("pop", position))
        return is_read and not self.callers("reserve", position) and not self.is_streamed(position)

    @property
    def writers(self) -> list[ThreadFunction]:
        return self.callers("reserve")

    @property
    def takers(self) -> list[ThreadFunction]:
        """Return the threads that take the output's blocks from another thread."""
        return [thread for thread in self.callers("pop") if thread not in self.writers]

    @property
    def is_output_streamed(self) -> bool:
        """Does a thread write the output itself, with dma(block, stream[y, x])?"""
        return self.iteration is None and self.is_streamed(len(self.operands) - 1)

    @property
    def is_written_back(self) -> bool:
        """Does a kernel write the output at its end? Threads that take blocks do it for each."""
        return bool(self.writers) and not self.takers

    @property
    def movers(self) -> list[tuple[ThreadFunction, ...]]:
        """Group data movement threads: a core has two kernels, so the second takes the rest."""
        threads = tuple(thread for thread in self.program.threads if not thread.is_compute)
        return [group for group in (threads[:1], threads[1:]) if group]

    @property
    def kernels(self) -> list[tuple[ThreadFunction, ...]]:
        return [*self.movers, *((each,) for each in self.program.threads if each.is_compute)]

    def moves(self, thread: ThreadFunction) -> Moves:
        """Return the thread's moves for the buffers that are a core's part of a tensor."""
        fills = any(thread is each[0] for each in self.movers[:1])
        pushes = thread in self.writers and self.is_written_back and self.iteration is None
        empties = self.is_written_back and any(thread is each[-1] for each in self.movers[1:])
        output = thread.buffers[-1]
        return Moves(
            self._fills(thread) if fills else (),
            ((output, "push_shard"),) * pushes + ((output, "empty"),) * empties,
        )

    def _fills(self, thread: ThreadFunction) -> tuple[MethodCall, ...]:
        names = enumerate(thread.buffers)
        return tuple((name, "fill") for n, name in names if self.is_prefilled(n))

    @property
    def extra(self) -> Moves:
        """Return the moves of a further data movement kernel, if there is room for one."""
        thread = self.program.threads[-1]
        has_room = self.is_written_back and len(self.movers) < 2
        fills = () if self.movers else self._fills(thread)
        return Moves(fills, ((thread.buffers[-1], "empty"),) * has_room)

    def uses(self, threads: Sequence[ThreadFunction]) -> frozenset[tuple[str, str]]:
        """Return the uses of buffers by threads and moves, in the language's words."""
        return frozenset(
            (USES[method], name)
            for thread in threads
            for name, own in zip(self.names, thread.buffers, strict=True)
            for method in thread.calls_on(own) | self.moves(thread).methods_of(own)
            if method in USES
        )


# Methods of circular buffers in the language's words.
USES = {"reserve": "reserve", "fill": "reserve", "pop": "wait", "empty": "wait"}


class OperationBody:
    """The body of the operation, which replaces the user's function."""

    def __init__(self, call: Call, function: Any):
        self.call = call
        self.__name__ = call.name
        self.__code__ = function.__code__
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        names = [operand.name for operand in call.operands]
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def __call__(self, *tensors: object) -> None:
        collected = scope(self.call.name)
        objects = self._declare()
        call = self.call
        iterations = None
        if call.iteration is not None:
            mover = Mover(call.iteration, tuple(objects[: len(call.operands)]))
            iterations = Iterations(call.iteration, mover.buffers[-1])
            collected.kernels += self._movers(mover)
        for threads in call.kernels:
            functions = [
                bind_kernel(t, _by_parameter(t, objects), call.moves(t), iterations)
                for t in threads
            ]
            function = chain_threads(threads, functions)
            written_as = tuple(thread.function for thread in threads)
            kernel = KernelFunction(threads[0].kind, function, call.uses(threads), written_as)
            collected.kernels.append(kernel)
        moves = (*call.extra.before, *call.extra.after)
        if moves and call.iteration is None:
            last = call.program.threads[-1]
            name = "write_shards" if call.extra.after else "read_shards"
            function = make_calling_kernel(last, name, moves, _by_parameter(last, objects))
            collected.kernels.append(KernelFunction(KernelKind.DATAMOVEMENT, function))

    def _movers(self, mover: Mover) -> list[KernelFunction]:
        """Make the kernels that move blocks by the maps, at the place of the thread."""
        (thread,) = self.call.program.threads
        *inputs, output = self.call.names
        wanted = []
        if inputs:
            wanted.append(("read_blocks", "read", [("reserve", name) for name in inputs]))
        if self.call.is_written_back:
            wanted.append(("write_shards", "write", [("wait", output)]))
        return [
            KernelFunction(
                KernelKind.DATAMOVEMENT,
                make_calling_kernel(thread, name, [(MOVER, method)], {MOVER: mover}),
                frozenset(uses),
            )
            for name, method, uses in wanted
        ]

    def _declare(self) -> list[Any]:
        call = self.call
        found: list[CircularBuffer | Semaphore] = []
        for position, name in enumerate(call.names):
            operand = call.operands[position]
            blocks = STREAM_BLOCKS if call.is_streamed(position) else SHARD_BLOCKS
            shape = operand.block_shape
            buffer = make_dataflow_buffer_like(operand.tensor, shape=shape, block_count=blocks)
            buffer.name = name
            buffer.span = parameter_span(call.program.threads[0], name)
            cb = CircularBuffer(buffer, operand)
            cb.is_aliased = position == len(call.operands) - 1
            cb.is_taken = cb.is_aliased and bool(call.takers)
            cb.is_streamed = cb.is_aliased and call.is_output_streamed
            found.append(cb)
        for name in call.program.threads[0].semaphores:
            semaphore = LanguageSemaphore(0)
            semaphore.name = name
            semaphore.span = parameter_span(call.program.threads[0], name)
            found.append(Semaphore(semaphore))
        return found


def _by_parameter(thread: ThreadFunction, objects: Iterable[object]) -> dict[str, object]:
    return dict(zip(thread.names_of_parameters, objects, strict=True))


def parameter_span(thread: ThreadFunction, name: str) -> Span:
    return thread.span(next(each for each in thread.parameters if each.variable.name == name))


def check_call(call: Call) -> None:
    """Check a call before anything runs; WrongValue if it is wrong."""
    if call.iteration is not None:
        _check_affine(call)
    for thread in call.takers:
        if thread.is_compute or not call.writers or len(call.takers) > 1:
            raise _wrong_end(
                call,
                thread,
                -1,
                "pops `{}`, the buffer of the output",
                "let one thread reserve the output, and one of data movement pop it",
            )
    if call.is_output_streamed and call.writers and not call.takers:
        raise _wrong_end(
            call,
            call.writers[0],
            -1,
            "reserves `{}`, the streamed output, and no thread pops it",
            "let a datamovement thread write it: dma(out_cb.pop(), stream[y, x]).wait(); or leave "
            "Stream() of the output out",
        )
    if len(call.writers) > 1:
        raise _wrong_end(
            call,
            call.writers[1],
            -1,
            "reserves `{}`, the output, beside another thread",
            "let one thread write the output",
        )
    for position in range(len(call.operands) - 1):
        _check_ends(call, position)
        writers = [t for t in call.callers("reserve", position) if t.is_compute and t.stores]
        if writers and not call.callers("pop", position):
            raise _wrong_end(
                call,
                writers[0],
                position,
                "writes `{}`, which nobody pops: a second output",
                "a program has one output, its last tensor; write one program for each",
            )


def _check_ends(call: Call, position: int) -> None:
    """Check that one kernel fills an input and one takes its blocks."""
    for method, what in (("reserve", "reserves"), ("pop", "pops")):
        callers = call.callers(method, position)
        for thread in callers:
            if not any(thread in each and callers[0] in each for each in call.kernels):
                raise _wrong_end(
                    call,
                    thread,
                    position,
                    f"{what} `{{}}` beside thread `{callers[0].name}`",
                    f"let one thread call {method}() on it",
                )


def check_written(call: Call) -> None:
    """Check for an output after a run, so that this hides no mistake in an unfinished thread."""
    if not call.writers and not call.is_output_streamed:
        raise _wrong_end(
            call,
            call.program.threads[-1],
            -1,
            "and all others leave `{}`, the output, unwritten",
            "store into a block of it: out_cb.reserve().store(value)",
        )


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


def _wrong_end(
    call: Call, thread: ThreadFunction, position: int, what: str, help_text: str
) -> Exception:
    name = thread.buffers[position]
    text = f"thread `{thread.name}` {what.format(name)}"
    return wrong_value(text, help_text, parameter_span(thread, name), codes.BUFFER_ENDS)


def make_operation(call: Call, function: object) -> Operation:
    rows, columns = call.grid
    return Operation(OperationBody(call, function), (columns, rows), frontend=Threads(call))


@dataclass(frozen=True, slots=True)
class Threads:
    """Makes the d2m module of a call, and its passes."""

    call: Call

    @property
    def key_parts(self) -> tuple[object, ...]:
        """Return the module's dependencies beside the kernels: see driver/signature.py."""
        call = self.call
        layouts = tuple((each.name, each.layout.logical_shape) for each in call.operands)
        places = tuple(each.layout.memory_space for each in call.operands)
        return (
            call.use_tile_matmul,
            call.grid,
            layouts,
            places,
            call.iteration,
            call.system_desc,
        )

    def module(self, program: LanguageProgram, target: Any) -> ModuleOp:
        from .frontend import build_module

        return build_module(self.call, program, target)

    def passes(self) -> list[ModulePass]:
        from .passes.pipelines import D2M, find_pass

        return [find_pass(name)() for name in D2M]
