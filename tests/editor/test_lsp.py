"""`ttl lsp` over the real protocol: a client starts it, opens files, types, asks."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from ttl.cli import main
from ttl.config import Config
from ttl.diagnostics import UsageError
from ttl.source.read import read_module
from ttl.studio.lsp.calls import record_of
from ttl.studio.lsp.names import find_wrong_names
from ttl.studio.lsp.states import find_block_states
from ttl.studio.lsp.worker import look

SOURCES = Path(__file__).parents[2] / "src"

PROGRAM = """\
import numpy as np
import ttnn

import ttl

BLOCK = 1


@ttl.operation(grid=(1, 1))
def scale(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(BLOCK, BLOCK))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK))

    @ttl.compute()
    def compute():
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(ttl.math.exp(x_blk) * 2)

    @ttl.datamovement()
    def read():
        with x_dfb.reserve() as x_blk:
            x_copy = ttl.copy(x[0, 0], x_blk)
            x_copy.wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()


print("the program runs")
x = ttl.from_numpy(np.ones((32, 32)), dtype=ttnn.bfloat16, device=ttnn.open_device(device_id=0))
scale(x, x)
"""
STORE = PROGRAM.splitlines().index("            y_blk.store(ttl.math.exp(x_blk) * 2)")


class Editor:
    """A client with what the server has published, by file."""

    def __init__(self, client: LanguageClient):
        self.client = client
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(given: types.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(given)

    async def open(self, file: Path) -> list[types.Diagnostic]:
        self.uri, self.version = file.as_uri(), 1
        document = types.TextDocumentItem(self.uri, "python", self.version, file.read_text())
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return [*(await self.published.get()).diagnostics]

    async def type(self, text: str) -> list[types.Diagnostic]:
        self.version += 1
        whole = types.TextDocumentContentChangeWholeDocument(text)
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))
        return [*(await self.published.get()).diagnostics]

    @property
    def document(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    async def hover(self, line: int, column: int) -> str:
        at = types.HoverParams(self.document, types.Position(line, column))
        found = await self.client.text_document_hover_async(at)
        return "" if found is None else found.contents.value  # type: ignore[union-attr]

    async def fixes(self, diagnostic: types.Diagnostic) -> list[types.CodeAction]:
        context = types.CodeActionContext([diagnostic])
        asked = types.CodeActionParams(self.document, diagnostic.range, context)
        found: Any = await self.client.text_document_code_action_async(asked)
        return [*found]


def edited(use: Callable[[Editor], Awaitable[None]]) -> None:
    async def session() -> None:
        client = LanguageClient("test", "1")
        editor = Editor(client)
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        await client.start_io(sys.executable, "-m", "ttl", "lsp", env=environment)
        capabilities = types.ClientCapabilities()
        await client.initialize_async(types.InitializeParams(capabilities))
        try:
            await use(editor)
        finally:
            await client.shutdown_async(None)
            client.exit(None)
            await client.stop()

    asyncio.run(session())


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One that was run before, as `ttl run` does."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    assert main(["run", str(file)]) == 0
    yield file
    record_of(Config.current().cache_dir, str(file)).unlink()


def test_a_session(program: Path) -> None:
    async def use(editor: Editor) -> None:
        assert await editor.open(program) == []
        shown = await editor.hover(STORE, PROGRAM.splitlines()[STORE].index("exp") + 1)
        assert "Returns e to the power of x, elementwise." in shown
        assert "DST: " in shown
        assert "cycles busy" in shown
        shown = await editor.hover(STORE, PROGRAM.splitlines()[STORE].index("x_blk") + 1)
        assert "`x_blk` after this line: RW (may be read and written)" in shown
        await goes_to_cpp(editor)
        await fixes_a_name(editor)
        await sees_a_deadlock(editor)
        found = await editor.type("def broken(:\n")
        assert [each.range.start.line for each in found] == [0]

    edited(use)


async def goes_to_cpp(editor: Editor) -> None:
    at = types.ImplementationParams(editor.document, types.Position(STORE, 20))
    found: Any = await editor.client.text_document_implementation_async(at)
    (place,) = found
    lines = Path(place.uri.removeprefix("file://")).read_text().splitlines()
    assert "tile_regs_acquire" in "".join(lines[place.range.start.line : place.range.end.line])


async def fixes_a_name(editor: Editor) -> None:
    found = await editor.type(PROGRAM.replace("ttl.math.exp(", "ttl.math.expp("))
    first = found[0]
    assert (first.code, first.severity) == ("TTL1004", types.DiagnosticSeverity.Error)
    assert first.code_description is not None
    assert first.code_description.href.endswith("TTL1004.md")
    actions = await editor.fixes(first)
    assert actions[0].title == "Change to exp"
    assert actions[0].edit is not None
    ((edit,),) = actions[0].edit.changes.values()  # type: ignore[union-attr]
    assert edit.new_text == "ttl.math.exp"
    assert edit.range == first.range


async def sees_a_deadlock(editor: Editor) -> None:
    """With the shapes of the last run, and without running anything."""
    waits_twice = "with y_dfb.wait() as y_blk, y_dfb.wait() as more:"
    found = await editor.type(PROGRAM.replace("with y_dfb.wait() as y_blk:", waits_twice))
    assert "TTL5001" in {each.code for each in found}
    assert all(each.source == "ttl" for each in found)


def looked_at(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return look(text, str(tmp_path / "program.py"), tmp_path / "cpp", with_estimate=False)


def test_a_program_that_never_ran_is_read_only(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("PYTTLANG_CACHE", str(tmp_path))
    found = looked_at(PROGRAM, tmp_path, monkeypatch)
    assert found["diagnostics"] == []
    assert found["cpp"] == []
    assert "runs" not in capsys.readouterr().out


def test_mistakes_of_types_are_found_with_the_shapes_of_the_last_run(
    program, tmp_path, monkeypatch
) -> None:
    text = PROGRAM.replace("x[0, 0]", "x[0, 1]")
    found = looked_at(text, tmp_path, monkeypatch)
    assert [each["code"] for each in found["diagnostics"]] == ["TTL2004"]


UNIFIED = """\
import ttl

