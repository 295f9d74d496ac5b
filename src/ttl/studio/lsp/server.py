"""`ttl lsp`: the protocol, over standard input and output.

A worker process checks every text, a moment after the last change, so a wrong program cannot stop
the server. Costs are estimated when a file is opened or saved.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from ttl import __version__

from .messages import Messages
from .showing import Found, diagnostic_of, find_fixes, hover_text

QUIET_SECONDS = 0.3  # wait after the last change
LONGEST_SECONDS = 60.0
WORKER = (sys.executable, "-m", "ttl.studio.lsp.worker")
DOTTED = re.compile(r"[\w.]+")


@dataclass(slots=True)
class Document:
    """Facts about an open file."""

    found: Found = field(default_factory=lambda: {"lines": {}, "cpp": []})
    looking: asyncio.Task[None] | None = None


class Server(LanguageServer):
    def __init__(self) -> None:
        super().__init__("ttl-lsp", __version__)
        self.documents: dict[str, Document] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="ttl-lsp-"))

    def look_soon(self, uri: str, seconds: float, with_estimate: bool = False) -> None:
        """Schedule a check and cancel the running one, whose text is outdated."""
        document = self.documents.setdefault(uri, Document())
        if document.looking is not None:
            document.looking.cancel()
        looking = self._look(uri, document, seconds, with_estimate)
        document.looking = asyncio.get_running_loop().create_task(looking)

    async def _look(self, uri: str, document: Document, seconds: float, estimate: bool) -> None:
        await asyncio.sleep(seconds)
        opened = self.find_text(uri)
        if opened is None:
            return
        text, version = opened.source, opened.version
        file = to_fs_path(uri) or uri
        asked = {
            "text": text,
            "file": file,
            "with_estimate": estimate,
            "cpp_folder": str(self.folder),
        }
        answer = await _answer_of_worker(json.dumps(asked))
        if answer is None:
            return
        document.found = answer
        shown = [diagnostic_of(each, file) for each in answer["diagnostics"]]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, [each for each in shown if each], version)
        )

    def find_text(self, uri: str) -> TextDocument | None:
        """Return the client's text; does not read files that the client has not opened."""
        return self.workspace.text_documents.get(uri)

    def lines(self, uri: str) -> list[str]:
        opened = self.find_text(uri)
        return [] if opened is None else list(opened.lines)

    def line_facts(self, uri: str, line: int) -> Found:
        document = self.documents.get(uri)
        facts: Found = document.found["lines"].get(str(line), {}) if document else {}
        return facts


async def _answer_of_worker(asked: str) -> Found | None:
    """Ask a worker; None if it failed or took too long."""
    pipe = asyncio.subprocess.PIPE
    worker = await asyncio.create_subprocess_exec(
        *WORKER, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        said, _ = await asyncio.wait_for(worker.communicate(asked.encode()), LONGEST_SECONDS)
        answer: dict[str, object] = json.loads(said)
        return answer
    except (TimeoutError, ValueError):
        return None
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()  # closes its pipes while the event loop still runs


def make_server() -> Server:
    server = Server()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def find_text(given: types.DidOpenTextDocumentParams) -> None:
        server.look_soon(given.text_document.uri, 0.0, with_estimate=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(given: types.DidChangeTextDocumentParams) -> None:
        server.look_soon(given.text_document.uri, QUIET_SECONDS)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(given: types.DidSaveTextDocumentParams) -> None:
        server.look_soon(given.text_document.uri, 0.0, with_estimate=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(given: types.DidCloseTextDocumentParams) -> None:
        server.documents.pop(given.text_document.uri, None)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(given: types.HoverParams) -> types.Hover | None:
        return _hover(server, given)

    @server.feature(types.TEXT_DOCUMENT_IMPLEMENTATION)
    def cpp(given: types.ImplementationParams) -> list[types.Location]:
        return _cpp_of_line(server, given)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    def actions(given: types.CodeActionParams) -> list[types.CodeAction]:
        return _actions(server, given)

    return server


def _hover(server: Server, given: types.HoverParams) -> types.Hover | None:
    uri, at = given.text_document.uri, given.position
    lines = server.lines(uri)
    line = lines[at.line] if at.line < len(lines) else ""
    word, dotted = _word(line, at.character)
    text = hover_text(word, dotted, server.line_facts(uri, at.line + 1))
    if text is None:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))


def _word(line: str, character: int) -> tuple[str, str]:
    """Return the name under the cursor, alone and with its dotted prefix."""
    for match in DOTTED.finditer(line):
        if match.start() <= character <= match.end():
            before = line[match.start() : character]
            after = re.match(r"\w*", line[character : match.end()])
            dotted = before + (after[0] if after else "")
            return dotted.rpartition(".")[2], dotted
    return "", ""


def _cpp_of_line(server: Server, given: types.ImplementationParams) -> list[types.Location]:
    """Return the C++ lines of all kernels that a program line became."""
    document = server.documents.get(given.text_document.uri)
    wanted = given.position.line + 1
    found = []
    for kernel in document.found["cpp"] if document else ():
        lines = [cpp for cpp, line in kernel["places"] if line == wanted]
        if lines:
            start, end = types.Position(min(lines) - 1, 0), types.Position(max(lines), 0)
            found.append(types.Location(Path(kernel["file"]).as_uri(), types.Range(start, end)))
    return found


def _actions(server: Server, given: types.CodeActionParams) -> list[types.CodeAction]:
    uri = given.text_document.uri
    lines = server.lines(uri)
    found: list[types.CodeAction] = []
    for diagnostic in given.context.diagnostics:
        start, end = diagnostic.range.start, diagnostic.range.end
        if diagnostic.source == "ttl" and start.line == end.line < len(lines):
            marked = lines[start.line][start.character : end.character]
            found += find_fixes(uri, diagnostic, marked)
    return found


def serve() -> None:
    make_server().start_io(cast(BinaryIO, Messages(sys.stdin.buffer)))
