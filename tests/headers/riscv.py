"""What a stock RISC-V gcc makes of a kernel with the real headers: how many instructions.

Debian's gcc-riscv64-unknown-elf has no C++ library: the machine's own headers stand in, told that
there are no threads.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ttl.artifact import CompiledOperation

from .check import kernel_units
from .translation_unit import Unit, preprocessor_options, write_generated
from .verdict import filtered

COMPILER = "riscv64-unknown-elf-g++"
HOST = "g++"
_FLAGS = (
    "-march=rv32im",
    "-mabi=ilp32",
    "-std=c++17",
    "-O2",
    "-ffast-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-w",
    "-fpermissive",
    "--specs=picolibc.specs",
    "-nostdinc++",
)
_COMMAND_BUFFER, _START_REGISTER = 0x400, 0x28  # NOC_CMD_CTRL
_WITHOUT_THREADS = {
    "bits/os_defines.h": "",
    "bits/gthr-default.h": "",
    "features.h": "",
    "bits/c++config.h": (
        "#include_next <bits/c++config.h>\n"
        "#undef _GLIBCXX_HAVE_LINUX_FUTEX\n"
        "#undef _GLIBCXX_HAS_GTHREADS\n"
    ),
}


def missing() -> str | None:
    """The reason for which a machine cannot count."""
    tools = (COMPILER, HOST)
    return None if all(map(shutil.which, tools)) else "no RISC-V gcc on this machine"


@dataclass(frozen=True, slots=True)
class Instructions:
    """Of a kernel: all, and those of each innermost loop that starts transfers."""

    total: int
    loops: tuple[int, ...]


def count_instructions(compiled: CompiledOperation, kernel_name: str) -> Instructions:
    """Of a data movement kernel, on the chip it is compiled for."""
    (kernel,) = (kernel for kernel in compiled.kernels if kernel.name == kernel_name)
    (unit,) = kernel_units(compiled, kernel, compiled.target)
    return _counted(_assembly(unit))


def _assembly(unit: Unit) -> str:
    with tempfile.TemporaryDirectory(prefix="pyttlang-riscv-") as name:
        folder = Path(name)
        write_generated(unit, folder)
        for file, text in _WITHOUT_THREADS.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        library = [part for path in _library_folders() for part in ("-isystem", path)]
        options = [*preprocessor_options(unit, folder), *library]
        expanded = _run([COMPILER, *_FLAGS, *options, "-E", str(folder / "unit.cpp")])
    return _run(
        [COMPILER, *_FLAGS, "-x", "c++-cpp-output", "-S", "-o", "-", "-"], filtered(expanded)
    )


def _library_folders() -> list[str]:
    """Where the machine's compiler has its C++ library."""
    shown = subprocess.run(
        [HOST, "-xc++", "-E", "-v", "/dev/null"], capture_output=True, text=True, check=True
    )
    return [line.strip() for line in shown.stderr.splitlines() if re.search(r"c\+\+/\d+$", line)]


def _run(command: Sequence[str], text: str | None = None) -> str:
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _counted(assembly: str) -> Instructions:
    found = re.search(r"^_Z11kernel_mainv:(.*?)^\t\.size", assembly, re.DOTALL | re.MULTILINE)
    assert found is not None
    instructions, labels = _parsed(found.group(1))
    jumps = [_jump_back(index, text, labels) for index, text in enumerate(instructions)]
    loops = [(start, end) for start, end in jumps if start <= end]
    starting = [loop for loop in loops if any(map(_starts, instructions[loop[0] : loop[1] + 1]))]
    inner = [one for one in starting if not any(_is_inside(other, one) for other in starting)]
    return Instructions(len(instructions), tuple(end - start + 1 for start, end in inner))


def _parsed(body: str) -> tuple[list[str], dict[str, int]]:
    instructions: list[str] = []
    labels: dict[str, int] = {}
    for line in body.splitlines():
        if re.match(r"\.L\w+:", line):
            labels[line.rstrip(":")] = len(instructions)
        elif re.match(r"\t[a-z]", line):
            instructions.append(line.strip())
    return instructions, labels


def _jump_back(index: int, text: str, labels: dict[str, int]) -> tuple[int, int]:
    """The instructions of the loop that a jump closes; an empty range if it closes none."""
    jump = re.match(r"(?:b\w+|j)\s.*?(\.L\w+)$", text)
    target = labels.get(jump.group(1), index + 1) if jump else index + 1
    return target, index


def _starts(instruction: str) -> bool:
    """Does it write to the register that starts a transfer (of any of the command buffers)?"""
    store = re.match(r"sw\s\w+,(\d+)\(", instruction)
    return store is not None and int(store.group(1)) % _COMMAND_BUFFER == _START_REGISTER


def _is_inside(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one != other and other[0] <= one[0] and one[1] <= other[1]
