"""`ttl run --backend device`: settings of tt-metal before the program, and cleaning up after it."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ttl.diagnostics import KernelFault, UsageError, codes

if TYPE_CHECKING:
    from ttl.driver import Driver

LIMIT_SECONDS = 60  # of a launch


@contextmanager
def device_run(driver: Driver, traces: bool) -> Iterator[None]:
    """UsageError, before anything runs, if something is missing."""
    from ttl.device.readiness import has_profiler, missing
    from ttl.device.watch import metal_settings

    if (broken := missing()) is not None:
        raise UsageError(broken.at(None))
    logs = Path(tempfile.mkdtemp(prefix="ttl-device-"))
    profiles = traces and has_profiler()
    # tt-metal only reads environment variables, when it is loaded.
    os.environ.update(metal_settings(logs, profiles=profiles, environment=os.environ))
    hangs = False
    try:
        yield
    except KernelFault as fault:
        hangs = any(found.code is codes.DEVICE_HANG for found in fault.diagnostics)
        if not hangs:
            raise
        atexit.register(_leave)
        raise fault.with_note(f"the logs of tt-metal are in {logs}") from fault.__cause__
    finally:
        if not hangs:
            driver.device.show_rest()
            shutil.rmtree(logs, ignore_errors=True)


def _leave() -> None:
    """Exit at once: unloading tt-metal would wait for a device that does not answer."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
