"""Read IR text; errors in it are diagnostics with their place in the text."""

from __future__ import annotations

import linecache
import os
import re
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
    UnknownLoc,
)
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from ttl.diagnostics import Label, Span, UsageError, codes

from .foreign.parsing import KeepingParser
from .locations import location_of, span_of

# Comments, closed strings, quotes of unclosed strings, and integer types with more bits than MLIR
# has: xDSL computes their limits, which can take very long.
_QUOTED = re.compile(
    r'//[^\n]*|"(?:[^"\\\n\v\f]|\\.)*"|(?P<unclosed>")|(?<![\w%@#!^.$-])[su]?i(?P<bits>\d{8,})'
)
_MOST_BITS = 2**24 - 1


def parse_module(text: str, file: str, context: Context) -> ModuleOp:
    """Parse a module without verifying it; raise UsageError if the text is no IR."""
    # xDSL's parser takes time exponential in the length of an unclosed string.
    for match in _QUOTED.finditer(text):
        if match["unclosed"]:
            raise _wrong(text, file, match.start(), match.end(), "this string is not closed")
        if match["bits"] and int(match["bits"][:12]) > _MOST_BITS:
            message = f"integers have at most {_MOST_BITS} bits"
            raise _wrong(text, file, match.start(), match.end(), message)
    try:
        return _module_of(MLIRParser(context, text, file), text, file)  # it reads a word
    except ParseError as error:
        message = _UNKNOWN.sub(r"\1 is not among the operations that are read", error.msg)
        place = _source(text, error.span.start, context)
        raise _wrong(text, file, error.span.start, error.span.end, message, place) from None


def _module_of(parser: MLIRParser, text: str, file: str) -> ModuleOp:
    try:
        return parser.parse_module()
    except _OF_DEFINITIONS as error:  # xDSL does not catch these
        message = f"this cannot be read: {_last_line(error)}"
    except RecursionError:
        message = "this is nested too deeply"
    raise _wrong(text, file, parser.pos, parser.pos + 1, message)


def _last_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[-1]


def verify_module(module: ModuleOp, complaint: str) -> None:
    """Raise UsageError if the module does not verify; `complaint` precedes the reason."""
    try:
        module.verify()
    except _OF_DEFINITIONS as error:
        message = f"{complaint}: {_last_line(error)}"
        raise UsageError(codes.IR_SYNTAX.broken(message).at(None)) from None


# Errors that definitions, including upstream's, raise for unexpected operands and attributes.
_OF_DEFINITIONS = (VerifyException, ValueError, TypeError, KeyError, AttributeError, AssertionError)

# `dense<0.0>`; from MANY elements on it is not expanded.
_ONE_VALUE = re.compile(r"<\s*(?![\[\">])")
MANY = 1 << 12

_UNKNOWN = re.compile(r"Operation (\S+) is not registered")
_LOCATION = re.compile(r"\bloc\((?=[^)])(?!.*\bloc\()")

# MLIR prints locations after the module that uses them.
_LOCATION_ALIAS = re.compile(r"^(#\w+) = loc\(", re.MULTILINE)


