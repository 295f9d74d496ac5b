"""Makes the server's answers, protocol values, from a worker's findings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types

from ttl.diagnostics.pages import PAGES
from ttl.language.functions import FLAT
from ttl.semantics.ops import BLOCK_OPS

Found = dict[str, Any]
SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
SOURCE = "ttl"
NEAR = re.compile(r"`(\w+)`")
WRITE = re.compile(r"write (ttl\.math\.\w+)\(x\)$")
POWER = re.compile(r"^(?P<base>.+?)\s*\*\*\s*\S+$")


def range_of(place: Found) -> types.Range:
    (line, column), (end_line, end_column) = place["start"], place["end"]
    start = types.Position(line - 1, max(0, column - 1))
    return types.Range(start, types.Position(end_line - 1, max(0, end_column - 1)))


def diagnostic_of(found: Found, file: str) -> types.Diagnostic | None:
    """Make a diagnostic; None if it is about another file."""
    place = found["primary"] or next(iter(found["secondary"]), None)
    if place is not None and place["file"] != file:
        return None
    shown = range_of(place) if place is not None else types.Range(*[types.Position(0, 0)] * 2)
    lines = [found["message"], *found["notes"], *(f"help: {text}" for text in found["helps"])]
    page = PAGES / f"{found['code']}.md"
    return types.Diagnostic(
        shown,
        "\n".join(lines),
        SEVERITIES[found["severity"]],
        code=found["code"] or None,
        code_description=types.CodeDescription(page.as_uri()) if page.is_file() else None,
        source=SOURCE,
        related_information=[_related(each) for each in found["secondary"]],
        data={"helps": found["helps"]},
    )


def _related(place: Found) -> types.DiagnosticRelatedInformation:
    where = types.Location(Path(place["file"]).absolute().as_uri(), range_of(place))
    return types.DiagnosticRelatedInformation(where, place["text"] or "here")


# Hover -------------------------------------------------------------------------------------------


def hover_text(word: str, dotted: str, line: Found) -> str | None:
    """Return the hover text for the word under the cursor and its line."""
    parts = [*_operation(word, dotted), *_block(word, line), *_line(line)]
    return "\n\n".join(parts) or None


def _operation(word: str, dotted: str) -> Iterator[str]:
    op, is_ours = BLOCK_OPS.get(word), dotted.startswith(("ttl.", "math.", "block."))
    if op is None or not is_ours:
        return
    yield "```python\n" + "\n".join(op.calls) + "\n```"
    yield (FLAT[word].__doc__ or "") if word in FLAT else op.summary
    exact = "the same bits everywhere" if op.bound is None else "within the bound of the op table"
    yield f"On the chip: {exact}."


def _block(word: str, line: Found) -> Iterator[str]:
    state = line.get("blocks", {}).get(word)
    if state is not None:
        yield f"`{word}` after this line: {state}"


def _line(line: Found) -> Iterator[str]:
    if threads := line.get("threads"):
        yield f"Runs on: {', '.join(threads)}"
    if registers := line.get("dst"):
        yield f"DST: {registers} register{'s' * (registers != 1)}"
    for each in line.get("cycles", []):
        where = f"`{each['kernel']}` ({each['thread']})"
        busy = f"{each['busy']:.0f} cycles busy, {each['waited']:.0f} waiting"
        yield f"Estimate, {where}: {busy}, {each['times']} times, {each['share']:.0%} of the time"


# Quick fixes -------------------------------------------------------------------------------------


def find_fixes(uri: str, diagnostic: types.Diagnostic, text: str) -> Iterator[types.CodeAction]:
    """Yield fixes from the helps: intended names, and functions that replace an operator.

    The diagnostic marks `text`.
    """
    data: Any = diagnostic.data or {}
    for help_text in data.get("helps", ()):
        for title, wanted in _replacements(help_text, text):
            edit = types.TextEdit(diagnostic.range, wanted)
            yield types.CodeAction(
                title,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                edit=types.WorkspaceEdit(changes={uri: [edit]}),
            )


def _replacements(help_text: str, text: str) -> Iterator[tuple[str, str]]:
    if help_text.startswith("did you mean"):
        for name in NEAR.findall(help_text):
            around, dot, _ = text.rpartition(".")
            yield f"Change to {name}", f"{around}{dot}{name}"
    elif (wanted := WRITE.match(help_text)) and (power := POWER.match(text)):
        yield f"Write {wanted[1]}()", f"{wanted[1]}({power['base']})"
    elif help_text.startswith("write ttl.") and help_text.endswith("()"):
        name = help_text.removeprefix("write ").removesuffix("()")
        yield f"Change to {name}", name
