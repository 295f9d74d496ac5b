"""A fault of pyttlang itself: all that is needed to find its cause goes into a folder."""

from __future__ import annotations

import platform
import shlex
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import mkdtemp

from _pyttlang_installation import own_distribution
from ttl.config import Config, chosen_variables
from ttl.diagnostics import Diagnostic, InternalError, codes
from ttl.language.operation import Program
from ttl.loading.cache_folder import known_refusal
from ttl.target import Target

FAULTS = "faults"  # in the cache folder
PACKAGES = ("numpy", "ml_dtypes", "greenlet", "xdsl", "torch", "ttnn")


def unexpected(program: Program, error: Exception) -> InternalError:
    """An exception that pyttlang raised and did not mean to."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    message = f"pyttlang failed on `{program.operation.__name__}`: {text}"
    found = InternalError(Diagnostic(codes.INTERNAL, message))
    found.__cause__ = error  # the bundle has its traceback
    return found


def with_bundle(
    error: InternalError, program: Program, target: Target, config: Config
) -> InternalError:
    """The error with a note that names its bundle; as it was if none can be written."""
    cause = error.__cause__ or error
    trace = "".join(traceback.format_exception(cause))
    name = f"{program.operation.__name__}-{sha256(trace.encode()).hexdigest()[:8]}"
    folder = _kept_folder(config) / FAULTS / name
    parts: dict[str, Callable[[], str]] = {
        "traceback.txt": lambda: trace,
        "message.txt": lambda: f"{error}\n",
        "versions.txt": _versions,
        "command.txt": _command,
        "program.py": lambda: _source(program),
        "initial.mlir": lambda: _module(program, target),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in parts.items():
            written = _text(text).encode(errors="backslashreplace")  # a path may be no UTF-8
            (folder / file).write_bytes(written)
    except OSError:
        return error
    first, *others = error.diagnostics
    notes = (
        *first.notes,
        "this is a fault in pyttlang, not in your program",
        f"program, versions, IR and traceback are in {folder}",
    )
    helps = ("report it with that folder",)
    return InternalError(replace(first, notes=notes, helps=helps), *others)


def _kept_folder(config: Config) -> Path:
    """The cache, or a folder that is still there when the process has ended."""
    if known_refusal(config.cache_folder) is None:
        return config.cache_dir
    return Path(mkdtemp(prefix="pyttlang-"))


def _text(part: Callable[[], str]) -> str:
    """A part that fails, as the IR does where the frontend is at fault, reports that instead."""
    try:
        return part()
    except Exception as error:
        return f"not available: {type(error).__name__}: {error}\n"


def _versions() -> str:
    ours = own_distribution()
    own_version = f"{ours.name} {ours.version}" if ours is not None else "ttl from its sources"
    lines = [f"python {sys.version}", f"platform {platform.platform()}", own_version]
    for package in PACKAGES:
        try:
            lines.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            lines.append(f"{package} is not installed")
    return "\n".join(lines) + "\n"


def _command() -> str:
    given = chosen_variables().items()
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(given)]
    return "\n".join([shlex.join(sys.argv), *variables]) + "\n"


def _source(program: Program) -> str:
    return Path(program.operation.function.__code__.co_filename).read_text(encoding="utf-8")


def _module(program: Program, target: Target) -> str:
    from ttl.dialects import print_module
    from ttl.frontend import build_module

    return print_module(build_module(program, target))
