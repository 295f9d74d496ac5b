"""Runs a user's program like `python FILE`."""

from __future__ import annotations

import argparse
import ast
import linecache
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ttl.config import Config, process_config, process_variables
from ttl.diagnostics import TTLError, WarningOptions, codes, reading, usage_error
from ttl.diagnostics.frames import user_traceback
from ttl.loading import settle
from ttl.studio.lsp.calls import recorded_calls

from .chip import add_chip_arguments, chip_variables, chip_words

STANDARD_INPUT = "-"  # in place of FILE
FROM_STANDARD_INPUT = "<stdin>"  # its name in messages


def natural(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def add_program_arguments(parser: argparse.ArgumentParser, with_compile_only: bool = False) -> None:
    if with_compile_only:
        parser.add_argument(
            "--compile-only",
            action="store_true",
            help="do not run the operations: tensors keep what they held",
        )
    add_warning_arguments(parser)
    parser.add_argument("--json", action="store_true", help="diagnostics as JSON, one a line")
    add_chip_arguments(parser)
    parser.add_argument("file", metavar="FILE", help="the program; - reads it from standard input")
    parser.add_argument(
        "arguments", metavar="ARGUMENT", nargs="*", help="its arguments; all after -- are its own"
    )


def add_warning_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--strict",
        action="store_true",
        help="warnings are errors, and so are releases and waits that are left out",
    )
    parser.add_argument(
        "-W",
        dest="warnings",
        action="append",
        default=[],
        type=_warning_option,
        metavar="OPTION",
        help="error: all warnings are errors; error=CODE: this one is an error; ignore=CODE: do "
        "not show this warning or note. If several options name a code, the last one counts",
    )


def read_define(text: str) -> tuple[str, object]:
    name, is_given, value = text.partition("=")
    if not name.isidentifier() or not is_given:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, as in K_BLOCK=4")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def add_isolate_argument(parser: argparse.ArgumentParser, where: str = "") -> None:
    parser.add_argument(
        "--isolate",
        action="store_true",
        help=f"{where}run the kernels in a process of their own that has limits and, where the "
        "system allows it, no files, sockets and network: one that crashes is reported",
    )


def _warning_option(text: str) -> str:
    try:
        WarningOptions.read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def warning_variables(options: argparse.Namespace) -> dict[str, str]:
    chosen = {
        "TTL_STRICT": options.strict and "1",
        "TTL_WARNINGS": ",".join(options.warnings),
        "TTL_ISOLATE": getattr(options, "isolate", False) and "1",
    }
    return {variable: text for variable, text in chosen.items() if text}


def program_words(options: argparse.Namespace) -> list[str]:
    """Return the options of warnings and the chip as words of a command line."""
    chosen = [word for text in options.warnings for word in ("-W", text)]
    return [*(["--strict"] if options.strict else []), *chosen, *chip_words(options)]


def program_variables(options: argparse.Namespace) -> dict[str, str]:
    """Return the options above as variables of ttl.config."""
    as_json = {"TTL_JSON": "1"} if options.json else {}
    return {**warning_variables(options), **as_json, **chip_variables(options)}


def split_program_arguments(
    parser: argparse.ArgumentParser, given: list[str]
) -> tuple[list[str], list[str]]:
    """Split a command line into our part, FILE last, and the program's arguments.

    Our options may come before or after FILE; the program gets all other words after FILE, and
    everything after the first `--`.
    """
    ours: list[str] = []
    theirs: list[str] = []
    tokens = deque(given)
    while tokens:
        token = tokens.popleft()
        if token.startswith(("-Werror", "-Wignore")):
            tokens.appendleft(token[2:])
            token = "-W"
        action = parser._option_string_actions.get(token.split("=")[0])
        if token == "--":
            theirs += tokens
            break
        if action is None:
            if not theirs and token.startswith("-") and token != STANDARD_INPUT:
                parser.error(f"unknown option {token}; options of the program stand after FILE")
            theirs.append(token)
        else:
            ours.append(token)
            if "=" not in token and _takes(action, tokens, not theirs):
                ours.append(tokens.popleft())
    return ([*ours, "--", theirs[0]], theirs[1:]) if theirs else (ours, [])


def _takes(action: argparse.Action, tokens: deque[str], file_to_come: bool) -> bool:
    """Does the next token belong to the option? An optional value is never the program."""
    if not tokens or action.nargs == 0:
        return False
    if action.nargs == "?":
        is_file = file_to_come and tokens[0].endswith(".py")
        return not tokens[0].startswith("-") and not is_file
    return True


def run_program(
    file: str,
    arguments: list[str],
    variables: dict[str, str],
    defines: Mapping[str, object] | None = None,
) -> int:
    """Execute FILE as __main__ with these variables of ttl.config; return its exit status.
    `defines` are values for names that it assigns at its top level.

    Diagnostics, exits and interrupts pass through to the caller.
    """
    try:
        execute_program(file, arguments, variables, defines)
    except RaisedByProgram as raised:
        return raised.show()
    return 0


class RaisedByProgram(Exception):
    """The program raised an exception that is no diagnostic; keeps the user's traceback."""

    def __init__(self, error: BaseException):
        super().__init__(error)
        self.error = error

    def show(self) -> int:
        """Print the traceback like Python, and return the exit status."""
        traceback.print_exception(self.error)
        return 1


