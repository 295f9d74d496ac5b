"""Checks one text of a program, in its own process: `python -m ttl.studio.lsp.worker`.

rule PURE    only definitions, imports and plain values of the top level are executed, no calls: an
             editor must not run the program
rule KNOWN   an operation is checked for the arguments of its last call, if `ttl run` kept it
"""

from __future__ import annotations

import ast
import io
import json
import linecache
import re
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ttl.artifact import CompiledOperation, Kernel
from ttl.config import Config, chosen_options
from ttl.diagnostics import Diagnostic, TTLError, render_json
from ttl.driver import Driver
from ttl.language import Operation
from ttl.source.read import read_module

from .calls import last_run, tensor_like
from .names import find_wrong_names
from .states import find_block_states

Found = dict[str, Any]


def look(text: str, file: str, cpp_folder: Path, with_estimate: bool) -> Found:
    """Return the values that the server shows; lines are counted from 1."""
    found: Found = {"diagnostics": [], "lines": {}, "cpp": []}
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = len(text), None, lines, file
    try:
        module = read_module(text, file)
        found["diagnostics"] = [_value(each) for each in find_wrong_names(module, file)]
        states = find_block_states(module)
    except SyntaxError as error:
        found["diagnostics"] = [_syntax(error, file)]
        return found
    for line, of_line in states.items():
        _at(found, line)["blocks"] = of_line
    driver = Driver()  # of this text: what was called before was of another
    operations, last = _operations(text, file), last_run(Config.current().cache_dir, file)
    with chosen_options(**last.chip):
        for operation in operations:
            if (call := last.calls.get(operation.__name__)) is not None:
                _look_at_operation(driver, operation, call, found, cpp_folder)
                if with_estimate and not _has_errors(found):
                    _estimate(driver, operation, call, found)
    return found


def _at(found: Found, line: int) -> Found:
    lines: dict[str, Found] = found["lines"]
    return lines.setdefault(str(line), {})


def _value(diagnostic: Diagnostic) -> Found:
    value: Found = json.loads(render_json(diagnostic))
    return value


def _syntax(error: SyntaxError, file: str) -> Found:
    line, column = error.lineno or 1, error.offset or 1
    place = {"file": file, "start": [line, column], "end": [line, column + 1], "text": ""}
    return {
        "code": "",
        "severity": "error",
        "message": error.msg,
        "primary": place,
        "secondary": [],
        "notes": [],
        "helps": [],
    }


# The operations of a text ------------------------------------------------------------------------


def _operations(text: str, file: str) -> list[Operation]:  # rule PURE
    """Execute the text's definitions; it is compiled as a whole, so functions are unchanged."""
    sys.path.insert(0, str(Path(file).parent))
    tree = ast.parse(text, file)
    for number, statement in enumerate(tree.body):
        if not _is_definition(statement):
            tree.body[number] = ast.copy_location(ast.Pass(), statement)
    names: dict[str, object] = {}
    while (failed := _execute(tree, file, names)) is not None:
        at = next(n for n, each in enumerate(tree.body) if (each.end_lineno or 0) >= failed)
        tree.body[at] = ast.copy_location(ast.Pass(), tree.body[at])
    found = [each for each in names.values() if isinstance(each, Operation)]
    return [each for each in found if each.function.__code__.co_filename == file]


def _execute(tree: ast.Module, file: str, names: dict[str, object]) -> int | None:
    """Execute the top level; return the first line that cannot be executed, or None."""
    names.clear()
    names.update(__name__="ttl_edited", __file__=file)
    code = compile(tree, file, "exec", dont_inherit=True)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            exec(code, names)
    except (Exception, SystemExit) as error:
        raised_at = error.__traceback__
        while raised_at is not None and raised_at.tb_frame.f_code is not code:
            raised_at = raised_at.tb_next
        return raised_at.tb_lineno if raised_at is not None else 1
    return None


PLAIN = (
    ast.Constant,
    ast.Name,
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.BinOp,
    ast.UnaryOp,
    ast.Attribute,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)


