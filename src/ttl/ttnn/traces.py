"""Traces: calls that are captured once and repeated any number of times on the same tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from ttl.semantics.current_engine import TRACE

from .allocation import checked_device
from .faults import wrong, wrong_type
from .tensor import Tensor

__all__ = ["begin_trace_capture", "end_trace_capture", "execute_trace", "release_trace"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(eq=False, slots=True)
class Trace:
    """Handle that begin_trace_capture() returns."""

    calls: list[Callable[[], object]] = field(default_factory=list)
    is_captured: bool = False


def begin_trace_capture(mesh_device: Any, *, cq_id: Any = None) -> Trace:
    """From here on operations are captured; here they are computed at once, too."""
    checked_device(mesh_device)
    if TRACE.get() is not None:
        raise wrong("a trace is being captured already", "call ttnn.end_trace_capture() first")
    trace = Trace()
    TRACE.set(trace.calls)
    return trace


def end_trace_capture(mesh_device: Any, trace_id: Any, *, cq_id: Any = None) -> None:
    """The trace is complete."""
    if TRACE.get() is not _checked(trace_id).calls:
        raise wrong("this trace is not being captured", "call ttnn.begin_trace_capture() first")
    TRACE.set(None)
    trace_id.is_captured = True


def execute_trace(
    mesh_device: Any, trace_id: Any, *, cq_id: Any = None, blocking: bool = True
) -> None:
    """Make the captured calls again: they read and write the tensors they had when captured."""
    checked_device(mesh_device)
    if not _checked(trace_id).is_captured:
        raise wrong("this trace is not complete", "call ttnn.end_trace_capture() first")
    for call in trace_id.calls:
        call()


def release_trace(mesh_device: Any, trace_id: Any) -> None:
    """Forget the trace."""
    _checked(trace_id).calls.clear()
    trace_id.is_captured = False


def _checked(trace_id: object) -> Trace:
    if not isinstance(trace_id, Trace):
        help_text = "give what ttnn.begin_trace_capture() returned"
        raise wrong_type("trace_id", trace_id, "a trace", help_text)
    return trace_id


def traced(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that executing a trace repeats its captured calls."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        result = function(*args, **kwargs)
        calls = TRACE.get()
        if calls is not None:
            calls.append(partial(_again, result, partial(function, *args, **kwargs)))
        return result

    return call


def _again(result: Any, function: Callable[[], Any]) -> None:
    """Repeat a call, and write its result to the tensors of the first one."""
    fresh = function()
    pairs = zip(result, fresh, strict=True) if isinstance(result, list) else ((result, fresh),)
    for target, source in pairs:
        _refill(target, source)


def _refill(target: Tensor, source: Tensor) -> None:
    for old, new in zip(target.shards, source.shards, strict=True):
        if old is not new:
            old.storage.fill(new.storage.logical)