@ttl.operation(grid=(1, 1))
def scale(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    with x_dfb.reserve() as x_blk:
        tx = ttl.copy(x[0, 0], x_blk); tx.wait()
    with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
        y_blk.store(x_blk * 2)
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[0, 0]).wait()
"""
CALL = """
import numpy as np
import ttnn
x = ttl.from_numpy(np.ones((32, 32)), device=ttnn.open_device(device_id=0))
scale(x, x)
"""


def test_lines_of_a_unified_operation_have_threads(program, tmp_path, monkeypatch) -> None:
    program.write_text(UNIFIED + CALL)
    assert main(["run", str(program)]) == 0
    lines = looked_at(UNIFIED, tmp_path, monkeypatch)["lines"]
    assert lines["5"]["threads"] == ["the body"]
    assert lines["8"]["threads"] == ["data movement 0"]
    assert lines["10"]["threads"] == ["compute"]
    assert lines["12"]["threads"] == ["data movement 1"]


def test_only_so_many_programs_are_kept(program, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("ttl.studio.lsp.calls.MOST_RECORDS", 2)
    with monkeypatch.context() as patched:
        patched.setenv("PYTTLANG_CACHE", str(tmp_path / "cache"))
        for number in range(3):
            other = tmp_path / f"program_{number}.py"
            other.write_text(PROGRAM)
            assert main(["run", str(other)]) == 0
            assert record_of(tmp_path / "cache", str(other)).is_file()
    assert len(list((tmp_path / "cache" / "last-calls").iterdir())) == 2


def test_names() -> None:
    text = "import ttl as t\n\ndef kernel():\n    x = t.math.exq(lenght)\n    return x\n"
    found = find_wrong_names(read_module(text), "p.py")
    assert [(each.message, each.primary.span.line) for each in found] == [
        ("ttl.math has no `exq`", 4),
        ("`lenght` is not defined in this kernel", 4),
    ]
    assert "`exp`" in found[0].helps[0]
    stars = read_module("from numpy import *\ndef f():\n    return zeros\n")
    assert find_wrong_names(stars, "p.py") == []


def test_states_of_blocks() -> None:
    lines = find_block_states(read_module(PROGRAM))
    at = {text.strip(): number for number, text in enumerate(PROGRAM.splitlines(), 1)}
    state = {
        n: lines[at[text]]["x_blk"][:3].strip()
        for n, text in {
            "reserved": "with x_dfb.reserve() as x_blk:",
            "written": "x_copy = ttl.copy(x[0, 0], x_blk)",
            "waited for": "x_copy.wait()",
        }.items()
    }
    assert state == {"reserved": "MW", "written": "NAW", "waited for": "MR"}
    assert lines[at["ttl.copy(y_blk, y[0, 0]).wait()"]]["y_blk"].startswith("RW")


def test_without_pygls_the_extra_is_named(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "ttl.studio.lsp.server", None)
    error = ModuleNotFoundError("no", name="pygls")
    monkeypatch.setattr("builtins.__import__", _refusing(error))
    from ttl.cli import lsp

    with pytest.raises(UsageError, match=r"(?s)TTL6007.*\.\[editor\]"):
        lsp.run(None)


def _refusing(error: ModuleNotFoundError) -> Callable[..., Any]:
    plain = __import__

    def imported(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ttl.studio.lsp.server":
            raise error
        return plain(name, *args, **kwargs)

    return imported


def test_the_page_starts_the_server_in_each_editor() -> None:
    """The names of the settings are those of version 0.2 of the extension."""
    page = (SOURCES.parent / "docs" / "howto" / "editor.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert json.loads(settings) == {
        "glspc.server.command": "ttl",
        "glspc.server.commandArguments": ["lsp"],
        "glspc.server.languageId": ["python"],
    }
    others = re.findall(r"```(?:lua|elisp)\n(.*?)```", page, re.DOTALL)
    assert len(others) == 4 and all(re.search(r'"ttl",? "lsp"', each) for each in others)