def execute_program(
    file: str,
    arguments: list[str],
    variables: dict[str, str],
    defines: Mapping[str, object] | None = None,
) -> None:
    """Run like run_program(), but raise RaisedByProgram for the program's exceptions."""
    file, source = read_program(file)
    _load_engines(variables)
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(Path(file).resolve().parent))
    main = ModuleType("__main__")
    main.__file__ = file
    sys.modules["__main__"] = main
    code = _compile(file, source, defines)
    try:
        with (
            process_config(variables) as config,
            _ttnn_of_backend(config),
            recorded_calls(),
            _await_threads(),
        ):
            exec(code, main.__dict__)
    except (TTLError, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        trimmed = error.with_traceback(user_traceback(error.__traceback__))
        raise RaisedByProgram(trimmed) from None


def _compile(file: str, source: bytes, defines: Mapping[str, object] | None) -> CodeType:
    try:
        text = _set_values(ast.parse(source, file), defines, file) if defines else source
        return compile(text, file, "exec")
    except (SyntaxError, ValueError) as error:  # ValueError: a null byte, before Python 3.12
        _refuse_binary(file, source)
        raise RaisedByProgram(error.with_traceback(None)) from None
    except RecursionError as error:
        error.add_note(f"{file} has an expression or a statement that is too deep for Python")
        raise RaisedByProgram(error.with_traceback(None)) from None


def _load_engines(variables: dict[str, str]) -> None:
    """Load engines before the program, so that garbage collection only sees its objects."""
    with process_variables(variables):
        from ttl.driver import load_engines

        load_engines()
    settle()


def read_program(file: str) -> tuple[str, bytes]:
    """Return the program's name in messages, and its text."""
    if file == STANDARD_INPUT:
        lines = linecache.getlines(FROM_STANDARD_INPUT)  # from the previous run
        source = "".join(lines) or sys.stdin.read()
        lines = source.splitlines(keepends=True)
        linecache.cache[FROM_STANDARD_INPUT] = len(source), None, lines, FROM_STANDARD_INPUT
        return FROM_STANDARD_INPUT, source.encode()
    with reading(file):
        return file, Path(file).read_bytes()


def _refuse_binary(file: str, source: bytes) -> None:
    """Raise UsageError if it is no text; Python's own message would be about a null byte."""
    if b"\0" not in source:
        return
    import zipfile
    from io import BytesIO
    from shlex import quote

    if not zipfile.is_zipfile(BytesIO(source)):
        message, help_text = "it is not the text of a program", "name the .py file of the program"
    else:
        message = "it is a zip archive, and not the text of a program"
        folder = f"{Path(file).stem}-unpacked"
        unpack = f"python -m zipfile -e {quote(file)} {quote(folder)}"
        help_text = f"{unpack} && ttl run {quote(folder)}/__main__.py"
    raise usage_error(codes.FILE_NOT_USABLE, f"{file}: {message}", help_text) from None


def _set_values(program: ast.Module, values: Mapping[str, Any], file: str) -> ast.Module:
    """Give these names their values after each assignment at the top level; raise UsageError for a
    name that is not assigned there.
    """
    missing = set(values)
    body: list[ast.stmt] = []
    for statement in program.body:
        body.append(statement)
        for name in sorted(_find_assigned(statement) & set(values)):
            target = ast.Name(name, ast.Store())
            chosen = ast.Assign([target], ast.Constant(values[name]))
            body.append(ast.fix_missing_locations(ast.copy_location(chosen, statement)))
            missing.discard(name)
    if missing:
        name = min(missing)
        raise usage_error(
            codes.WRONG_OPTION,
            f"-D {name}: {file} does not assign it at its top level",
            "name a value that it assigns there, as in BLOCK = 2",
        )
    program.body = body
    return program


def _find_assigned(statement: ast.stmt) -> set[str]:
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    nodes = (node for target in targets for node in ast.walk(target))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


@contextmanager
def _ttnn_of_backend(config: Config) -> Iterator[None]:
    """`import ttnn` gives the embedded one, real or not: tensors of the real one need a device."""
    from _pyttlang_ttnn_finder import FirstFinder

    if config.backend == "device":
        yield
        return
    sys.meta_path.insert(0, FirstFinder)
    try:
        yield
    finally:
        sys.meta_path.remove(FirstFinder)


@contextmanager
def _await_threads() -> Iterator[None]:
    """Wait for the program's threads, like Python at exit: they still use its options."""
    others = set(threading.enumerate())
    try:
        yield
    finally:
        for thread in set(threading.enumerate()) - others:
            if not thread.daemon:
                thread.join()


def run_to_its_end(options: argparse.Namespace, variables: dict[str, str]) -> int:
    """Run the program for verbs that report on it: its own exit with status 0 does not end them."""
    try:
        execute_to_its_end(options, variables)
    except RaisedByProgram as raised:
        return raised.show()
    return 0


def execute_to_its_end(options: argparse.Namespace, variables: dict[str, str]) -> None:
    """Run like run_to_its_end(), but raise RaisedByProgram for the program's exceptions."""
    if getattr(options, "compile_only", False):
        variables = {**variables, "TTLANG_COMPILE_ONLY": "1"}
    try:
        defines = getattr(options, "defines", None)
        execute_program(options.file, options.arguments, variables, defines)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
