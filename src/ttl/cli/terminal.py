"""Prints to terminals: tables of their width, rendered Markdown, a pager."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ttl.trace.stats import Table


def is_terminal() -> bool:
    return sys.stdout.isatty()


def show_tables(tables: Sequence[Table]) -> None:
    if not is_terminal():
        print("\n\n".join("\n".join(table.lines()) for table in tables))
        return
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console(highlight=False)
    for table in tables:
        shown = RichTable(title=table.title, title_justify="left", box=None, title_style="bold")
        for at, column in enumerate(table.columns):
            is_number = all(str(row[at]).isdecimal() for row in table.rows)
            shown.add_column(column, justify="right" if is_number else "left", overflow="fold")
        for row in table.rows:
            shown.add_row(*map(_plain, row))
        console.print(shown)


def _plain(cell: object) -> str:
    """Escape brackets, which rich takes for markup."""
    from rich.markup import escape

    return escape(str(cell))


def show_markdown(text: str) -> None:
    """Show a page in the terminal's pager; print its source elsewhere."""
    if not is_terminal():
        print(text, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=console.color_system is not None):
        console.print(Markdown(text))
