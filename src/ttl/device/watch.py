"""Watch a run on a device: its prints, its zones, and whether it ends.

tt-metal reads its settings from the environment when it is loaded, so `ttl run` sets them before
the program starts. Prints and the watcher do not work together with the profiler.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

from ttl.artifact import CompiledOperation
from ttl.trace import Recorder

from .descriptors import is_mesh
from .logs import GrowingLog
from .printed import printed_lines, prints
from .profile import ProfilerLog, record_zones

PRINT_FILE = "TT_METAL_DPRINT_FILE"
PROFILER_FOLDER = "TT_METAL_PROFILER_DIR"
LOGS_FOLDER = "TT_METAL_LOGS_PATH"
PROFILER = "TT_METAL_DEVICE_PROFILER"
WATCHER_SECONDS = 2  # between its checks


def metal_settings(logs: Path, *, profiles: bool, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for tt-metal; the user's own settings stay."""
    wanted = {LOGS_FOLDER: str(logs)}
    if profiles:
        # Write the log on request, not only when the device is closed.
        dump = {"TT_METAL_PROFILER_MID_RUN_DUMP": "1"}
        wanted |= {PROFILER: "1", PROFILER_FOLDER: str(logs / "profiler"), **dump}
    elif PROFILER not in environment:
        wanted |= {
            "TT_METAL_DPRINT_CORES": "all",
            PRINT_FILE: str(logs / "printed.txt"),
            "TT_METAL_WATCHER": str(WATCHER_SECONDS),
        }
    return {name: text for name, text in wanted.items() if name not in environment}


def profiler_log(environment: Mapping[str, str]) -> Path:
    folder = Path(environment.get(LOGS_FOLDER, "."))
    profiler = Path(environment.get(PROFILER_FOLDER, folder / "generated/profiler"))
    return profiler / ".logs/profile_log_device.csv"


class NotEnded(RuntimeError):
    """Raised after the limit; the words are those of tt-metal's own timeout."""

    def __init__(self) -> None:
        super().__init__("device timeout")


class Watch:
    """The logs of a process and the time limit of a launch."""

    def __init__(self, environment: Mapping[str, str], limit_seconds: float):
        self.limit_seconds = limit_seconds
        folder = Path(environment.get(LOGS_FOLDER, "."))
        printed = environment.get(PRINT_FILE)
        self.prints = None if printed is None else GrowingLog(Path(printed))
        self.profiles = environment.get(PROFILER) == "1"
        self._profile = GrowingLog(profiler_log(environment))
        self._zones = ProfilerLog()
        self._printed_last: tuple[CompiledOperation, bool] | None = None
        self._watcher = folder / "generated/watcher/watcher.log"

    def run_limited(self, work: Callable[[], None]) -> None:
        """Run work that may never end; raise NotEnded after the limit and abandon its thread."""
        failed: list[BaseException] = []
        ended = threading.Event()

        def worker() -> None:
            try:
                work()
            except BaseException as error:
                failed.append(error)
            finally:
                ended.set()

        threading.Thread(target=worker, name="ttl launch", daemon=True).start()
        if not ended.wait(self.limit_seconds):
            raise NotEnded
        if failed:
            raise failed[0]

    def watcher_lines(self) -> list[str]:
        try:
            return self._watcher.read_text(errors="replace").splitlines()
        except OSError:  # it is off
            return []

    def show_prints(self, compiled: CompiledOperation, device: object) -> None:
        if self.prints is None or not prints(compiled):
            return
        self._printed_last = compiled, is_mesh(device)
        for line in printed_lines(compiled, self.prints.settled_lines(), is_mesh(device)):
            print(line)

    def show_rest(self) -> None:
        """Show lines printed after the last launch with prints, which must be from it."""
        if self.prints is not None and self._printed_last is not None:
            compiled, on_mesh = self._printed_last
            for line in printed_lines(compiled, self.prints.lines(), on_mesh):
                print(line)

    def record(
        self, ttnn: ModuleType, compiled: CompiledOperation, device: object, recorder: Recorder
    ) -> bool:
        """Add events of the profiler's log; return False if there are none to add."""
        if not self.profiles:
            return False
        ttnn.ReadDeviceProfiler(device)
        return record_zones(compiled, self._zones.zones(self._profile.lines()), recorder)
