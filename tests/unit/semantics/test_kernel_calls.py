"""What the native module looks up for calls of kernels is what Python finds."""

from __future__ import annotations

import inspect
import sys
from contextvars import ContextVar, copy_context
from types import CodeType
from typing import Any

import pytest

from native_modules import built
from ttl.semantics import kernel_calls
from ttl.semantics.kernel_calls import _place_at, _references, _tile_bounds

ROWS, COLUMNS = 4, 6


class Int(int):
    """Not a plain one: what its methods do is not known."""


# Of each of two dimensions; those in front lie inside.
ITEMS = (
    slice(0, 1), slice(1, 4), 0, 3, slice(0, 6), slice(2, 2), slice(3, 1), slice(-1, 2),
    slice(0, 7), slice(0, 2, 1), slice(None, 2), slice(1, None), slice(0, 2**70),
    slice(-(2**70), 1), slice(0, True), slice(Int(0), 1), -1, 4, 6, 2**63 - 1, 2**70, True, Int(1),
    1.0, None, "1",
)  # fmt: skip
OTHER_ITEMS = (slice(0, 1), 0, (), (slice(0, 1),), (0, 0, 0), [slice(0, 1), slice(0, 1)], None)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return built("ttl/semantics/kernel_calls.c", tmp_path_factory.mktemp("native"))


@pytest.mark.parametrize("row", ITEMS, ids=repr)
def test_bounds_of_tiles(native: Any, row: Any) -> None:
    for column in ITEMS:
        items = (row, column)
        expected = _tile_bounds(items, ROWS, COLUMNS)
        assert native.tile_bounds(items, ROWS, COLUMNS) == expected


def test_two_plain_slices_or_indices_inside() -> None:
    assert _tile_bounds((slice(1, 4), slice(2, 6)), ROWS, COLUMNS) == ((1, 2), (3, 4))
    assert _tile_bounds((3, 5), ROWS, COLUMNS) == ((3, 5), (1, 1))
    assert _tile_bounds((4, 5), ROWS, COLUMNS) is None
    assert _tile_bounds((slice(0, 1), slice(0, 1)), 0, 0) is None  # not a matrix


@pytest.mark.parametrize("items", OTHER_ITEMS, ids=repr)
def test_other_items_are_left_to_others(native: Any, items: Any) -> None:
    assert _tile_bounds(items, ROWS, COLUMNS) is None
    assert native.tile_bounds(items, ROWS, COLUMNS) is None


def places(place_at: Any) -> list[tuple[CodeType, int]]:
    def inner() -> list[tuple[CodeType, int]]:
        return [place_at(0), place_at(1)]

    return inner()


def test_places(native: Any) -> None:
    own, outer = places(native.place_at)
    assert own[0].co_name == "inner"
    assert outer == (places.__code__, outer[1])
    # The offset of the innermost is another one while it calls a function of Python.
    own_in_python, outer_in_python = places(_place_at)
    assert (own_in_python[0], outer_in_python) == (own[0], outer)


def test_no_frame_so_far_away(native: Any) -> None:
    for place_at in (native.place_at, _place_at):
        with pytest.raises(ValueError, match="deep"):
            place_at(sys.getrecursionlimit())


class Engine:
    def acquire(self, buffer: Any) -> Any:
        return self, buffer

    def copy(self, source: Any, destination: Any) -> Any:
        return source, destination


ENGINE: ContextVar[Any] = ContextVar("engine")


def acquire(buffer: Any, name: str | None = None) -> Any:
    """A function of the language."""
    return "in Python", buffer, name


def copy(source: Any, destination: Any) -> Any:
    return "in Python", source, destination


