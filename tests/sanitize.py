"""The executor's own tests with its C++ built for sanitizers: `make test-sanitize`.

    python -m sanitize [address | thread] [tests ...]

`address`: ASan and UBSan. Frames of fibers are not watched (asan-stack=0): ASan takes the stack of
an abandoned fiber for one that is in use. `thread`: TSan, for an executor with threads. Libraries
go to a cache of their own. Reports are kept in build/sanitize and printed; exits 1 for any.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "sanitize"
TESTS = ("tests/unit/host", "tests/host")
# Kernels that write outside of memory or divide by zero on purpose: the sanitizers notice first.
# The process of isolated kernels has no environment, so no sanitizer, and less memory than ASan
# maps.
ON_PURPOSE = "not wild_pointers and not division_by_zero and not test_isolation"
# TSan delivers a signal at the next call that it knows: a kernel that makes none goes on for ever.
WITHOUT_CALLS = "not without_a_call and not nothing"
NOISE = ("__asan_handle_no_return", "False positive error reports", "For details see")


@dataclass(frozen=True)
class Sanitizer:
    flags: str
    libraries: tuple[str, ...]
    options: dict[str, str]
    left_out: str = ON_PURPOSE


SANITIZERS = {
    "address": Sanitizer(
        "-fsanitize=address,undefined --param asan-stack=0",
        ("libasan.so", "libubsan.so"),
        {
            # The interpreter keeps what it has until its end.
            "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        },
    ),
    "thread": Sanitizer(
        "-fsanitize=thread",
        ("libtsan.so",),
        {"TSAN_OPTIONS": "die_after_fork=0"},
        f"{ON_PURPOSE} and {WITHOUT_CALLS}",
    ),
}


def main(arguments: Sequence[str]) -> int:
    name = arguments[0] if arguments and arguments[0] in SANITIZERS else "address"
    tests = [each for each in arguments if each not in SANITIZERS] or [*TESTS]
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    (FOLDER / name).mkdir(parents=True)
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "--timeout=1200",
        "-k",
        SANITIZERS[name].left_out,
        *tests,
    ]
    status = subprocess.call(command, cwd=ROOT, env=environment(name))
    reports = [each for each in sorted((FOLDER / name).iterdir()) if found_in(each)]
    for report in reports:
        print(f"{report}:\n{found_in(report)}")
    print(f"{name}: {len(reports)} reports, pytest ended with {status}")
    return int(bool(status or reports))


def environment(name: str, compiler: str = "g++") -> dict[str, str]:
    """The libraries come first in a process that was built without them."""
    chosen = SANITIZERS[name]
    asked = [[compiler, f"-print-file-name={library}"] for library in chosen.libraries]
    paths = [subprocess.check_output(each, text=True).strip() for each in asked]
    log = f":log_path={FOLDER / name / 'report'}"
    return {
        **os.environ,
        **{variable: text + log for variable, text in chosen.options.items()},
        "LD_PRELOAD": " ".join(paths),
        "CXX": f"{compiler} {chosen.flags}",
        "PYTTLANG_CACHE": str(FOLDER / "cache"),
    }


def found_in(report: Path) -> str:
    """What is not noise; nothing if all is."""
    lines = report.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(line for line in lines if not any(each in line for each in NOISE)).strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
