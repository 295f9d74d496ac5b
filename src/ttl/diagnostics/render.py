"""Diagnostics as text for people and as JSON for editors."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby

from .diagnostic import Diagnostic, Label
from .span import Span


def render_text(diagnostic: Diagnostic) -> str:
    """Render the message, the marked source lines, then notes and helps."""
    lines = [f"{diagnostic.severity.value}[{diagnostic.code.code}]: {diagnostic.message}"]
    labels = _labels(diagnostic)
    gutter = max((len(str(label.span.line)) for label, _ in labels), default=1)
    for file, group in groupby(labels, key=lambda item: item[0].span.file):
        lines += _render_file(file, list(group), gutter)
    margin = " " * gutter
    lines += [f"{margin} = {note}" for note in diagnostic.notes]
    # Indent a program in a help below its first line.
    helps = [text.replace("\n", f"\n{margin}     ") for text in diagnostic.helps]
    lines += [f"{margin} = help: {text}" for text in helps]
    lines.append(f"{margin} = more: ttl explain {diagnostic.code.code}")
    return "\n".join(lines)


def render_json(diagnostic: Diagnostic) -> str:
    """Render one JSON object on one line."""
    import json  # only for editors

    return json.dumps(
        {
            "code": diagnostic.code.code,
            "slug": diagnostic.code.slug,
            "severity": diagnostic.severity.value,
            "blame": diagnostic.code.blame.name,
            "message": diagnostic.message,
            "primary": _label_object(diagnostic.primary),
            "secondary": [_label_object(label) for label in diagnostic.secondary],
            "notes": list(diagnostic.notes),
            "helps": list(diagnostic.helps),
            "facts": diagnostic.facts,
        },
        default=str,
    )


def _label_object(label: Label | None) -> dict[str, object] | None:
    if label is None:
        return None
    span = label.span
    return {
        "file": span.file,
        "start": [span.line, span.column],
        "end": [span.end_line, span.end_column],
        "text": label.text,
        **({"expanded": [each._asdict() for each in span.expanded]} if span.expanded else {}),
    }


def _labels(diagnostic: Diagnostic) -> list[tuple[Label, str]]:
    """Return the primary label, then the secondary ones of its file, then other files."""
    if diagnostic.primary is None:
        return [(label, "-") for label in diagnostic.secondary]
    first_file = diagnostic.primary.span.file
    rest = sorted(
        diagnostic.secondary, key=lambda label: (label.span.file != first_file, label.span.file)
    )
    return [(diagnostic.primary, "^"), *((label, "-") for label in rest)]


def _render_file(file: str, labels: list[tuple[Label, str]], gutter: int) -> Iterator[str]:
    first = labels[0][0].span
    margin = " " * gutter
    yield f"{margin}--> {shown_path(file)}:{first.line}:{first.column}"
    yield f"{margin} |"
    for label, mark in labels:
        yield from _render_label(label, mark, gutter)
    yield f"{margin} |"


def _render_label(label: Label, mark: str, gutter: int) -> Iterator[str]:
    span, text = label.span, label_text(label)
    source = linecache.getline(span.file, span.line).rstrip("\n")
    yield f"{span.line:>{gutter}} | {source.expandtabs(4)}".rstrip()
    if source:
        start, width = _underline(span, source)
        yield f"{' ' * gutter} | {' ' * start}{mark * width} {text}".rstrip()
    elif text:
        yield f"{' ' * gutter} | {text}"


def label_text(label: Label) -> str:
    """Return the label's text with the calls that expanded operations around its span."""
    places = [
        f"in `{each.operation}`, expanded at {shown_path(each.file)}:{each.line}"
        for each in label.span.expanded
    ]
    return "; ".join([*([label.text] if label.text else []), *places])


def _underline(span: Span, source: str) -> tuple[int, int]:
    """Return offset and width of the mark on the span's first line, with tabs expanded."""
    end = span.end_column - 1 if span.end_line == span.line else len(source)
    start = len(source[: span.column - 1].expandtabs(4))
    return start, max(1, len(source[:end].expandtabs(4)) - start)


def shown_path(file: str) -> str:
    """Return a path for messages: relative if inside the working folder, or a notebook's cell."""
    if (cell := _cell_number(file)) is not None:
        return f"Cell [{cell}]"
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return file if relative.startswith("..") else relative


def _cell_number(file: str) -> str | None:
    """Return the number of a notebook's cell, from IPython, which gives each a temporary file."""
    notebook = sys.modules.get("IPython")
    shell = None if notebook is None else notebook.get_ipython()
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = named(file) if named is not None else None  # ("Cell", "In[8]")
    return found[1].removeprefix("In[").removesuffix("]") if found else None


def render_all(diagnostics: Iterable[Diagnostic], as_json: bool = False) -> str:
    """Render several diagnostics for stderr."""
    render, between = (render_json, "\n") if as_json else (render_text, "\n\n")
    return between.join(render(diagnostic) for diagnostic in diagnostics)