class MLIRParser(KeepingParser):
    """Reads MLIR's locations: aliases defined later, and ranges."""

    def __init__(self, context: Context, text: str, file: str = "<unknown>"):
        super().__init__(context, text, file)
        found = _LOCATION_ALIAS.finditer(text)
        self._may_be_annotated = "sdy." in text or "mhlo." in text
        self._later = {match[1]: match.end() for match in found}

    def parse_dense_int_or_fp_elements_attr(
        self, type: Any | None
    ) -> DenseIntOrFPElementsAttr[Any]:
        """Hold one value for many elements once: `dense_values()` reads it."""
        if not _ONE_VALUE.match(self.lexer.input.content, self.pos):
            return super().parse_dense_int_or_fp_elements_attr(type)
        start, is_given = self.pos, type is not None
        with self.in_angle_brackets():
            (value,), _ = self._parse_tensor_literal()
        if type is None:
            self.parse_punctuation(":")
            type = self._parse_dense_literal_type()
        if is_given or prod(type.get_shape()) < MANY:
            self._resume_from(start)
            return super().parse_dense_int_or_fp_elements_attr(type if is_given else None)
        one = value.to_type(self, type.element_type)
        number: Any = TensorType(type.element_type, ())
        single = DenseIntOrFPElementsAttr.from_list(number, [one])
        return DenseIntOrFPElementsAttr(type, single.data)

    def parse_operation(self) -> Operation:
        start = self.pos
        op = super().parse_operation()
        if self._may_be_annotated and isinstance(op.location, UnknownLoc):
            text, file = self.lexer.input.content, self.lexer.input.name
            op.location = location_of(_place(text, file, start, start + 1))
        return op

    def _parse_alias_def(self) -> None:
        self.attribute_aliases.pop(self._current_token.text, None)  # if seen before
        super()._parse_alias_def()  # type: ignore[no-untyped-call]

    def _parse_location(self) -> LocationAttr:
        kind = self._current_token.kind
        if kind == MLIRTokenKind.HASH_IDENT:
            return self._parse_location_alias()
        if kind == MLIRTokenKind.STRING_LIT:
            return self._parse_place()
        start = self.pos
        if self.parse_optional_keyword("fused") is not None and self._parse_metadata():
            locations = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(tuple(locations), NoneAttr())  # type: ignore[arg-type]
        self._resume_from(start)
        return super()._parse_location()

    def _parse_metadata(self) -> bool:
        """Skip `<...>` of a fused location, which nothing here reads; always true."""
        if self.parse_optional_punctuation("<") is not None:
            self.parse_attribute()
            self.parse_punctuation(">")
        return True

    def _parse_location_alias(self) -> LocationAttr:
        name = self._current_token.text
        if name not in self.attribute_aliases and name in self._later:
            here = self.pos
            self.attribute_aliases[name] = UnknownLoc()  # in case it is defined by itself
            self._resume_from(self._later[name])
            self.attribute_aliases[name] = self._parse_location()
            self._resume_from(here)
        return super()._parse_location()

    def _parse_place(self) -> LocationAttr:
        """Parse `"file":1:2`, `"file":1:2 to :7`, `"file":1:2 to 3:7`, or a name."""
        start = self.pos
        file = self.parse_str_literal()
        if self.parse_optional_punctuation(":") is None:
            self._resume_from(start)
            return super()._parse_location()
        line = self.parse_integer(False, False)
        self.parse_punctuation(":")
        column = self.parse_integer(False, False)
        if self.parse_optional_keyword("to") is None:
            return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
        last = self.parse_optional_integer(False, False)
        self.parse_punctuation(":")
        end = self.parse_integer(False, False)
        # Only jax writes ranges, whose columns count from 0.
        return location_of(Span(file, line, column + 1, line if last is None else last, end + 1))


def _source(text: str, start: int, context: Context) -> Span | None:
    """Return the program's line behind a line of the text, if the text has it."""
    end = text.find("\n", start)
    found = _LOCATION.search(text, start, len(text) if end < 0 else end)
    if found is None:
        return None
    try:
        parser = MLIRParser(context, text)
        parser._resume_from(found.end())
        return span_of(parser._parse_location())
    except ParseError:
        return None


def _place(text: str, file: str, start: int, end: int) -> Span:
    if not os.path.exists(file):  # messages still show the line
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    return Span(file, line, column, line, column + max(1, end - start))


def _wrong(
    text: str, file: str, start: int, end: int, message: str, source: Span | None = None
) -> UsageError:
    span = _place(text, file, start, end)
    broken = codes.IR_SYNTAX.broken(message)
    if source is not None:
        broken = broken.with_labels(Label(source, "it was made from this"))
    return UsageError(broken.at(span))
