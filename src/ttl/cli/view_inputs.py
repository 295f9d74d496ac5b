"""Reads files for `ttl view`: traces, compiled operations, graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ttl.artifact import CompiledOperation, check_includes, read_folder
from ttl.config import Config
from ttl.diagnostics import reading
from ttl.driver.traces import Traces
from ttl.studio.view import Events, Shown, read_events, read_timed_events
from ttl.studio.view.page import ShownOperation

from .pages import temporary_trace


def check_source(source: str | None) -> None:
    if source is not None:
        with reading(source):
            Path(source).open("rb").close()


def read_shown_trace(file: Path, source: str | None) -> Shown:
    """Read a trace; raise ValueError if it is none."""
    events = read_events(file)
    if not len(events):
        raise ValueError("it has no events")
    return Shown(file.name, f"ttl view {file}", events=events, source=source)


def read_shown_bundle(folder: Path, source: str | None, config: Config | None) -> Shown:
    """With options the operation is run."""
    compiled = read_folder(folder)
    operation = ShownOperation(compiled.name, compiled=compiled)
    operation.missing = "this is a compiled operation: add --run to run it"
    shown = Shown(folder.name, f"ttl view {folder}", [operation], calls=[0], source=source)
    if config is not None:
        check_includes(compiled)
        shown.events = _run_bundle(compiled, operation, config)
    return shown


def _run_bundle(compiled: CompiledOperation, operation: ShownOperation, config: Config) -> Events:
    from ttl.host import launch, record
    from ttl.trace import EventKind

    from .replay import tensors_for

    storages = [tensor.storage for tensor in tensors_for(compiled, {}, 0)]
    with temporary_trace() as trace:
        with Traces().recorded(replace(config, trace=str(trace))) as recorder:
            assert recorder is not None
            recorder.record(EventKind.OPERATION_START, (), "", compiled.name)
            launch(compiled, storages, cache_dir=config.cache_dir, recorder=recorder)
            recorder.record(EventKind.OPERATION_END, (), "", compiled.name)
        if all(kernel.own is None for kernel in compiled.kernels):
            operation.recording = record(compiled, storages, cache_dir=config.cache_dir)
            operation.missing = ""
        return read_timed_events(trace, [operation], [0])
