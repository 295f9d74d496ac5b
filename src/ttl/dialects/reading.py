"""IR text to IR; what is wrong with it is a diagnostic with its place in the text."""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from ttl.diagnostics import RuleBroken, Span, UsageError, codes

# Comments, strings that end, and quotes that begin one that does not.
_QUOTED = re.compile(r'//[^\n]*|"(?:[^"\\\n\v\f]|\\.)*"|(?P<unclosed>")')


def parse_module(text: str, file: str, context: Context) -> ModuleOp:
    """The module of a text, not verified; UsageError where it is no IR."""
    # The parser of xDSL takes time exponential in the length of a string that is not closed.
    for match in _QUOTED.finditer(text):
        if match["unclosed"]:
            raise _wrong(text, file, match.start(), match.end(), "this string is not closed")
    try:
        return Parser(context, text, file).parse_module()
    except ParseError as error:
        message = error.args[-1]
        raise _wrong(text, file, error.span.start, error.span.end, message) from None


def _wrong(text: str, file: str, start: int, end: int, message: str) -> UsageError:
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    span = Span(file, line, column, line, column + max(1, end - start))
    return UsageError(RuleBroken(codes.IR_SYNTAX, message).at(span))
