"""The kernels of the language that the threads of a pykernel program become.

A thread is run recompiled, with the rules of bodies.py and
rule MOVE    the thread fills and empties the buffers that are a core's part of a tensor
All of it has the lines of the user's code; the names it needs start with a dot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from ttl.source import tree
from ttl.source.bindings import Place, Scope
from ttl.source.code import with_names
from ttl.source.making import around, called, method_call, without_parameters
from ttl.source.python import as_code

from .threads import Thread

COUNTERS, ITERATIONS, CALLED = ".counters", ".iterations", ".called"


@dataclass(frozen=True, slots=True)
class Moves:
    """What a thread does beside its body, by parameter."""

    fills: tuple[str, ...] = ()  # the buffers that it fills at its start
    pushes: tuple[str, ...] = ()  # the output, if the thread writes it
    writes: tuple[str, ...] = ()  # the output, which it writes back at its end


def running(
    thread: Thread, values: dict[str, Any], moves: Moves, iterations: Any = None
) -> FunctionType:
    """Bind the thread's parameters to `values`; its body runs for each of `iterations`."""
    body = thread.definition.body
    if iterations is not None:
        place = thread.definition.place
        target = tree.Target(place, thread.definition.scope.variable(COUNTERS))
        body = (tree.Loop(place, target, around(ITERATIONS, place), body),)
        values = values | {ITERATIONS: iterations}
    before, after = _moving(thread, moves)
    return _bound(thread, thread.definition.name, (*before, *body, *after), values)


def one_after_the_other(threads: Sequence[Thread], functions: list[FunctionType]) -> FunctionType:
    """The kernel of threads that share a processor, in their order."""
    if len(functions) == 1:
        return functions[0]
    parts = {f".part_{number}": function for number, function in enumerate(functions)}
    body = tuple(
        tree.Evaluate(thread.definition.place, called(around(part, thread.definition.place)))
        for part, thread in zip(parts, threads, strict=True)
    )
    name = "_and_".join(thread.name for thread in threads)
    return _bound(threads[0], name, body, parts)


def mover(thread: Thread, name: str, values: dict[str, Any], moves: Moves) -> FunctionType:
    """A kernel that only moves; it stands where `thread` names the parameter."""
    before, after = _moving(thread, moves)
    return _bound(thread, name, (*before, *after), values)


def _moving(thread: Thread, moves: Moves) -> tuple[tree.Body, tree.Body]:
    """What is done at the start of a kernel, and at its end."""
    places = {each.variable.name: each.place for each in thread.parameters}

    def calls(names: Iterable[str], method: str) -> tree.Body:
        return tuple(_statement(name, method, places[name]) for name in names)

    after = calls(moves.pushes, "push_shard") + calls(moves.writes, "empty")
    return calls(moves.fills, "fill"), after


def calling(thread: Thread, name: str, owner: Any, method: str) -> FunctionType:
    """A kernel that calls a method of ours; it stands where `thread` does."""
    body = (_statement(CALLED, method, thread.definition.place),)
    return _bound(thread, name, body, {CALLED: owner})


def _statement(name: str, method: str, place: Place) -> tree.Statement:
    return tree.Evaluate(place, method_call(around(name, place), method, place))


def _bound(thread: Thread, name: str, body: tree.Body, values: dict[str, Any]) -> FunctionType:
    """A function whose free names are the thread's own cells and cells with `values`."""
    function = without_parameters(name, body, thread.definition.place, Scope(name))
    own, bound = thread.function.__code__, {**values, **thread.names}
    names = dict.fromkeys((*own.co_freevars, *bound))
    code = as_code(function, names, own.co_filename)
    return with_names(thread.function, code, bound)
