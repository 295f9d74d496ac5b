"""Keys of values: equal where a kernel cannot tell the values apart, and nowhere else."""

from __future__ import annotations

import math
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, IntEnum, IntFlag
from functools import lru_cache, partial, wraps
from itertools import combinations
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.source.frozen import Key, NoKey, freeze_all

Pair = namedtuple("Pair", "first second")
Other = namedtuple("Other", "first second")


def freeze(value: object, tensors: Iterable[Any] = ()) -> Key:
    return freeze_all([value], tensors)


class Typed(NamedTuple):
    first: int
    second: int = 2


class Name(str):
    pass


class Number(int):
    pass


class Words(list):
    pass


class Color(Enum):
    RED = 1
    GREEN = 2.0


class Level(IntEnum):
    LOW = 1


class Access(IntFlag):
    READ = 1


@dataclass
class Settings:
    scale: float = 1.0
    names: list[str] = field(default_factory=list)

    def scaled(self) -> float:
        return self.scale


@dataclass(frozen=True, slots=True)
class Fixed:
    scale: float = 1.0


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


class Base:
    shared = 1

    @property
    def twice(self) -> int:
        return 2 * self.shared


def capturing(value: Any) -> Callable[[], Any]:
    return lambda: value


def default(value: Any) -> Callable[..., Any]:
    def function(x: Any = value) -> Any:
        return x

    return function


def keyword(value: Any) -> Callable[..., Any]:
    def function(*, x: Any = value) -> Any:
        return x

    return function


def attribute(value: Any) -> Callable[..., Any]:
    def function() -> None: ...

    function.x = value  # type: ignore[attr-defined]
    return function


def wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapped(*args: Any) -> Any:
        return function(*args)

    return wrapped


FAMILIES: dict[str, list[Callable[[], Any]]] = {
    "numbers": [
        lambda: 1,
        lambda: 1.0,
        lambda: True,
        lambda: 1 + 0j,
        lambda: np.float32(1),
        lambda: np.int64(1),
        lambda: Number(1),
        lambda: Number(2),
        lambda: Level.LOW,
        lambda: "1",
        lambda: b"1",
        lambda: None,
    ],
    "zeros": [lambda: 0.0, lambda: -0.0, lambda: 0, lambda: False, lambda: complex(0.0, -0.0)],
    "zeros in tuples": [lambda: (0.0,), lambda: (-0.0,), lambda: (0,), lambda: (False,)],
    "nan": [lambda: float("nan"), lambda: -float("nan")],
    "texts": [lambda: "a", lambda: Name("a"), lambda: Name("b"), lambda: b"a", lambda: ["a"]],
    "containers": [
        lambda: (1, 2),
        lambda: [1, 2],
        lambda: {1, 2},
        lambda: frozenset({1, 2}),
        lambda: deque([1, 2]),
        lambda: deque([1, 2], maxlen=2),
        lambda: range(1, 3),
        lambda: slice(1, 2),
        lambda: bytearray(b"12"),
        lambda: Pair(1, 2),
        lambda: Other(1, 2),
        lambda: Typed(1),
        lambda: Words([1, 2]),
        lambda: np.array([1, 2]),
        lambda: np.array([1.0, 2.0]),
        lambda: np.array([[1, 2]]),
        lambda: (1, (2,)),
        lambda: ((1,), 2),
    ],
    "dicts": [
        lambda: {},
        lambda: {1: 2},
        lambda: {1: 2.0},
        lambda: {1.0: 2},
        lambda: {1: 2, 3: 4},
        lambda: {3: 4, 1: 2},  # loops over them differ
        lambda: {1: [2]},
        lambda: {1: (2,)},
        lambda: {1: {2: 3}},
        lambda: OrderedDict({1: 2}),
        lambda: defaultdict(int, {1: 2}),
        lambda: defaultdict(list, {1: 2}),
        lambda: MappingProxyType({1: 2}),
        lambda: SimpleNamespace(a=1),
        lambda: SimpleNamespace(a=1.0),
    ],
    "functions in tuples": [
        lambda: (capturing(1),),
        lambda: (capturing(2),),
        lambda: (capturing(1.0),),
        lambda: (default(1),),
        lambda: (default(2),),
        lambda: (keyword(1),),
        lambda: (keyword(2),),
        lambda: (attribute(1),),
        lambda: (attribute(2),),
        lambda: (wrapper(default(1)),),
        lambda: (wrapper(default(2)),),
        lambda: (lru_cache(capturing(1)),),
        lambda: (lru_cache(capturing(2)),),
        lambda: (capturing(capturing(1)),),
        lambda: (capturing(capturing(2)),),
        lambda: (len,),
        lambda: (math.sqrt,),
        lambda: (np.exp,),
        lambda: (ttl.math.exp,),
        lambda: (ttl.math.log,),
        lambda: (ttl.node,),
    ],
    "calls to come": [
        lambda: partial(len, 1),
        lambda: partial(len, 2),
        lambda: partial(len, x=1),
        lambda: Settings(1.0).scaled,
        lambda: Settings(2.0).scaled,
        lambda: "a".upper,
        lambda: "b".upper,
        lambda: "a".lower,
    ],
    "objects": [
        lambda: Settings(),
        lambda: Settings(2.0),
        lambda: Settings(names=["a"]),
        lambda: Fixed(),
        lambda: Fixed(2.0),
        lambda: Slotted(1),
        lambda: Slotted([1]),
        lambda: Color.RED,
        lambda: Color.GREEN,
        lambda: Color,
        lambda: Access(8),
        lambda: Access(16),
        lambda: Settings,
        lambda: Fixed,
        lambda: int,
        lambda: ttnn.bfloat16,
        lambda: ttnn.float32,
        lambda: ttnn.TILE_LAYOUT,
        lambda: np.dtype("f4"),
        lambda: ttl,
        lambda: math,
    ],
    "shared": [
        lambda: (lambda inner: [inner, inner])([1]),
        lambda: [[1], [1]],
    ],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_differs_has_different_keys(family: str) -> None:
    values = [make() for make in FAMILIES[family]]
    keys = [freeze(value) for value in values]
    same = [
        (values[one], values[two])
        for one, two in combinations(range(len(keys)), 2)
        if keys[one] == keys[two]
    ]
    assert same == []
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_made_alike_has_the_same_key(family: str) -> None:
    for make in FAMILIES[family]:
        assert freeze(make()) == freeze(make())
        assert hash(freeze(make())) == hash(freeze(make()))


class Failing(ModuleType):
    """As lazy modules and loaders of libraries do, for any name they are asked for."""

    def __init__(self, error: type[Exception]):
        super().__init__("failing")
        self.error = error

    def __getattribute__(self, name: str) -> Any:
        raise object.__getattribute__(self, "error")(name)


def deep(depth: int) -> Any:
    value: Any = ()
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(object(), id="an object"),
        pytest.param(iter([]), id="an iterator"),
        pytest.param((generator for generator in ()), id="a generator"),
        pytest.param([1, [object()]], id="inside a list"),
        pytest.param({"a": object()}, id="inside a dict"),
        pytest.param(Settings(object()), id="inside an object"),  # type: ignore[arg-type]
        pytest.param(capturing(object()), id="captured"),
        pytest.param(np.array([object()]), id="array of objects"),
        pytest.param(sys.stdout, id="a file"),
        pytest.param(deep(100_000), id="too deep"),
        pytest.param([0] * 100_001, id="too long"),
        pytest.param(Failing(AttributeError), id="fails when it is asked"),
        pytest.param([Failing(OSError)], id="fails inside a list"),
        pytest.param(type("Mine", (BaseException,), {})(), id="derived from what has a state"),
    ],
)
def test_what_has_no_key(value: Any) -> None:
    with pytest.raises(NoKey):
        freeze(value)


