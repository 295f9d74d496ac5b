"""Kernels of the language for the threads of a pykernel program.

A thread is recompiled after bodies.py has rewritten it; it fills and empties the buffers that are a
core's part of a tensor around its body. All code has the lines of the user's code; its own names
start with a dot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType

from ttl.source import tree
from ttl.source.bindings import Scope
from ttl.source.code import with_names
from ttl.source.making import make_call, make_function, method_call, outer_name
from ttl.source.python import as_code

from .threads import ThreadFunction

COUNTERS, ITERATIONS = ".counters", ".iterations"
MethodCall = tuple[str, str]  # the name of an object, and a method


@dataclass(frozen=True, slots=True)
class Moves:
    """The methods that a thread calls beside its body, on its parameters."""

    before: tuple[MethodCall, ...] = ()
    after: tuple[MethodCall, ...] = ()

    def methods_of(self, name: str) -> set[str]:
        return {method for each, method in (*self.before, *self.after) if each == name}


def bind_kernel(
    thread: ThreadFunction, values: dict[str, object], moves: Moves, iterations: object = None
) -> FunctionType:
    """Bind the thread's parameters to `values`; its body runs for each of `iterations`."""
    body = thread.definition.body
    if iterations is not None:
        place = thread.definition.place
        target = tree.Target(place, thread.definition.scope.variable(COUNTERS))
        body = (tree.Loop(place, target, outer_name(ITERATIONS, place), body),)
        values = values | {ITERATIONS: iterations}
    before, after = (_calls(thread, calls) for calls in (moves.before, moves.after))
    return _bind(thread, thread.definition.name, (*before, *body, *after), values)


def chain_threads(threads: Sequence[ThreadFunction], functions: list[FunctionType]) -> FunctionType:
    """Make one kernel of threads that share a processor, in their order."""
    if len(functions) == 1:
        return functions[0]
    parts = {f".part_{number}": function for number, function in enumerate(functions)}
    body = tuple(
        tree.Evaluate(thread.definition.place, make_call(outer_name(part, thread.definition.place)))
        for part, thread in zip(parts, threads, strict=True)
    )
    name = "_and_".join(thread.name for thread in threads)
    return _bind(threads[0], name, body, parts)


def make_calling_kernel(
    thread: ThreadFunction, name: str, calls: Iterable[MethodCall], values: Mapping[str, object]
) -> FunctionType:
    """Make a kernel that only calls our methods, at the lines of `thread`."""
    return _bind(thread, name, _calls(thread, calls), values)


def _calls(thread: ThreadFunction, calls: Iterable[MethodCall]) -> tree.Body:
    """Make the calls, each at the place of the thread's parameter."""
    places = {each.variable.name: each.place for each in thread.parameters}
    found = []
    for name, method in calls:
        place = places.get(name, thread.definition.place)
        found.append(tree.Evaluate(place, method_call(outer_name(name, place), method, place)))
    return tuple(found)


def _bind(
    thread: ThreadFunction, name: str, body: tree.Body, values: Mapping[str, object]
) -> FunctionType:
    """Make a function whose free names are the thread's cells and `values`."""
    function = make_function(name, body, thread.definition.place, Scope(name))
    own, bound = thread.function.__code__, {**values, **thread.names}
    names = dict.fromkeys((*own.co_freevars, *bound))
    code = as_code(function, names, own.co_filename)
    return with_names(thread.function, code, bound)
