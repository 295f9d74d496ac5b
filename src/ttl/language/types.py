"""The names that annotations in programs use."""

from __future__ import annotations

from typing import Annotated, TypeVar

PositiveInt = Annotated[int, "greater than 0"]
NaturalInt = Annotated[int, "0 or greater"]
Size = PositiveInt
Index = NaturalInt
Count = NaturalInt
Shape = Size | tuple[Size, ...]
NodeCoord = Index | tuple[Index, ...]
NodeRange = tuple[Index | slice, ...]
DstT = TypeVar("DstT", NodeCoord, NodeRange)  # destinations of a pipe