def test_cycles_end() -> None:
    one: list[Any] = []
    one.append(one)
    two: list[Any] = [[]]
    two[0].append(two)

    def recursive() -> Any:
        return recursive

    assert freeze(one) != freeze(two)
    assert freeze(recursive) == freeze(recursive)


def test_a_list_that_changes_has_another_key() -> None:
    held = {"weights": [1, 2]}
    before = freeze(held)
    held["weights"].append(3)
    assert freeze(held) != before
    held["weights"].pop()
    assert freeze(held) == before


def test_a_class_that_changes_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = freeze(Base())
    assert freeze(Base()) == before
    monkeypatch.setattr(Base, "shared", 2)
    assert freeze(Base()) != before
    monkeypatch.setattr(Base, "shared", 1)
    monkeypatch.setattr(Base, "twice", property(lambda self: 3))
    assert freeze(Base()) != before


def test_a_module_is_known_by_the_names_that_functions_ask_for() -> None:
    settings = ModuleType("settings")
    settings.scale, settings.other = 1, 1  # type: ignore[attr-defined]

    def kernel() -> Any:
        return settings.scale  # type: ignore[attr-defined]

    before = freeze(kernel)
    settings.other = 2  # type: ignore[attr-defined]
    assert freeze(kernel) == before
    settings.scale = 1.0  # type: ignore[attr-defined]
    assert freeze(kernel) != before


def test_a_module_is_asked_by_the_function_it_is_passed_to() -> None:
    settings = ModuleType("settings")
    settings.scale = 1  # type: ignore[attr-defined]

    def helper(module: Any) -> Any:
        return module.scale

    def kernel() -> Any:
        return helper(settings)

    before = freeze(kernel)
    settings.scale = 2  # type: ignore[attr-defined]
    assert freeze(kernel) != before


SCALES = {"one": 1.0}


def reading() -> float:
    return SCALES["one"]


def test_a_global_that_a_nested_function_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel() -> Any:
        def inner() -> float:
            return reading()

        return inner

    before = freeze(kernel)
    assert freeze(kernel) == before
    monkeypatch.setitem(SCALES, "one", -0.0)
    minus = freeze(kernel)
    monkeypatch.setitem(SCALES, "one", 0.0)
    assert len({before, minus, freeze(kernel)}) == 3


def test_tensors_of_the_program_are_known_by_their_position() -> None:
    device = ttnn.open_device(device_id=0)
    a, b = (
        ttnn.zeros((32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        for _ in range(2)
    )
    assert freeze([a], (a, b)) == freeze([b], (b, a)) != freeze([b], (a, b))
    assert freeze_all([a, b], (a, b)) != freeze_all([b, a], (a, b))
