"""Captures a model for torch.compile(model, backend="tt") and export, as one aten graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch import fx
from torch._dynamo.exc import RestartAnalysis
from torch._functorch.aot_autograd import aot_module_simplified

from ttl.diagnostics import UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.loading import without_collecting
from ttl.loading.forks import ForkLock
from ttl.loading.recent import Recent

from .decompositions import decompositions
from .executable import MOST_KEPT, Executable
from .keys import kinds_of
from .lengths import OpenExecutable

torch.compiler.allow_in_graph(torch.ops.tt.tt_lang_op)
BACKEND = "tt"
TRACING = ForkLock()  # torch traces in one thread at a time


@contextmanager
def constants_on_cpu() -> Iterator[None]:
    """Capture torch.tensor([...], device="tt") in a model as a constant that is moved."""
    before = torch._C._only_lift_cpu_tensors()
    torch._C._set_only_lift_cpu_tensors(True)
    try:
        yield
    finally:
        torch._C._set_only_lift_cpu_tensors(before)


class CompiledGraph:
    """Graph from dynamo, compiled in dynamo's own compile step, one thread at a time.

    The call, not the compile step, raises errors of the model, because dynamo would wrap them. A
    graph with open sizes is compiled when it is called, for the sizes of the call.
    """

    def __init__(self, graph: fx.GraphModule, inputs: Sequence[Any], **options: Any):
        self.graph = graph
        self.compiled: Recent[Callable[..., Any]] = Recent(MOST_KEPT)
        self.error: Exception | None = _wrong_option(options)
        self.open: Callable[..., Any] | None = None
        if self.error is None:
            try:
                self._prepare(inputs)
            except RestartAnalysis:  # dynamo restarts, with numbers that it had left open
                raise
            except Exception as error:
                self.error = error

    def _prepare(self, inputs: Sequence[Any]) -> None:
        if all(_is_known(each) for each in inputs):
            self.compiled.get(kinds_of(inputs), lambda: _compile(self.graph, inputs))
        elif not torch.is_grad_enabled():
            with tracing():
                self.open = aot_module_simplified(self.graph, inputs, fw_compiler=_open_executable)

    def __call__(self, *inputs: Any) -> Any:
        if self.error is not None:
            raise self.error
        if self.open is not None:
            return self.open(*inputs)
        return self.compiled.get(kinds_of(inputs), lambda: _compile(self.graph, inputs))(*inputs)


def _is_known(value: Any) -> bool:
    """Is a number, or are the sizes of a tensor, known?"""
    if isinstance(value, torch.Tensor):
        return all(type(size) is int for size in value.shape)
    return not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _wrong_option(options: dict[str, Any]) -> UsageError | None:
    """Make the error for torch.compile's `mode=` and `options=`, which are not supported."""
    for name, value in options.items():
        if value is not None and value != {}:
            message = f"backend={BACKEND!r} has one way to compile, and no {name}={value!r}"
            help_text = f"leave {name}= out"
            broken = codes.WRONG_ARGUMENT.broken(message, help_text)
            return UsageError(broken.at(calling_span()))
    return None


@contextmanager
def tracing() -> Iterator[None]:
    """Let one thread at a time trace, with dynamo's own lock, and without garbage collection.

    A compilation makes many objects and drops few: repeated collections of everything that torch
    has loaded would take a fifth of its time.
    """
    from torch._dynamo.convert_frame import compile_lock

    with compile_lock, TRACING(), constants_on_cpu(), without_collecting():
        yield


def _compile(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    with tracing():
        compiled: Callable[..., Any] = aot_module_simplified(
            graph, inputs, fw_compiler=_executable, decompositions=decompositions()
        )
    return compiled


def _executable(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    executable = Executable(graph)

    def run(*tensors: Any) -> list[Any]:
        return executable(tensors)

    boxed: Callable[..., Any] = make_boxed_func(run)
    return boxed


def _open_executable(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    boxed: Callable[..., Any] = make_boxed_func(OpenExecutable(graph))
    return boxed


def register() -> None:
    """Register the backend with torch.compile, if it has not found the entry point."""
    if BACKEND not in torch._dynamo.list_backends(exclude_tags=()):
        torch._dynamo.register_backend(CompiledGraph, name=BACKEND)
