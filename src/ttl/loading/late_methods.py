"""Methods of dataclasses that are made when they are first used.

`@dataclass` writes the text of each method and compiles it, a third of the time that a process
takes to load the compiler, though most of these methods are never called. Until somebody looks for
it, a method of a dataclass of these packages is a descriptor that can make it; from then on the
class has the function that dataclasses give it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import FunctionType
from typing import Any

from .kept_codes import PACKAGES, code_of, compiled

NO_FIELDS = ("ClassVar", "InitVar", "KW_ONLY")
WRITERS = {  # functions of dataclasses, and the methods that each of them writes
    "_init_fn": ("__init__",),
    "_repr_fn": ("__repr__",),
    "_cmp_fn": (),
    "_hash_fn": ("__hash__",),
    "_frozen_get_del_attr": ("__setattr__", "__delattr__"),
}


class Delayed:
    """A method that is made at the first look at it, and then takes the place of this object."""

    def __init__(self, name: str, make: Callable[[], FunctionType]):
        self.__name__ = name  # dataclasses read it
        self.make = make

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        made = self.make()
        for each in (owner or type(instance)).__mro__:
            if each.__dict__.get(self.__name__) is self:
                made.__qualname__ = f"{each.__qualname__}.{self.__name__}"
                type.__setattr__(each, self.__name__, made)
        return made.__get__(instance, owner)


def _delaying(write: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """A function of dataclasses that writes one method, or several.

    Without a name it is its first argument.
    """

    def write_later(*arguments: Any, **others: Any) -> Any:
        # The globals of the module that defines the class are the only dictionary.
        known = next(each for each in (*arguments, *others.values()) if isinstance(each, dict))
        if not _is_of_ours(known.get("__name__", "")):
            return write(*arguments, **others)
        if len(names) < 2:
            name = names[0] if names else arguments[0]
            return Delayed(name, lambda: write(*arguments, **others))
        return tuple(
            Delayed(name, lambda place=place: write(*arguments, **others)[place])  # type: ignore[misc]
            for place, name in enumerate(names)
        )

    return write_later


def _without_signature(process: Callable[..., type]) -> Callable[..., type]:
    """A class without a docstring gets its signature as one, which needs its `__init__`."""

    def process_class(cls: type, *options: Any, **others: Any) -> type:
        if cls.__doc__ is None and _is_of_ours(cls.__module__):
            cls.__doc__ = cls.__name__
        return process(cls, *options, **others)

    return process_class


def _quickly(is_type: Callable[..., bool]) -> Callable[..., bool]:
    """Whether an annotation, as text, is one of those that are no field: here they have their
    own names.
    """

    def is_type_quickly(annotation: str, cls: type, *others: Any) -> bool:
        is_field = not any(name in annotation for name in NO_FIELDS)
        if is_field and _is_of_ours(cls.__module__):
            return False
        return is_type(annotation, cls, *others)

    return is_type_quickly


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
        for writer, names in WRITERS.items():
            setattr(dataclasses, writer, _delaying(getattr(dataclasses, writer), *names))
        dataclasses._process_class = _without_signature(dataclasses._process_class)  # type: ignore[attr-defined]
    dataclasses._is_type = _quickly(dataclasses._is_type)  # type: ignore[attr-defined]
