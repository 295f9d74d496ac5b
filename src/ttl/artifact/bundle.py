"""Compiled operations as folders ttlang_kernel_dumps/program_<hash>, for replay.

A bundle is only data until it is compiled. Its C++ may include headers of the device API by name,
and no other file of the compiling machine.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from ttl.diagnostics import UsageError, codes, usage_error

from .manifest import to_json, write_folder
from .operation import CompiledOperation, Kernel

# Matches anywhere, even in texts and comments: a compiler may read these differently.
_INCLUDE = re.compile(
    r"(?:#|%:)(?:\s|/\*(?s:.*?)\*/)*(?:include|include_next|import|embed)\b(.*)$", re.M
)
# Other ways to read a file while compiling: the assembler's own directives, and a pragma.
_READING = re.compile(
    r"\b(?:asm|__asm|__asm__)\b|\.incbin\b|\bGCC\s+dependency\b|\b__has_(?:include|embed)\w*"
)
_COMMENT = re.compile(r"/\*.*?\*/|//.*")
_NAME = re.compile(r'\s*(?:"([^"]+)"|<([^>]+)>)\s*')


def bundle_name(compiled: CompiledOperation) -> str:
    from hashlib import sha256  # loads OpenSSL, which compiling does not need

    text = json.dumps(to_json(compiled), sort_keys=True)
    return f"program_{sha256(text.encode()).hexdigest()[:16]}"


def write_bundle(compiled: CompiledOperation, place: Path) -> Path:
    """Write the operation to its folder in `place`, whose name depends on the content alone."""
    folder = place / bundle_name(compiled)
    write_folder(compiled, folder)
    return folder


def check_includes(compiled: CompiledOperation) -> None:
    """Raise UsageError if a kernel includes more than named headers, or reads files otherwise."""
    for kernel in compiled.kernels:
        lines = kernel.cpp_source.replace("\r\n", "\n").replace("\r", "\n")
        spliced = re.sub(r"\\[ \t]*\r?\n", "", lines)
        for operand in map(str.strip, _INCLUDE.findall(spliced)):
            if not _is_header(operand):
                problem = f"includes {operand}, which is not the name of a device header"
                raise _refusal(kernel, problem)
        if found := _READING.search(spliced):
            raise _refusal(kernel, f"has `{found[0]}`, which reaches the files of this machine")


def _is_header(operand: str) -> bool:
    found = _NAME.fullmatch(_COMMENT.sub("", operand))
    if found is None:  # a macro could expand to any path
        return False
    name = found[1] or found[2]
    is_absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor
    return not is_absolute and ".." not in re.split(r"[/\\]", name) and "~" not in name


def _refusal(kernel: Kernel, problem: str) -> UsageError:
    return usage_error(
        codes.INCLUDE_REFUSED,
        f"kernel `{kernel.name}` {problem}",
        'include headers by their names, as in #include "api/dataflow/dataflow_api.h"',
        notes=(f"in kernels/{kernel.name}.cpp",),
    )
