"""Finds the text of functions typed at a prompt, which linecache does not give for their file.

Before 3.13, Python keeps no text but readline remembers the lines: a typed function gets its own
file name, under which linecache has its text, as in 3.13. Since 3.14, Python keeps the text by
function instead of by file.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType

PROMPTS = ("<stdin>", "<console>")
MOST_LINES = 2000  # of the history, which includes earlier sessions


def name_typed(function: FunctionType, is_text_of: Callable[[str, CodeType], bool]) -> None:
    """Give a typed function its own file name, if readline has lines that compile to it."""
    code = function.__code__
    _name_kept_text(code)
    if code.co_filename not in PROMPTS:
        return
    word = "lambda" if code.co_name == "<lambda>" else f"def {code.co_name}"
    for number, text in _texts(_last_line(code)):
        if word in text and is_text_of(text, code):
            file = f"<typed-{number}>"
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
            function.__code__ = _rename_file(code, file)
            return


def _name_kept_text(code: CodeType) -> None:
    file = code.co_filename
    kept = getattr(linecache, "_getlines_from_code", None)  # since 3.14
    if kept is None or not file.startswith("<") or linecache.getlines(file):
        return
    if lines := kept(code):
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)


def _texts(line_count: int) -> Iterator[tuple[int, str]]:
    """Yield candidate statements with their place in the history, newest first."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    newest = readline.get_current_history_length()
    oldest = max(1, newest - MOST_LINES)
    lines = [readline.get_history_item(each) or "" for each in range(oldest, newest + 1)]
    for start in range(len(lines) - line_count, -1, -1):
        if lines[start][:1].strip():
            yield oldest + start, "\n".join(lines[start : start + line_count]) + "\n"


def _last_line(code: CodeType) -> int:
    own = (end or 0 for _, end, _, _ in code.co_positions())
    return max([*own, *(_last_line(each) for each in code.co_consts if isinstance(each, CodeType))])


def _rename_file(code: CodeType, file: str) -> CodeType:
    inside = (_rename_file(x, file) if isinstance(x, CodeType) else x for x in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inside))
