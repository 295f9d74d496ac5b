"""How notebooks show objects of the language."""

from __future__ import annotations

from collections.abc import Mapping

from .dtypes import Array

MOST_ROWS = 8  # and as many columns


def html_table(title: str, facts: Mapping[str, object], values: Array | None = None) -> str:
    """Return HTML with a title, named facts, and an array's first rows and columns."""
    from html import escape  # loads a large table of entities

    cells = ((escape(name), escape(str(fact))) for name, fact in facts.items())
    rows = "".join(f"<tr><th>{name}</th><td>{fact}</td></tr>" for name, fact in cells)
    shown = "" if values is None else _numbers(values)
    return f"<div><b>{escape(title)}</b><table>{rows}</table>{shown}</div>"


def _numbers(values: Array) -> str:
    plane = values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)
    shown = [line[:MOST_ROWS].tolist() for line in plane[:MOST_ROWS]]
    rows = [_row([f"{number:.6g}" for number in line], plane.shape[1]) for line in shown]
    more = "<tr><td>\u2026</td></tr>" if len(plane) > MOST_ROWS else ""
    return f"<table>{''.join(rows)}{more}</table>"


def _row(cells: list[str], width: int) -> str:
    more = ["\u2026"] if width > MOST_ROWS else []
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in (*cells, *more))}</tr>"
