"""Pages of `ttl view`, `ttl lower` and `ttl run --view`: their contents and their files."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import Diagnostic, TTLError, codes, usage_error, writing
from ttl.language.engine import LAUNCH_HOOK

from .page_files import PageFile, default_page, page_file

if TYPE_CHECKING:
    from ttl.driver import Driver
    from ttl.driver.views import Views
    from ttl.studio.view import Shown

LARGEST_PORT = 65535


OTHER_NAME = "name another one with -o FILE.html, or write --force to replace it"


def add_page_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.html",
        help=f"where the page goes (default: add_{verb}.html for add.py). An earlier page of the "
        "same program is replaced, another file is not",
    )
    parser.add_argument("--force", action="store_true", help="replace any file")
    parser.add_argument(
        "--port",
        type=_port,
        metavar="N",
        help="write no file, serve the page at this port of this machine; 0 chooses a free one",
    )
    parser.add_argument("--no-open", action="store_true", help="do not open it in a browser")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > LARGEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {LARGEST_PORT}")
    return int(text)


def check_page(options: argparse.Namespace, verb: str) -> PageFile | None:
    """Return the page's file; None if it is served."""
    if options.port is not None:
        return None
    path = options.output or default_page(options.file, verb)
    return page_file(path, options.file, options.force, OTHER_NAME)


@contextmanager
def observe(
    driver: Driver, events: Path | None, made: Callable[[Shown], None], file: str
) -> Iterator[None]:
    """Keeps what the program in `file` does, and hands it over at its end, also if it fails."""
    from ttl.driver.views import Views

    views = driver.views = Views()
    command = shlex.join(["ttl", *sys.argv[1:]])  # the program gets others
    shown: list[Diagnostic] = []
    tunings: list[object] = []
    remarks = driver.remarks
    before, remarks.shown = remarks.shown, shown
    try:
        with _collect_tunings(tunings):
            yield
    except TTLError as error:
        shown += error.diagnostics
        raise
    finally:
        remarks.shown = before
        about = _shown(file, command, events, views, [*views.found, *shown])
        about.tuning = _tuning_section(tunings)
        made(about)


@contextmanager
def _collect_tunings(kept: list[object]) -> Iterator[None]:
    """Collect the tunings of calls, each once."""
    plain = LAUNCH_HOOK.tune

    def tune(*call: Any) -> object:
        found = plain(*call)
        if not any(found is each for each in kept):
            kept.append(found)
        return found

    LAUNCH_HOOK.tune = tune
    try:
        yield
    finally:
        LAUNCH_HOOK.tune = plain


def _tuning_section(tunings: list[Any]) -> str:
    if not tunings:
        return ""
    from ttl.studio.tuning.report import html_section

    return html_section(tunings)


def _shown(
    file: str, command: str, events: Path | None, views: Views, found: list[Diagnostic]
) -> Shown:
    from ttl.studio.view import Shown, read_timed_events

    return Shown(
        title=Path(file).name,
        made_by=command,
        operations=views.operations,
        calls=views.calls,
        events=read_timed_events(events, views.operations, views.calls) if events else None,
        diagnostics=_remove_duplicates(found),
        source=file,
    )


def _remove_duplicates(found: list[Diagnostic]) -> list[Diagnostic]:
    """Remove duplicate diagnostics: the check, the compiler and the run may report the same one."""
    kept: dict[object, Diagnostic] = {}
    for each in found:
        kept.setdefault((each.code.code, each.message, each.primary), each)
    return list(kept.values())


@contextmanager
def temporary_trace() -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(prefix="ttl-view-", suffix=".jsonl") as file:
        yield Path(file.name)


def write_page(shown: Shown, file: PageFile) -> None:
    from ttl.studio.view import page_of

    text = page_of(shown, file.subject)
    with writing(file.path):
        Path(file.path).write_text(text, encoding="utf-8")
    instead = f", in place of the earlier one of {Path(file.subject).name}" if file.replaces else ""
    print(f"ttl: page written to {file.path}{instead}", file=sys.stderr)


def deliver(make: Callable[[], Shown], options: argparse.Namespace, file: PageFile | None) -> None:
    """Write or serve the page, by the options of `add_page_arguments`; `file`: checked_page()'s."""
    if file is None:
        _serve(make, options)
        return
    write_page(make(), file)
    if not options.no_open and _has_screen():
        webbrowser.open(Path(file.path).resolve().as_uri())


def _serve(make: Callable[[], Shown], options: argparse.Namespace) -> None:
    from ttl.studio.view import page_of, serve

    def ready(port: int) -> None:
        address = f"http://127.0.0.1:{port}/"
        print(f"ttl: serving at {address} until it is interrupted", file=sys.stderr, flush=True)
        if not options.no_open and _has_screen():
            webbrowser.open(address)

    last = make()
    page = page_of(last)

    def newest() -> str:
        """Return the current page: a file may have changed, but a finished run has not."""
        nonlocal last, page
        if (now := make()) is not last:
            last, page = now, page_of(now)
        return page

    try:
        with suppress(KeyboardInterrupt):  # the usual way to stop it
            serve(newest, options.port, ready)
    except OSError as error:
        message = f"--port {options.port}: {error.strerror}"
        raise usage_error(codes.WRONG_OPTION, message, "choose another one, or 0") from None


def _has_screen() -> bool:
    """Is there a graphical browser? One in the terminal would replace the output."""
    is_desktop = sys.platform in ("darwin", "win32")
    return sys.stdout.isatty() and (
        is_desktop or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    )
