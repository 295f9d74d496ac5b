"""Places in the user's code, cheap to remember; they become spans only for an error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Final

from ttl.diagnostics import Label, Span
from ttl.diagnostics.buffer_ends import CALLS
from ttl.diagnostics.frames import is_user_file, user_frame
from ttl.semantics.current_engine import IS_COMPILED as IS_COMPILED
from ttl.source import tree
from ttl.source.functions import REPLACED
from ttl.source.trees import tree_of_code
from ttl.source.walking import AnyNode, walk
from ttl.trace import Recorder
from ttl.trace.events import NO_CODE

Place = tuple[CodeType, int]  # a code object and the offset of an instruction in it


# Python finds a module's own constant faster than another module's name.
getframe: Final = sys._getframe
# The depth of the user's frame, for getframe() and place_at(): in a function that a method has
# called; in a method that a function of ttl.language, which is not compiled, has called; in a
# function called by that.
CALLER: Final = 0 if IS_COMPILED else 2
DIRECT_CALLER: Final = 0 if IS_COMPILED else 1  # of a method
BEHIND_LANGUAGE: Final = 1 if IS_COMPILED else 2
FURTHER_BEHIND: Final = 1 if IS_COMPILED else 3
BEHIND_RECORDER: Final = 0 if IS_COMPILED else 2
_OWN_FRAME: Final = 0 if IS_COMPILED else 1


def place_at(depth: int) -> Place:
    """Return the code and instruction offset of the caller's getframe(depth)."""
    frame: FrameType = getframe(depth + _OWN_FRAME)
    return frame.f_code, frame.f_lasti


def span_of(place: Place) -> Span | None:
    """Return the span; None for a call from pyttlang itself: a wrong line is worse than no line."""
    code, offset = place
    return Span.of_instruction(code, offset) if is_user_file(code.co_filename) else None


def calling_place(recorder: Recorder, place: Place | None) -> tuple[int, int]:
    """Find where the program called; our own functions, at least two, come before it."""
    if place is not None and recorder.is_programs(place[0]):
        return id(place[0]), place[1]
    passed, codes = recorder.passed, recorder.codes
    frame: FrameType | None = getframe(BEHIND_RECORDER)
    while frame is not None:
        code = id(frame.f_code)
        if code not in passed and (code in codes or recorder.is_programs(frame.f_code)):
            return code, frame.f_lasti
        frame = frame.f_back
    return NO_CODE, 0


def labels(places: Iterable[tuple[Place, str]]) -> tuple[Label, ...]:
    spans = ((span_of(place), text) for place, text in places)
    return tuple(Label(span, text) for span, text in spans if span is not None)


def user_place() -> Place | None:
    """Return the place of the program's innermost frame."""
    frame = user_frame(getframe())
    return None if frame is None else (frame.f_code, frame.f_lasti)


Extent = tuple[int | None, int | None, int | None, int | None]  # lines, then columns in bytes


@lru_cache(maxsize=1024)
def with_statement(code: CodeType, instruction: int) -> Extent:
    """Return the extent of the `with` whose end calls __exit__ at this instruction.

    Python 3.13 places the call at the item it ends, earlier versions at the statement.
    """
    node = _with_node(code, instruction)
    return _extent(node) if node is not None else _position(code, instruction)


def _position(code: CodeType, instruction: int) -> Extent:
    position: Extent = list(code.co_positions())[instruction // 2]
    return position


@lru_cache(maxsize=1024)
def _with_node(code: CodeType, instruction: int) -> tree.With | None:
    position = _position(code, instruction)
    for node in _nodes(code, tree.With):
        places = [_extent(node), *(_extent(item.value) for item in node.items)]
        if position in places:
            return node
    return None


def is_raise(place: Place) -> bool:
    """Is it an instruction of a `raise` itself, not of the expression it raises?"""
    position = _position(*place)
    return any(_extent(node) == position for node in _nodes(place[0], tree.Raise))


def _nodes(code: CodeType, kind: type[AnyNode]) -> list[AnyNode]:
    original = REPLACED.original(code)
    function = tree_of_code(original, original.co_filename)
    nodes = () if function is None else walk(function)
    return [node for node in nodes if isinstance(node, kind)]


def is_of_other_with(end: Place, acquire: Place) -> bool:
    """Did a `with` other than the one whose end calls __exit__ certainly acquire the block?"""
    node = _with_node(*end)
    if node is None or (acquire[0] is end[0] and _is_in_header(node, _position(*acquire))):
        return False
    calls = [item.value for item in node.items]
    return all(isinstance(call, tree.Call) and call.method in CALLS.values() for call in calls)


def _is_in_header(node: tree.With, position: Extent) -> bool:
    return position in [_extent(item.value) for item in node.items]


def _extent(node: tree.Node) -> Extent:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
