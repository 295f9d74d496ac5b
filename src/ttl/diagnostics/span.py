"""A place in the user's source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple


class Expansion(NamedTuple):
    """A call of an operation in another's body, which the callee's body replaces."""

    operation: str
    file: str
    line: int


class Expansions(tuple[Expansion, ...]):
    """The calls that lead to the body of an expanded operation, innermost first.

    They are constants of the body's code, so that the same lines become different code at each
    call.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of characters in a file: lines and columns count from 1, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    expanded: tuple[Expansion, ...] = ()  # the calls that expand the operation around it

    def within(self, expanded: tuple[Expansion, ...]) -> Span:
        return replace(self, expanded=expanded) if expanded else self

    @classmethod
    def of_instruction(cls, code: CodeType, instruction_offset: int) -> Span:
        """Return the source of a frame's current instruction (`frame.f_lasti`)."""
        return _span_of(code, code.co_filename, code.co_linetable, instruction_offset)

    @classmethod
    def of_node(cls, file: str, node: Any) -> Span:
        """Return the source of a node of the syntax tree."""
        return cls(
            file=file,
            line=node.lineno,
            column=character_column(file, node.lineno, node.col_offset),
            end_line=node.end_lineno,
            end_column=character_column(file, node.end_lineno, node.end_col_offset),
        )


@lru_cache(maxsize=1024)
def _span_of(code: CodeType, file: str, lines: bytes, instruction_offset: int) -> Span:
    """Return the span; `file` and `lines` are keys because codes that differ in them are equal."""
    positions = list(code.co_positions())[instruction_offset // 2]
    line, end_line, byte_column, byte_end_column = positions
    line = line or code.co_firstlineno
    end_line = end_line or line
    return Span(
        file=file,
        line=line,
        column=character_column(file, line, byte_column),
        end_line=end_line,
        end_column=character_column(file, end_line, byte_end_column),
        expanded=expansions_of(code),
    )


def expansions_of(code: CodeType) -> tuple[Expansion, ...]:
    return next((each for each in code.co_consts if isinstance(each, Expansions)), ())


def with_expansions(code: CodeType, expansions: tuple[Expansion, ...]) -> CodeType:
    """Add expansions to a code and the functions in it."""
    if not expansions:
        return code
    constants = [
        with_expansions(each, expansions) if isinstance(each, CodeType) else each
        for each in code.co_consts
    ]
    return code.replace(co_consts=(*constants, Expansions(expansions)))


def character_column(file: str, line: int, byte_column: int | None) -> int:
    """Convert a column from UTF-8 bytes counted from 0 to characters counted from 1."""
    from linecache import getline

    if byte_column is None:
        return 1
    prefix = getline(file, line).encode()[:byte_column]
    return len(prefix.decode(errors="ignore")) + 1
