"""What the machine's own compiler makes of a kernel with the device headers of ttnn.

A kernel is put where the vendor's build would put it, into the same wrapper sources with the same
defines, and read in syntax-only mode. Vendor folders are system folders, so that every warning
the vendor's build turns into an error counts in the kernel and none counts in the headers. What the
vendor's compiler package adds is replaced by `standins/`. Pointers have 64 bits here and 32 on the
chip: casts between the two are let through.

Verdicts are kept in the cache folder; an empty list of messages accepts the kernel.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .metal_headers import cache_folder, find_headers
from .translation_unit import Unit, preprocessor_options, write_generated

_HERE = Path(__file__).parent
_WORKSPACE = "pyttlang-header-check-"
_CHECKER_MODULES = ("batch", "kernel_text", "names", "translation_unit", "verdict")

_FLAGS = (
    "-std=c++17",
    "-ffast-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-Wall",
    "-Werror",
    "-Wno-error=deprecated-declarations",
    "-Wno-error=parentheses",
    "-Wno-unused-variable",
    "-Wno-unused-function",
    "-Wno-unused-but-set-variable",
    "-Wno-attributes",
    "-Wno-int-to-pointer-cast",
)
_GCC_FLAGS = (
    "-fpermissive",
    "-Wno-error=multistatement-macros",
    "-fdiagnostics-color=never",
    "-fno-diagnostics-show-caret",
)
# clang has -fms-extensions for the casts between 64 and 32 bits, and another word for constinit.
_CLANG_FLAGS = (
    "-Qunused-arguments",
    "-fms-extensions",
    "-Wno-microsoft",
    "-Wno-pointer-to-int-cast",
    "-Wno-unknown-attributes",
    "-Wsign-compare",
    "-fno-color-diagnostics",
    "-fno-caret-diagnostics",
    "-D__constinit=__attribute__((require_constant_initialization))",
)


def cached_verdict(unit: Unit) -> list[str]:
    messages = known_verdict(unit)
    if messages is None:
        messages = _verdict(unit)
        keep_verdict(unit, messages)
    return messages


def known_verdict(unit: Unit) -> list[str] | None:
    return _read(_place("verdicts", repr(unit)))


def keep_verdict(unit: Unit, messages: list[str]) -> None:
    _write(_place("verdicts", repr(unit)), messages)


def _place(kind: str, content: str) -> Path:
    key = hashlib.sha256(f"{_checker_key()}\n{content}".encode()).hexdigest()
    return cache_folder() / kind / key[:2] / f"{key}.json"


def _read(path: Path) -> list[str] | None:
    try:
        texts: list[str] = json.loads(path.read_text())
        return texts
    except (FileNotFoundError, ValueError):
        return None


def _write(path: Path, texts: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as handle:
        json.dump(texts, handle)
    os.replace(handle.name, path)


def _verdict(unit: Unit) -> list[str]:
    with tempfile.TemporaryDirectory(prefix=_WORKSPACE) as name:
        folder = Path(name)
        write_generated(unit, folder)
        done = _preprocess(unit, folder)
        if not done.returncode:
            done = _check(done.stdout)
        return _messages(done.stderr, folder) if done.returncode else []


def preprocessed(unit: Unit, text: str) -> str | None:
    """What becomes of the text where a kernel with the unit's arguments would stand, with all
    macros and includes; None if a file is not there.
    """
    with tempfile.TemporaryDirectory(prefix=_WORKSPACE) as name:
        write_generated(unit, Path(name), text)
        done = _preprocess(unit, Path(name), "-dD", "-dI")
        return None if done.returncode else done.stdout


def is_accepted(preprocessed_text: str) -> bool:
    return _check(_DIRECTIVE.sub("", preprocessed_text)).returncode == 0


def _preprocess(unit: Unit, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    options = preprocessor_options(unit, folder)
    return _run([*_compiler(), *options, "-E", *more, str(folder / "unit.cpp")])


def _check(expanded: str) -> subprocess.CompletedProcess[str]:
    return _run([*_compiler(), "-fsyntax-only", "-x", "c++-cpp-output", "-"], filtered(expanded))


def _run(command: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )


_DIRECTIVE = re.compile(r"^#(?:define|undef|include|include_next)\b.*$", re.MULTILINE)
# Vendor text that this compiler would trip over, though it is right for the vendor's own.
_UNROLL_BY_NAME = re.compile(r"^[ \t]*#pragma GCC unroll (?:[A-Za-z_]\w*)[^\n]*$", re.MULTILINE)
# Registers of the chip in the clobber list of an assembly statement; clang looks at them.
_CLOBBER = re.compile(r'"[ast]\d+"')
# The compiler takes a file included from a system header for one itself and is silent about it.
_KERNEL_MARKER = re.compile(r'^(# \d+ "kernel\.cpp")((?: [1-4])*)$', re.MULTILINE)


def filtered(expanded: str) -> str:
    text = _UNROLL_BY_NAME.sub("", expanded)
    text = re.sub(r"\bstatic_assert\s*\(\s*false\b", "static_assert(true", text)
    text = _CLOBBER.sub('"memory"', text)
    return _KERNEL_MARKER.sub(
        lambda found: found.group(1) + re.sub(r" [34]", "", found.group(2)), text
    )


def _messages(stderr: str, folder: Path) -> list[str]:
    """The errors of a run. One that failed without naming a line says nothing about the kernel."""
    text = stderr.replace(f"{folder}/", "").replace(f"{find_headers()}/", "")
    errors = [line for line in text.splitlines() if re.search(r":\d+: (?:fatal )?error: ", line)]
    if not errors:
        raise RuntimeError(f"{_compiler()[0]} failed:\n{text}")
    return list(dict.fromkeys(errors))


@cache
def _compiler() -> tuple[str, ...]:
    """$CXX, else g++, c++ or clang++, with its flags."""
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            clang = "clang" in _run([found, "--version"]).stdout
            return (found, *_FLAGS, *(_CLANG_FLAGS if clang else _GCC_FLAGS))
    raise RuntimeError("kernels are checked with a C++ compiler, and there is none; install g++")


@cache
def _checker_key() -> str:
    """Changes when the checker, its stand-ins, the headers or the compiler change."""
    digest = hashlib.sha256(str(find_headers()).encode())
    digest.update(_run([_compiler()[0], "--version"]).stdout.encode())
    files = [path for path in sorted(_HERE.rglob("*")) if path.suffix == ".h"]
    for path in [*files, *(_HERE / f"{name}.py" for name in _CHECKER_MODULES)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
