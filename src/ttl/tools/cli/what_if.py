"""Other values of the constants that a program gives to its blocks, each tried by the model."""

from __future__ import annotations

import argparse
import ast
import io
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from itertools import islice
from typing import Any

from ttl.diagnostics import TTLError
from ttl.estimate import Change, Estimate, Model, most_valuable, wait_in_words
from ttl.estimate.changes import LEAST_SAVED

from .program import read_program, run_program

SHAPES = ("make_dataflow_buffer_like", "make_tensor_backed_dfb")
Values = dict[str, int]


def block_constants(text: str | bytes) -> Values:
    """Whole numbers that are assigned at the top level, and that shapes of buffers depend on."""
    program = ast.parse(text)
    assigned = {
        statement.targets[0].id: statement.value
        for statement in program.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    wanted = _names_in_shapes(program)
    while more := {
        each for name in wanted & set(assigned) for each in _names(assigned[name])
    } - wanted:
        wanted |= more
    return {
        name: value.value
        for name, value in assigned.items()
        if name in wanted and isinstance(value, ast.Constant) and type(value.value) is int
    }


def _names_in_shapes(program: ast.Module) -> set[str]:
    calls = [node for node in ast.walk(program) if isinstance(node, ast.Call)]
    shapes = [
        keyword.value
        for call in calls
        if isinstance(call.func, ast.Attribute | ast.Name)
        for keyword in call.keywords
        if keyword.arg == "shape" and ast.unparse(call.func).split(".")[-1] in SHAPES
    ]
    return {name for shape in shapes for name in _names(shape)}


def _names(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def other_values(now: Values) -> Iterator[Values]:
    """Twice as much and half as much of each, then twice as much of all."""
    for name, value in now.items():
        yield {name: 2 * value}
        if value > 1 and value % 2 == 0:
            yield {name: value // 2}
    if len(now) > 1:
        yield {name: 2 * value for name, value in now.items()}


def with_block_changes(
    options: argparse.Namespace, variables: dict[str, str], costs: Any, found: list[Estimate]
) -> list[Estimate]:
    """The same estimates, with what other blocks would save among their changes.

    Only the same work counts: as many operations, as many bytes written.
    """
    given = {name: value for name, value in options.defines.items() if type(value) is int}
    constants = block_constants(read_program(options.file)[1])
    now = {name: given.get(name, value) for name, value in constants.items()}
    more: dict[str, list[Change]] = {}
    for values in islice(other_values(now), options.trials):
        for model in _models(options, variables, costs, values):
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
    options: argparse.Namespace, variables: dict[str, str], costs: Any, values: Values
) -> list[Model]:
    """Of the operations that the program calls with these values; none where it fails."""
    from ttl.driver import PROCESS_DRIVER
    from ttl.target.costs import load_costs

    recorded = PROCESS_DRIVER.runs.recorded
    recorded.clear()
    defines = {**options.defines, **values}
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            run_program(options.file, options.arguments, variables, defines)
    except (TTLError, SystemExit):
        pass
    return [
        Model(each.compiled, each.recording, costs or load_costs(each.compiled.target))
        for each in list(recorded.values())
    ]
