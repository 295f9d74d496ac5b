"""Options and remarks of a graph's run: made where the user calls, and passed to its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.trace import Recorder

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation
    from ttl.driver.remarks import Remarks
    from ttl.driver.traces import Traces


@dataclass(frozen=True, slots=True)
class Launching:
    """Launch kernels on this CPU."""

    config: Config
    remarks: Remarks
    traces: Traces

    def launch(
        self,
        compiled: CompiledOperation,
        tensors: Sequence[Any],
        cache_dir: Path,
        recorder: Recorder | None = None,
    ) -> None:
        from ttl import host

        storages = [tensor.storage for tensor in tensors]
        with self.remarks.of_a_run(self.config) as report:
            host.launch(
                compiled,
                storages,
                cache_dir=cache_dir,
                recorder=recorder,
                report=report,
                isolate=self.config.isolate,
                memory_bytes=self.config.isolate_memory,
            )


def launching(config: Config | None = None) -> Launching:
    """With these options, or those that hold for the caller now."""
    from ttl.driver import PROCESS_DRIVER

    driver = PROCESS_DRIVER
    return Launching(config or Config.current(), driver.remarks, driver.runs.traces)
