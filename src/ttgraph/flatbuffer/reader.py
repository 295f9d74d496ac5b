"""Reads the bytes of a flatbuffer as values of the schema. Trusts no byte.

Checks every access against the length of the file. Reads a table that several others refer to
once, and all vectors and strings together are not longer than the file. Users of the values see a
shared table repeatedly: that is bounded, too, so work and memory depend on the length of the file,
not on the numbers in it. The schema has no cycles, so nesting is finite.
"""

from __future__ import annotations

import struct
from typing import Any

from .schema import (
    ENUMS,
    IDENTIFIER,
    SCALARS,
    STRUCTS,
    UNIONS,
    Table,
    is_inline,
    slots,
    struct_layout,
)


class Malformed(ValueError):
    """The bytes are invalid; the text reports what is wrong."""


def read_binary(data: bytes, root: str = "TTNNBinary", identifier: bytes = IDENTIFIER) -> Table:
    """Read the TTNNBinary in a file; raise Malformed if there is none."""
    if len(data) < 8:
        raise Malformed(f"the file has only {len(data)} bytes")
    if data[4:8] != identifier:
        raise Malformed(f"the file does not have the identifier {identifier.decode()}")
    reader = _Reader(data)
    return reader.table(root, reader.follow(0))


# How much larger than its bytes a file may be when each use of a shared table counts; real files
# share tensors, and are about ten times as large.
MOST_SHARED = 256


class _Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.left = len(data)  # bytes that vectors and strings may still hold
        self.size = 0  # of everything read; shared tables count each time
        self.tables: dict[tuple[str, int], tuple[dict[str, object], int]] = {}  # and their sizes

    def number(self, type: str, position: int) -> Any:
        form, size = SCALARS[type]
        if not 0 <= position <= len(self.data) - size:
            raise Malformed(f"byte {position} is outside of the {len(self.data)} bytes of the file")
        return struct.unpack_from(f"<{form}", self.data, position)[0]

    def follow(self, position: int) -> int:
        """Return the position that the offset at `position` points to."""
        return position + int(self.number("uint", position))

    def table(self, name: str, position: int) -> Table:
        if (name, position) in self.tables:
            found, size = self.tables[name, position]
            self.size += size
        else:
            before = self.size
            found = self._table(name, position)
            self.size += 4 * len(found) + 4
            self.tables[name, position] = found, self.size - before
        if self.size > MOST_SHARED * len(self.data):
            raise Malformed("its tables refer to each other too often")
        return found

    def _table(self, name: str, position: int) -> Table:
        vtable = position - int(self.number("int", position))
        length = int(self.number("ushort", vtable))
        if length < 4 or length % 2:
            raise Malformed(f"the table at byte {position} has no vtable")

        def place(slot: int) -> int | None:
            if 4 + 2 * slot + 2 > length:
                return None
            offset = int(self.number("ushort", vtable + 4 + 2 * slot))
            return position + offset if offset else None

        return {
            field: self._field(type, place(slot), place(slot + 1), default)
            for field, type, default, slot in slots(name)
        }

    def _field(
        self, type: str, place: int | None, next_place: int | None, default: str | int
    ) -> Any:
        """Read a field; a missing one gives its default, None, "" or an empty list."""
        if type in UNIONS:
            return self._union(type, place, next_place)
        if type.startswith("[") and type[1:-1] in UNIONS:
            return self._unions(type[1:-1], place, next_place)
        if place is None:
            return _missing(type, default)
        if is_inline(type):
            return self._inline(type, place)
        if type == "string":
            return self._string(self.follow(place))
        if type.startswith("["):
            return self._vector(type[1:-1], self.follow(place))
        return self.table(type, self.follow(place))

    def _inline(self, type: str, position: int) -> Any:
        if type in STRUCTS:
            fields, _, _ = struct_layout(type)
            return {name: self._inline(kind, position + at) for name, kind, at in fields}
        if type in ENUMS:
            return _name(type, self.number(ENUMS[type][0], position))
        return self.number(type, position)

    def _take(self, position: int, size: int) -> tuple[int, int]:
        """Return the number of elements of a vector and their start."""
        count = int(self.number("uint", position))
        self.left -= count * size
        self.size += count * size
        if count * size > len(self.data) - position - 4 or self.left < 0:
            raise Malformed(f"{count} elements at byte {position} are more than the file has")
        return count, position + 4

    def _string(self, position: int) -> str:
        count, start = self._take(position, 1)
        try:
            return self.data[start : start + count].decode()
        except UnicodeDecodeError as error:
            raise Malformed(f"the text at byte {position} is not UTF-8: {error.reason}") from None

    def _vector(self, element: str, position: int) -> Any:
        size = struct_layout(element)[1] if is_inline(element) else 4
        count, start = self._take(position, size)
        if element == "ubyte":
            return self.data[start : start + count]
        places = range(start, start + count * size, size)
        if is_inline(element):
            return [self._inline(element, place) for place in places]
        return [self.table(element, self.follow(place)) for place in places]

    def _union(self, type: str, tag: int | None, value: int | None) -> Table | None:
        number = 0 if tag is None else int(self.number("ubyte", tag))
        if number == 0 or value is None:
            return None
        member = _name(type, number)
        return {member: self.table(member, self.follow(value))}

    def _unions(self, type: str, tags: int | None, values: int | None) -> list[Table]:
        if tags is None or values is None:
            return []
        numbers = self._vector("ubyte", self.follow(tags))
        count, start = self._take(self.follow(values), 4)
        if count != len(numbers):
            raise Malformed(f"{len(numbers)} tags of {type} for {count} values")
        members = [_name(type, number) for number in numbers]
        return [
            {member: self.table(member, self.follow(start + 4 * position))}
            for position, member in enumerate(members)
        ]


def _missing(type: str, default: str | int) -> object:
    if type in ENUMS:
        return default if isinstance(default, str) else _name(type, default)
    if type in SCALARS:
        return False if type == "bool" else default
    if type == "string":
        return ""
    return [] if type.startswith("[") else None


def _name(kind: str, number: int) -> str:
    """Name a value of an enum or a member of a union."""
    known = UNIONS[kind] if kind in UNIONS else ENUMS[kind][1]
    for name, value in known.items():
        if value == number:
            return name
    raise Malformed(f"{number} is no {kind} that is known here")
