"""Compiled operations as folders of one place, ttlang_kernel_dumps/program_<hash>, to be replayed.

A bundle is data until it is asked to be compiled. Its C++ may include the headers of the device
API by their names, and nothing else of the machine it is compiled on.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from ttl.diagnostics import UsageError, codes, usage_error

from .manifest import to_json, write_folder
from .operation import CompiledOperation, Kernel

# Wherever it stands, in texts and comments too: what is none for us may be one for a compiler.
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
    from hashlib import sha256  # OpenSSL is large, and compiling needs none of it

    text = json.dumps(to_json(compiled), sort_keys=True)
    return f"program_{sha256(text.encode()).hexdigest()[:16]}"


def write_bundle(compiled: CompiledOperation, place: Path) -> Path:
    """The folder of the operation in `place`; the same operation always has the same one."""
    folder = place / bundle_name(compiled)
    write_folder(compiled, folder)
    return folder


def check_includes(compiled: CompiledOperation) -> None:
    """UsageError if a kernel includes anything but names of headers, or reads a file otherwise."""
    for kernel in compiled.kernels:
        lines = kernel.cpp_source.replace("\r\n", "\n").replace("\r", "\n")
        spliced = re.sub(r"\\[ \t]*\r?\n", "", lines)
        for operand in map(str.strip, _INCLUDE.findall(spliced)):
            if not _is_header(operand):
                problem = f"includes {operand}, which is not the name of a device header"
                raise _refused(kernel, problem)
        if found := _READING.search(spliced):
            raise _refused(kernel, f"has `{found[0]}`, which reaches the files of this machine")


def _is_header(operand: str) -> bool:
    found = _NAME.fullmatch(_COMMENT.sub("", operand))
    if found is None:  # a macro, which could be any path
        return False
    name = found[1] or found[2]
    is_absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor
    return not is_absolute and ".." not in re.split(r"[/\\]", name) and "~" not in name


def _refused(kernel: Kernel, problem: str) -> UsageError:
    return usage_error(
        codes.INCLUDE_REFUSED,
        f"kernel `{kernel.name}` {problem}",
        'include headers by their names, as in #include "api/dataflow/dataflow_api.h"',
        notes=(f"in kernels/{kernel.name}.cpp",),
    )