def _is_definition(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
        return all(isinstance(node, PLAIN) for node in ast.walk(statement.value))
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return isinstance(statement, kinds)


# One of them -------------------------------------------------------------------------------------


def _arguments(call: Found) -> Found:
    from ttl import ttnn

    device = ttnn.open_device(device_id=0)
    return {name: tensor_like(described, device) for name, described in call.items()}


def _look_at_operation(
    driver: Driver, operation: Operation, call: Found, found: Found, folder: Path
) -> None:
    """What is wrong with it, as `ttl check --compile-only` finds it, then its C++ and threads."""
    shown = io.StringIO()
    arguments = _arguments(call)
    with redirect_stderr(shown), redirect_stdout(io.StringIO()):
        try:
            with chosen_options(check=True, compile_only=True, json=True):
                driver.launch(operation, (), arguments)
        except TTLError as error:
            found["diagnostics"] += [_value(each) for each in error.diagnostics]
    for line in shown.getvalue().splitlines():
        with suppress(ValueError):
            found["diagnostics"].append(json.loads(line))
    with suppress(TTLError), redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        _add_threads(operation, arguments, found)
        compiled = driver.compile(operation, (), arguments)
        for kernel in compiled.kernels:
            _kernel(compiled, kernel, found, folder)


def _has_errors(found: Found) -> bool:
    return any(each["severity"] == "error" for each in found["diagnostics"])


def _kernel(compiled: CompiledOperation, kernel: Kernel, found: Found, folder: Path) -> None:
    """Its C++ as a file, and which of its lines each line of the program became."""
    file = folder / f"{compiled.name}-{kernel.name}.cpp"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(kernel.cpp_source)
    places = [[line, span.line] for line, span in kernel.source_map]
    found["cpp"].append({"file": str(file), "kernel": kernel.name, "places": places})
    for line, registers in count_dst_registers(kernel).items():
        _at(found, line)["dst"] = registers


LOOP = re.compile(r"for \(\w+ tile = 0; tile < (\d+);")
OFFSET = re.compile(r"\w+ dst = tile \+ (\d+);")


def count_dst_registers(kernel: Kernel) -> dict[int, int]:
    """Return the DST registers that each program line's section uses."""
    used: dict[int, int] = {}
    line, count = 0, 1
    for number, text in enumerate(kernel.cpp_source.splitlines(), 1):
        if "tile_regs_acquire" in text:
            span = kernel.span_of(number)
            line = span.line if span is not None else 0
        if match := LOOP.search(text):
            count = int(match[1])
        offset = OFFSET.search(text)
        if line:
            used[line] = max(used.get(line, 1), count + (int(offset[1]) if offset else 0))
        if "tile_regs_release" in text:
            line, count = 0, 1
    return used


def _add_threads(operation: Operation, arguments: Found, found: Found) -> None:
    """Find the threads of each line of a unified operation, and of operations that it expands."""
    from ttl.source.unified.listing import threads_by_line
    from ttl.source.unified.unify import threads_of

    unified = threads_of(operation, arguments)
    if unified is None:
        return
    for frame in unified.frame.all():
        if frame.file == unified.frame.file:
            for line, threads in threads_by_line(frame, unified.sections).items():
                names = [thread.title for thread in threads]
                _at(found, line)["threads"] = names or ["the body"]


def _estimate(driver: Driver, operation: Operation, call: Found, found: Found) -> None:
    from ttl.studio.estimate import estimate
    from ttl.target.costs import load_costs

    with (
        suppress(Exception),
        redirect_stderr(io.StringIO()),
        redirect_stdout(io.StringIO()),
        chosen_options(estimate=True),
    ):
        driver.runs.recorded.clear()
        driver.launch(operation, (), _arguments(call))
        for each in driver.runs.recorded.values():
            costs = load_costs(each.compiled.target)
            for line in estimate(each.compiled, each.recording, costs, each.times).lines:
                _at(found, line.line).setdefault("cycles", []).append(asdict(line))


def main() -> None:
    """Read a request as JSON from standard input and write the answer to standard output."""
    asked = json.load(sys.stdin)
    folder = Path(asked["cpp_folder"])
    answer = look(asked["text"], asked["file"], folder, asked["with_estimate"])
    sys.stdout.write(json.dumps(answer, default=str))


if __name__ == "__main__":
    main()