def test_shortened_functions(native: Any) -> None:
    native.shorten(acquire, ENGINE, "acquire")
    native.shorten(copy, ENGINE, "copy")
    assert acquire(1) == ("in Python", 1, None)  # nothing is running
    engine = Engine()

    def calls() -> None:
        ENGINE.set(engine)
        is_short = sys.version_info >= (3, 12)
        assert acquire(1) == ((engine, 1) if is_short else ("in Python", 1, None))
        assert copy(1, 2) == ((1, 2) if is_short else ("in Python", 1, 2))
        assert acquire(1, "name") == ("in Python", 1, "name")
        assert acquire(buffer=1) == acquire(1, None) == ("in Python", 1, None)
        assert copy(1, destination=2) == ("in Python", 1, 2)
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            copy(1)  # type: ignore[call-arg]

    copy_context().run(calls)
    assert inspect.signature(acquire).parameters.keys() == {"buffer", "name"}
    assert acquire.__doc__ == "A function of the language."


def test_methods_of_two_kinds_of_engines(native: Any) -> None:
    """Those of the last one are kept, compiled or not."""

    def append(items: Any, item: Any) -> Any:
        return "in Python"

    native.shorten(append, ENGINE, "count")

    def calls() -> None:
        for engine in ([1, 1, 2], (1, 1), [1], "11"):
            ENGINE.set(engine)
            with pytest.raises(TypeError):
                append(1, 2)

    if sys.version_info >= (3, 12):
        copy_context().run(calls)


def test_place_of_a_call(native: Any) -> None:
    """In a compiled method: that of the innermost frame, but for a function of the language."""

    def place() -> Any:
        return native.place_of_call(1)

    def function_of_language() -> Any:
        return native.place_of_call(1)

    def program() -> Any:
        return function_of_language(), native.place_at(0)

    if sys.version_info >= (3, 12):
        assert place()[0] is place.__code__
        assert place() is place()  # kept
    native.calls_engine(function_of_language)

    found, here = program()
    assert found[0] is program.__code__ is here[0]
    assert found[1] < here[1]


def test_a_module_that_is_loaded_again(native: Any) -> None:
    """The functions of the one before are run; there is room for any number of reloads."""
    text = "def again(buffer):\n    return 'in Python', buffer\n"
    engine = Engine()

    def calls() -> None:
        ENGINE.set(engine)
        functions = []
        for _ in range(100):
            names: dict[str, Any] = {}
            exec(compile(text, "again.py", "exec"), names)
            functions.append(names["again"])
            native.shorten(functions[-1], ENGINE, "acquire")
        is_short = sys.version_info >= (3, 12)
        assert functions[0](1) == ("in Python", 1)
        assert functions[-1](1) == ((engine, 1) if is_short else ("in Python", 1))

    copy_context().run(calls)


def test_no_engine_is_none(native: Any) -> None:
    def take(buffer: Any) -> Any:
        return "in Python"

    native.shorten(take, ENGINE, "acquire")

    def calls() -> None:
        ENGINE.set(None)  # as after the end of a kernel
        assert take(1) == "in Python"

    copy_context().run(calls)


def test_without_room_functions_stay_as_they_are(native: Any) -> None:
    for number in range(40):
        names: dict[str, Any] = {}
        exec(f"def f{number}(buffer): return {number}", names)
        native.shorten(names[f"f{number}"], ENGINE, "acquire")

    def calls() -> None:
        ENGINE.set(Engine())
        assert names["f39"](1) == 39

    copy_context().run(calls)
    with pytest.raises(TypeError):
        native.calls_engine(1)
    with pytest.raises(TypeError):
        native.shorten(acquire, ENGINE)


def test_references(native: Any) -> None:
    for references in (native.references, _references):
        items = [object(), None]
        alone = references(items, 0)
        kept = items[0]
        assert references(items, 0) == alone + 1
        assert references(items, 1) > alone + 1
        del kept
        assert references(items, 0) == alone
        with pytest.raises(IndexError):
            references(items, 2)


def test_one_of_both_is_used() -> None:
    assert kernel_calls.tile_bounds((0, 0), 1, 1) == ((0, 0), (1, 1))
