"""Writes values of the schema as the bytes of a flatbuffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign
from typing import Any

import flatbuffers

from .schema import ENUMS, IDENTIFIER, STRUCTS, UNIONS, Table, is_inline, slots, struct_layout


class Unwritable(ValueError):
    """A value does not fit the schema; the text reports which."""


def write_binary(value: Table, root: str = "TTNNBinary", identifier: bytes = IDENTIFIER) -> bytes:
    """Return the bytes of a TTNNBinary. Equal values give equal bytes. Raises Unwritable."""
    writer = _Writer()
    place = writer.table(root, value)
    writer.builder.Finish(place, file_identifier=identifier)
    return bytes(writer.builder.Output())


class _Writer:
    """Writes children before the table that refers to them, as flatbuffers require."""

    def __init__(self) -> None:
        self.builder = flatbuffers.Builder(4096)
        self.references: dict[int, int] = {}  # the offset of each tensor's reference, by id
        # Offsets of descriptions that several tensors share as one object.
        self.descriptions: dict[int, int] = {}
        self.prepends: dict[str, Callable[[object], None]] = {
            "bool": self.builder.PrependBool,
            "ubyte": self.builder.PrependUint8,
            "ushort": self.builder.PrependUint16,
            "uint": self.builder.PrependUint32,
            "ulong": self.builder.PrependUint64,
            "int": self.builder.PrependInt32,
            "long": self.builder.PrependInt64,
            "double": self.builder.PrependFloat64,
        }

    def table(self, name: str, value: object) -> int:
        if not isinstance(value, dict):
            raise Unwritable(f"{value!r} is no {name}")
        if name == "TensorRef" and value["global_id"] in self.references:
            return self.references[value["global_id"]]
        if name == "TensorDesc" and id(value) in self.descriptions:
            return self.descriptions[id(value)]
        fields = slots(name)
        if unknown := value.keys() - {field[0] for field in fields}:
            raise Unwritable(f"a {name} has no `{min(unknown)}`")
        given = [field for field in fields if value.get(field[0]) is not None]
        elsewhere = {
            field: self._elsewhere(type, value[field])
            for field, type, _, _ in given
            if not is_inline(type)
        }
        self.builder.StartObject(sum(2 if f[1].strip("[]") in UNIONS else 1 for f in fields))
        for field, type, default, slot in given:
            self._slot(type, slot, value[field], default, elsewhere.get(field, ()))
        offset: int = self.builder.EndObject()
        if name == "TensorRef":
            self.references[value["global_id"]] = offset
        elif name == "TensorDesc":
            self.descriptions[id(value)] = offset
        return offset

    def _slot(
        self, type: str, slot: int, value: Any, default: str | int, offsets: tuple[int, ...]
    ) -> None:
        builder = self.builder
        if type in UNIONS:
            (member,) = value
            builder.PrependUint8Slot(slot, UNIONS[type][member], 0)
            builder.PrependUOffsetTRelativeSlot(slot + 1, offsets[0], 0)
        elif offsets:
            for position, offset in enumerate(offsets):
                builder.PrependUOffsetTRelativeSlot(slot + position, offset, 0)
        elif type in STRUCTS:
            self._struct(type, value)
            builder.PrependStructSlot(slot, builder.Offset(), 0)
        else:
            number = self._number(type, value)
            is_minus_zero = number == 0 and isinstance(number, float) and copysign(1, number) < 0
            if number != self._number(type, default) or is_minus_zero:
                self._prepend(type, number)
                builder.Slot(slot)

    def _elsewhere(self, type: str, value: object) -> tuple[int, ...]:
        """Write a value that is not inline and return its offsets: two for a vector of unions."""
        if type == "string":
            if not isinstance(value, str):
                raise Unwritable(f"{value!r} is no text")
            return (self.builder.CreateString(value),)
        if type in UNIONS:
            return (self.table(*_member(type, value)),)
        if not type.startswith("["):
            return (self.table(type, value),)
        element = type[1:-1]
        if not isinstance(value, (list, tuple, bytes)):
            raise Unwritable(f"{value!r} is no list")
        if element in UNIONS:
            tags = [UNIONS[element][_member(element, item)[0]] for item in value]
            members = [self._elsewhere(element, item)[0] for item in value]
            return self._vector("ubyte", tags), self._offsets(members)
        if element == "ubyte":
            return (self.builder.CreateByteVector(bytes(value)),)
        if is_inline(element):
            return (self._vector(element, value),)
        return (self._offsets([self._elsewhere(element, item)[0] for item in value]),)

    def _vector(self, element: str, values: Sequence[Any]) -> int:
        _, size, alignment = struct_layout(element)
        self.builder.StartVector(size, len(values), alignment)
        for value in reversed(values):
            if element in STRUCTS:
                self._struct(element, value)
            else:
                self._prepend(element, self._number(element, value))
        offset: int = self.builder.EndVector()
        return offset

    def _offsets(self, offsets: list[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        vector: int = self.builder.EndVector()
        return vector

    def _struct(self, name: str, value: Table) -> None:
        """Write a struct's fields, last first, with the padding between them."""
        fields, size, alignment = struct_layout(name)
        if not isinstance(value, dict) or value.keys() != {field for field, _, _ in fields}:
            raise Unwritable(f"{value!r} is no {name}")
        self.builder.Prep(alignment, size)
        end = size
        for field, type, position in reversed(fields):
            width = struct_layout(type)[1]
            self.builder.Pad(end - position - width)
            if type in STRUCTS:
                self._struct(type, value[field])
            else:
                self._prepend(type, value[field])
            end = position

    def _number(self, type: str, value: object) -> object:
        if type not in ENUMS or not isinstance(value, str):
            return value
        if value not in ENUMS[type][1]:
            raise Unwritable(f"there is no {type} `{value}`")
        return ENUMS[type][1][value]

    def _prepend(self, type: str, number: object) -> None:
        base = ENUMS[type][0] if type in ENUMS else type
        try:
            self.prepends[base](number)
        except (TypeError, ValueError, OverflowError) as error:
            raise Unwritable(f"{number!r} is no {base}: {error}") from None


def _member(union: str, value: object) -> tuple[str, Table]:
    """Return the only key of the value, and the value under it."""
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in UNIONS[union]:
        raise Unwritable(f"{value!r} is no member of {union}")
    return next(iter(value.items()))
