"""Makes one HTML file from the texts of web/ and the data; it loads nothing else."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ttl.artifact import CompiledOperation
from ttl.diagnostics import Diagnostic
from ttl.diagnostics.render import render_json, render_text
from ttl.studio.estimate import Timeline
from ttl.trace.calls import Recording

from .columns import as_text
from .estimates import make_estimate, timeline_columns
from .events import Events
from .operations import operation_values, stages_values
from .sources import PageValues, Sources
from .stages import Stage

WEB = Path(__file__).parent / "web"
SCRIPTS = (
    "base.js",
    "tracks.js",
    "timeline_canvas.js",
    "timeline.js",
    "memory.js",
    "graph.js",
    "code.js",
    "heat.js",
    "diagnostics.js",
    "tuning.js",
    "main.js",
)
PANELS = ("timeline", "memory", "graph", "code", "heat", "diagnostics", "tuning")


@dataclass(slots=True)
class ShownOperation:
    """Operation to show, as far as it compiled."""

    name: str
    stages: list[Stage] = field(default_factory=list)
    compiled: CompiledOperation | None = None
    recording: Recording | None = None
    timeline: Timeline | None = None  # with all its steps
    times: int = 1
    missing: str = ""  # why there is no estimate


@dataclass(slots=True)
class Shown:
    """Data that a page can show."""

    title: str
    made_by: str  # the command line
    operations: Sequence[ShownOperation] = ()
    calls: Sequence[int] = ()  # indices of operations, in the order of the trace
    events: Events | None = None
    diagnostics: Sequence[Diagnostic] = ()
    source: str | None = None  # the program's text, if known
    graph: PageValues | None = None  # calls of ttnn in a .ttnn file
    tuning: str = ""  # HTML about configurations
    panels: tuple[str, ...] = PANELS


def page_of(shown: Shown, subject: str = "") -> str:
    """Make the page; its head keeps `subject`, the file that it is about."""
    sources = Sources(shown.source)
    main = _main_file(shown)
    if main is not None:
        sources.file(main)
    blobs: list[str] = []
    operations = [_operation(each, sources, blobs) for each in shown.operations]
    trace = None
    if shown.events is not None and len(shown.events):
        trace, columns = shown.events.columns()
        trace["blob"] = _keep_blob(columns, blobs)
    values = {
        "title": shown.title,
        "madeBy": shown.made_by,
        "panels": shown.panels,
        "operations": operations,
        "calls": shown.calls,
        "trace": trace,
        "diagnostics": [_diagnostic(each, sources) for each in shown.diagnostics],
        "mainFile": None if main is None else sources.file(main),
        "graph": shown.graph,
        "tuning": shown.tuning,
        **sources.described(),
    }
    return _html(shown.title, subject, [as_text(json.dumps(values).encode()), *blobs])


def _main_file(shown: Shown) -> str | None:
    """Return the file of lines without one: the first kernel's, under its name there."""
    kernels = [k for each in shown.operations if each.compiled for k in each.compiled.kernels]
    spans = [span for kernel in kernels for _, span in kernel.source_map]
    return spans[0].file if spans else shown.source


def _operation(each: ShownOperation, sources: Sources, blobs: list[str]) -> PageValues:
    values: PageValues = {"name": each.name, "times": each.times, "missing": each.missing}
    values["stages"] = stages_values(each.stages, sources)
    if each.compiled is not None:
        values |= operation_values(each.compiled, sources)
    if each.compiled is not None and each.recording is not None:
        values["estimate"] = make_estimate(each.compiled, each.recording, each.times)
    if each.timeline is not None:
        described, columns = timeline_columns(each.timeline)
        values["timeline"] = {**described, "blob": _keep_blob(columns, blobs)}
    return values


def _keep_blob(columns: bytes, blobs: list[str]) -> int:
    blobs.append(as_text(columns))
    return len(blobs)  # the first is the page around them


def _diagnostic(found: Diagnostic, sources: Sources) -> PageValues:
    values = json.loads(render_json(found))
    labels = [label for label in (found.primary, *found.secondary) if label is not None]
    return {
        **{key: values[key] for key in ("code", "slug", "severity", "message", "notes", "helps")},
        "labels": [[sources.span(label.span), label.text] for label in labels],
        "why": found.code.explanation,
        "text": render_text(found),
    }


def _html(title: str, subject: str, blobs: Sequence[str]) -> str:
    data = "".join(f'<script type="text/plain" class="blob">{blob}</script>\n' for blob in blobs)
    script = "\n".join((WEB / name).read_text(encoding="utf-8") for name in SCRIPTS)
    parts = {
        "@subject@": html.escape(subject),
        "@title@": html.escape(title),
        "@style@": (WEB / "style.css").read_text(encoding="utf-8"),
        "@data@": data,
        "@script@": f"(() => {{\n'use strict';\n{script}\n}})();",
    }
    text = (WEB / "page.html").read_text(encoding="utf-8")
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


def serve(page: Callable[[], str], port: int, ready: Callable[[int], None]) -> None:
    """Serve the page on localhost until interrupted; call `ready` with the port, which the system
    chooses for 0. Raises OSError if the port is not free.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/":
                self.send_error(404)
                return
            body = page().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing: the page is for one reader."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        ready(server.server_address[1])
        server.serve_forever()
