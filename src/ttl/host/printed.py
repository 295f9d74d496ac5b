"""Texts that kernels of a run print, in the simulator's form.

DPRINT of the chip shows booleans, floats and tiles in its own way; here every value is written as
Python and the simulator write it.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from ttl.artifact import CompiledOperation
from ttl.target.data_formats import TILE_ELEMENTS, TILE_SIZE
from ttl.trace.printed import Piece, elements_of_page, elements_of_rows, format_print

from .program import ReportStruct, nodes_of

# The order of Tag in runtime/printing.cpp.
_BEGIN, _BOOL, _SIGNED, _UNSIGNED, _DOUBLE, _TEXT, _SLICE, _END = range(8)
_TILIZED = 0xFFFFFFFF  # in the place of a tile's number
_VALUES = {_BOOL: "<?", _SIGNED: "<q", _UNSIGNED: "<Q", _DOUBLE: "<d"}


def printed_lines(compiled: CompiledOperation, report: ReportStruct) -> Iterator[str]:
    """One text for each print(), with the node and the kernel in front of it."""
    nodes = nodes_of(compiled)
    started: dict[tuple[int, int], list[Piece]] = {}
    for place, piece in _pieces(compiled, report):
        pieces = started.setdefault(place, [])
        pieces.append(piece)
        if piece.format.endswith("\n"):
            yield _line(compiled, nodes, place, started.pop(place))
    for place, pieces in started.items():
        yield _line(compiled, nodes, place, pieces)


def _line(
    compiled: CompiledOperation,
    nodes: list[tuple[int, int]],
    place: tuple[int, int],
    pieces: list[Piece],
) -> str:
    node, kernel = place
    text = format_print(pieces).removesuffix("\n")
    return f"{nodes[node]} {compiled.kernels[kernel].name}: {text}"


class _Records:
    """Reads one thing after the other."""

    def __init__(self, data: bytes):
        self.data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        start, self.position = self.position, self.position + count
        return self.data[start : self.position]

    def number(self, layout: str) -> Any:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def text(self) -> str:
        return self.take(self.number("<I")).decode(errors="replace")


def _pieces(
    compiled: CompiledOperation, report: ReportStruct
) -> Iterator[tuple[tuple[int, int], Piece]]:
    records = _Records(ctypes.string_at(report.printed, report.printed_bytes))
    while records.position < len(records.data):
        assert records.number("<B") == _BEGIN
        place = records.number("<I"), records.number("<I")
        text = records.text()
        arguments = []
        while (tag := records.number("<B")) != _END:
            arguments.append(_argument(compiled, records, tag))
            if records.position >= len(records.data):  # the kernel was stopped here
                return
        yield place, Piece(text, tuple(arguments))


def _argument(compiled: CompiledOperation, records: _Records, tag: int) -> Any:
    if tag in _VALUES:
        return records.number(_VALUES[tag])
    if tag == _TEXT:
        return records.text()
    buffer = compiled.buffers[records.number("<I")]
    h0, h1, hs, w0, w1, ws = records.take(6)
    tile = records.number("<I")
    data = np.frombuffer(records.take(records.number("<I")), np.uint8)
    if tile == _TILIZED:
        elements = elements_of_page(buffer.data_format, data)
        return tuple(elements[h0 : h1 : max(hs, 1), w0 : w1 : max(ws, 1)].reshape(-1))
    start = tile * TILE_ELEMENTS + h0 * TILE_SIZE
    return tuple(elements_of_rows(buffer.data_format, data)[start + w0 : start + w1])
