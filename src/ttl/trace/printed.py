"""Assembles printed lines from the executor's pieces: text with numbers and parts of tiles.

A line of print() is one piece or more; the last one ends with a newline. The numbers of an array
have equal widths, so a text needs all its pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from ttl.semantics.dtypes import BY_DATA_FORMAT
from ttl.semantics.printing import number_texts
from ttl.semantics.types import TILE_SIZE

_FIELD = re.compile(r"\{\{|\}\}|\{(?::([^{}]*))?\}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A format of std::format and its arguments: scalars, or rows of elements."""

    format: str
    arguments: tuple[object, ...]

    @property
    def has_rows(self) -> bool:
        return any(_is_row(given) for given in self.arguments)


def format_print(pieces: Iterable[Piece]) -> str:
    """Return the text of one print(), equal to the simulator's."""
    return "".join(
        "".join(_with_rows(list(run))) for _, run in groupby(pieces, lambda piece: piece.has_rows)
    )


def _with_rows(pieces: list[Piece]) -> Iterator[str]:
    """Fill consecutive pieces with parts of tiles, which show one array."""
    rows = [given for piece in pieces for given in piece.arguments if _is_row(given)]
    texts = iter(number_texts([element for row in rows for element in row]))
    shown = iter([" ".join(next(texts) for _ in row) for row in rows])
    for piece in pieces:
        yield _fill_piece(piece, shown)


def _fill_piece(piece: Piece, rows: Iterator[str]) -> str:
    arguments = iter(piece.arguments)

    def field(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        value = next(arguments)
        return next(rows) if _is_row(value) else format(value, found[1] or "")

    return _FIELD.sub(field, piece.format)


def elements_of_page(data_format: str, page: NDArray[np.uint8]) -> NDArray[np.generic]:
    """Return the 32x32 elements of a tile that the chip holds as four faces."""
    faces = elements_of_rows(data_format, page).reshape(2, 2, 16, 16)
    return faces.transpose(0, 2, 1, 3).reshape(TILE_SIZE, TILE_SIZE)


def elements_of_rows(data_format: str, data: NDArray[np.uint8]) -> NDArray[np.generic]:
    """Return the elements in memory order."""
    dtype = BY_DATA_FORMAT[data_format]
    return dtype.from_bytes(data.reshape(1, -1)).astype(dtype.carrier).reshape(-1)


def _is_row(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)
