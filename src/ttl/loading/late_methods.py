"""Methods of dataclasses that are made when they are first used.

`@dataclass` writes the text of each method and compiles it, a third of the time that a process
takes to load the compiler, though most of these methods are never called. Until somebody looks for
it, a method of a dataclass of these packages is a descriptor that can make it; from then on the
class has the function that dataclasses give it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property
from types import FunctionType
from typing import Any

from .kept_codes import code_of, compiled

PACKAGES = ("ttl", "xdsl")  # the classes of others are made as ever


class Delayed:
    """A method that is made at the first look at it, and then takes the place of this object."""

    def __init__(self, name: str, make: Callable[[], FunctionType]):
        self.__name__ = name  # dataclasses read it
        self.make = make

    def __get__(self, instance: object, owner: type) -> Any:
        made = self.make()
        for each in owner.__mro__:
            if each.__dict__.get(self.__name__) is self:
                made.__qualname__ = f"{each.__qualname__}.{self.__name__}"
                type.__setattr__(each, self.__name__, made)
        return made.__get__(instance, owner)

    @cached_property
    def __wrapped__(self) -> FunctionType:
        return self.make()

    def __call__(self, *arguments: object) -> Any:
        """Under a decorator, as `__repr__` is."""
        return self.__wrapped__(*arguments)


def _delaying(create: Callable[..., FunctionType]) -> Callable[..., Delayed | FunctionType]:
    def create_later(
        name: str, arguments: Sequence[str], body: Sequence[str], **names: Any
    ) -> Delayed | FunctionType:
        if _is_of_ours((names.get("globals") or {}).get("__name__", "")):
            return Delayed(name, lambda: create(name, arguments, body, **names))
        return create(name, arguments, body, **names)

    return create_later


def _without_signature(process: Callable[..., type]) -> Callable[..., type]:
    """A class without a docstring gets its signature as one, which needs its `__init__`."""

    def process_class(cls: type, *options: Any, **others: Any) -> type:
        if cls.__doc__ is None and _is_of_ours(cls.__module__):
            cls.__doc__ = cls.__name__
        return process(cls, *options, **others)

    return process_class


def _execute(text: str, names: dict[str, Any], found: dict[str, Any]) -> None:
    """In place of `exec` in dataclasses."""
    is_kept = _is_of_ours(names.get("__name__", ""))
    exec((code_of if is_kept else compiled)(text), names, found)


def _is_of_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def delay_methods() -> None:
    """Those of the classes that follow."""
    dataclasses.exec = _execute  # type: ignore[attr-defined]
    # From 3.13 on there is no such function: all methods of a class are one text.
    if hasattr(dataclasses, "_create_fn"):
        dataclasses._create_fn = _delaying(dataclasses._create_fn)
        dataclasses._process_class = _without_signature(dataclasses._process_class)  # type: ignore[attr-defined]
