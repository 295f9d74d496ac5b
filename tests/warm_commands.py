"""Commands of this package in processes that need not import it: copies of one that has.

A command takes half a second to start and often less to run, and hundreds of tests run one. Such a
copy has its own arguments, folder, environment, standard files and exit status; what it does not
have is a start, so tests of that use a process of their own, and with `--full` all do.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
TESTS = Path(__file__).parent
WATCH = "PYTTLANG_WATCH_AGREEMENT"  # the file for the differences, where somebody wants them
# What the verbs import when they are used; of packages all modules.
MODULES = ("numpy.random", "rich.console", "ttnn")
PACKAGES = (
    "pykernel.dialects",
    "pykernel.passes",
    "ttgraph.cli",
    "ttgraph.dialects",
    "ttgraph.passes",
    "ttl.cli",
    "ttl.codegen",
    "ttl.dialects",
    "ttl.driver",
    "ttl.frontend",
    "ttl.host",
    "ttl.passes",
    "ttl.sim",
    "ttl.source",
)
_LONGEST_REQUEST = 1 << 20


class WarmCommands:
    """Started with the first command; `close` ends it."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._programs = {each.name for each in entry_points(group="console_scripts")}

    def serves(self, program: str, variables: dict[str, str]) -> bool:
        """Variables of Python itself are read when it starts."""
        is_ours = program.startswith("tt") and program in self._programs
        return is_ours and not any(name.startswith("PYTHON") for name in variables)

    def run(
        self,
        command: Sequence[str],
        cwd: Path,
        environment: dict[str, str],
        stdin: str = "",
        timeout: float = 300,
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` does it with text and captured output."""
        if self._server is None:
            self._start()
        request = {"command": list(command), "cwd": str(cwd), "environment": environment}
        with (
            tempfile.TemporaryFile("w+") as given,
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
        ):
            given.write(stdin)
            given.seek(0)
            files = [file.fileno() for file in (given, out, err)]
            socket.send_fds(self._connection, [json.dumps(request).encode()], files)
            status = self._status(command, timeout)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(list(command), status, out.read(), err.read())

    def _start(self) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-P", __file__, str(theirs.fileno())]
        self._server = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        theirs.close()

    def _status(self, command: Sequence[str], timeout: float) -> int:
        process = int(self._connection.recv(100))
        if not select.select([self._connection], [], [], timeout)[0]:
            os.kill(process, 9)
            self._connection.recv(100)
            raise subprocess.TimeoutExpired(command, timeout)
        return int(self._connection.recv(100))

    def close(self) -> None:
        if self._server is not None:
            self._connection.close()
            self._server.wait()


def serve(connection: socket.socket) -> Callable[[], Any] | None:
    """Copies this process for each request; the function that the copy has to call, then."""
    while True:
        text, files, _, _ = socket.recv_fds(connection, _LONGEST_REQUEST, 3)
        if not text:
            return None
        process = os.fork()
        if process == 0:
            connection.close()
            return _program(json.loads(text), files)
        for file in files:
            os.close(file)
        connection.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _program(request: dict[str, Any], files: Sequence[int]) -> Callable[[], Any]:
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["command"]
    sys.path.insert(0, str(BIN))  # where a script stands
    (program,) = entry_points(group="console_scripts", name=Path(sys.argv[0]).name)
    function: Callable[[], Any] = program.load()
    watch = os.environ.pop(WATCH, None)
    return function if watch is None else partial(_watched, function, Path(watch))


def _watched(function: Callable[[], Any], found: Path) -> Any:
    """Calls a command; appends how the ways to run its operations disagree to a file."""
    sys.path.append(str(TESTS))
    from agreement.watching import Watched
    from ttl.language.engine import LAUNCH_HOOK

    sys.path.remove(str(TESTS))
    watched = Watched()
    LAUNCH_HOOK.launch = watched.launch
    try:
        return function()
    finally:
        with found.open("a", encoding="utf-8") as file:
            file.writelines(f"{each}\n" for each in sorted(watched.differences))


def import_all() -> None:
    for name in MODULES:
        import_module(name)
    for package in PACKAGES:
        found = import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            import_module(module.name)


if __name__ == "__main__":
    import_all()
    gc.freeze()  # what is never looked at again is never copied
    program = serve(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(program() if program is not None else 0)
