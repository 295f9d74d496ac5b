"""Unified bodies against the same program with kernels, and against sequential Python in numpy.

In a generated body the names tell the threads: blocks and values of the compute kernel start with
`c_`, those of the data movement kernels with `r_` and `w_`, and a statement without such names is
shared. So a kernel is the body without the statements of other threads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from copy import copy
from random import Random
from typing import Any

import numpy as np

from fuzz import exact_ttl
from fuzz.engines import Outcome, check, run
from fuzz.form_programs import Maker
from fuzz.judging import Verdict
from ttl.diagnostics import Severity

THREADS = {"c": "compute", "r": "datamovement", "w": "datamovement"}
OWNED = re.compile(r"([crw])_")


def program(seed: int) -> str:
    return Maker(Random(seed)).text()


class NotSplit(Exception):
    """A statement of two threads: nothing that is generated, but what is left of it may be."""


def by_hand(text: str) -> str:
    """The operation with a kernel for each thread."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "operation":
            setup = [each for each in node.body if _is_setup(each)]
            rest = [each for each in node.body if not _is_setup(each)]
            kernels = [made for thread in THREADS if (made := _kernel(thread, rest)) is not None]
            node.body = [*setup, *kernels] or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _is_setup(node: ast.stmt) -> bool:
    made = ("make_dataflow_buffer_like", ".shape[")
    return isinstance(node, ast.Assign) and any(each in ast.unparse(node) for each in made)


def _kernel(thread: str, statements: Sequence[ast.stmt]) -> ast.stmt | None:
    body = [each for node in statements for each in _of_thread(node, thread)]
    if thread not in {found for each in body for found in _threads(each)}:
        return None
    (made,) = ast.parse(f"@ttl.{THREADS[thread]}()\ndef {thread}_kernel():\n    pass").body
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made


def _threads(*nodes: ast.AST) -> set[str]:
    names = (n.id for each in nodes for n in ast.walk(each) if isinstance(n, ast.Name))
    return {found[1] for name in names if (found := OWNED.match(name))}


def _of_thread(node: ast.stmt, thread: str) -> Iterator[ast.stmt]:
    if isinstance(node, ast.With):
        items = [each for each in node.items if thread in _threads(each)]
        body = [each for inner in node.body for each in _of_thread(inner, thread)]
        if items:
            made = copy(node)
            made.items, made.body = items, body or [ast.Pass()]
            yield made
        else:
            yield from body
    elif isinstance(node, (ast.For, ast.If)):
        yield from _compound(node, thread)
    elif len(found := _threads(node)) > 1:
        raise NotSplit
    elif not found or thread in found:
        yield node


def _compound(node: ast.For | ast.If, thread: str) -> Iterator[ast.stmt]:
    head = _threads(node.test) if isinstance(node, ast.If) else _threads(node.iter, node.target)
    if head and thread not in head:
        return
    made = copy(node)
    made.body = [each for inner in node.body for each in _of_thread(inner, thread)]
    made.orelse = [each for inner in node.orelse for each in _of_thread(inner, thread)]
    inside = [*made.body, *made.orelse]
    jumps = any(isinstance(n, (ast.Break, ast.Continue)) for each in inside for n in ast.walk(each))
    if jumps or thread in _threads(*inside):
        made.body = made.body or [ast.Pass()]
        yield made


# Judging ------------------------------------------------------------------------------------------


def judge(text: str) -> Verdict:
    """All ways to run both forms end with the numbers of the reference, and the check is silent."""
    try:
        forms = {"unified": text, "by hand": by_hand(text)}
        wanted = _expected(text)
    except Exception as error:  # of a text that was made smaller
        return Verdict(ending="invalid", failure=f"no program: {error!r}")
    verdict = Verdict()
    for form, of_form in forms.items():
        for way, backend, seed in WAYS:
            outcome = run(of_form, backend, seed)
            verdict.ending = verdict.ending or outcome.kind
            verdict.codes |= {(backend, code) for code in outcome.codes}
            verdict.failure = verdict.failure or _wrong(f"{form} {way}", outcome, wanted)
        checked, found = check(of_form)
        errors = [each.code.code for each in found if each.severity is Severity.ERROR]
        errors += [*checked.codes, *([checked.detail] if checked.kind == "fault" else [])]
        if errors and not verdict.failure:
            verdict.failure = f"{form} check: {errors[0]}"
    return verdict


WAYS = (("sim", "sim", None), ("sim", "sim", 1), ("host", "host", 1))


def _wrong(where: str, outcome: Outcome, wanted: list[Any]) -> str:
    if outcome.kind != "ended":
        return f"{where}: {outcome}"
    for number, (result, values) in enumerate(zip(outcome.results, wanted, strict=True)):
        if not np.array_equal(result, values):
            place = tuple(map(int, np.argwhere(result != values)[0]))
            return f"{where}: wrong numbers: tensor {number}, {result[place]} for {values[place]}"
    return ""


def _expected(text: str) -> list[Any]:
    import ttl

    names: dict[str, Any] = {"__name__": "fuzzed"}
    exec(text, names)
    given = names["make_arguments"]()
    arrays = {id(each): ttl.to_numpy(each).astype(np.float64) for each in given}
    exact_ttl.run(text, [arrays[id(each)] for each in given])
    return [arrays[id(each)] for each in given]
