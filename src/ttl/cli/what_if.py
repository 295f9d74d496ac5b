"""Tries other values of a program's block constants on the model."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ttl.diagnostics import TTLError
from ttl.source import tree
from ttl.source.bindings import Binding
from ttl.source.read import read_module
from ttl.source.walking import walk
from ttl.studio.estimate import Change, Estimate, Model, most_valuable, wait_in_words
from ttl.studio.estimate.changes import LEAST_SAVED

from .program import read_program, run_program

if TYPE_CHECKING:
    from ttl.driver.running import Runs

SHAPES = ("make_dataflow_buffer_like", "make_tensor_backed_dfb")
Values = dict[str, int]


def block_constants(text: str | bytes) -> Values:
    """Find the integers assigned at the top level that shapes of buffers depend on."""
    program = read_module(text)
    assigned = {
        target.binding: statement.value
        for statement in program.body
        if isinstance(statement, tree.Assign)
        for target in statement.targets
        if isinstance(target, tree.Target)
    }
    wanted = _variables(*_shapes(program))
    while more := _variables(*(assigned[each] for each in wanted & {*assigned})) - wanted:
        wanted |= more
    return {
        variable.name: value.value
        for variable, value in assigned.items()
        if variable in wanted and isinstance(value, tree.Constant) and type(value.value) is int
    }


def _shapes(program: tree.Function) -> Iterator[tree.Expression]:
    for call in walk(program):
        if isinstance(call, tree.Call) and _find_called(call.function) in SHAPES:
            yield from (each.value for each in call.keywords if each.name == "shape")


def _find_called(function: tree.Expression) -> str:
    if isinstance(function, tree.Name):
        return function.binding.name
    return function.name if isinstance(function, tree.Attribute) else ""


def _variables(*expressions: tree.Expression) -> set[Binding]:
    return {node.binding for node in walk(*expressions) if isinstance(node, tree.Name)}


def make_other_values(now: Values) -> Iterator[Values]:
    """Yield values with each constant doubled or halved, then with all doubled."""
    for name, value in now.items():
        yield {name: 2 * value}
        if value > 1 and value % 2 == 0:
            yield {name: value // 2}
    if len(now) > 1:
        yield {name: 2 * value for name, value in now.items()}


def with_block_changes(
    options: argparse.Namespace,
    variables: dict[str, str],
    costs: object,
    runs: Runs,
    found: list[Estimate],
) -> list[Estimate]:
    """Add to the estimates the time that other block sizes would save.

    Only counts equal work: as many operations, as many bytes written.
    """
    given = {name: value for name, value in options.defines.items() if type(value) is int}
    constants = block_constants(read_program(options.file)[1])
    now = {name: given.get(name, value) for name, value in constants.items()}
    more: dict[str, list[Change]] = {}
    for values in islice(make_other_values(now), options.trials):
        for model in _models(options, variables, costs, runs, values):
            for known in found:
                change = change_of(known, model, now, values)
                if change is not None:
                    more.setdefault(known.operation, []).append(change)
    return [
        replace(each, changes=most_valuable((*each.changes, *more.get(each.operation, ()))))
        for each in found
    ]


def change_of(known: Estimate, model: Model, now: Values, values: Values) -> Change | None:
    if known.operation != model.compiled.name or known.chip != model.compiled.target:
        return None
    machine = model.run(model.costs())
    is_same_work = (model.flops, machine.dram.written_bytes) == (known.flops, known.written_bytes)
    cycles = known.microseconds.typical * known.clock_ghz * 1e3
    saved = 1 - machine.end / cycles
    if not is_same_work or saved < LEAST_SAVED:
        return None
    text = ", ".join(f"{name}={value} (now {now[name]})" for name, value in values.items())
    return Change(wait_in_words(known.lines), text, saved)


def _models(
    options: argparse.Namespace,
    variables: dict[str, str],
    costs: object,
    runs: Runs,
    values: Values,
) -> list[Model]:
    """Make models of the operations that the program calls with these values; none if it fails."""
    from ttl.target.costs import load_costs

    runs.recorded.clear()
    defines = {**options.defines, **values}
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            run_program(options.file, options.arguments, variables, defines)
    except (TTLError, SystemExit):
        pass
    return [
        Model(each.compiled, each.recording, costs or load_costs(each.compiled.target))
        for each in list(runs.recorded.values())
    ]
