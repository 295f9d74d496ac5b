"""What keeps loading this package and xDSL short: texts are compiled when they are first used.

`@dataclass` writes the text of each method and compiles it, a third of the time that a process
takes to load the compiler, though most of these methods are never called. Until somebody looks for
it, a method of a dataclass of these packages is a descriptor that can make it; from then on the
class has the function that dataclasses give it. The same is done with the assembly formats of
operations. Importing this module does it for the classes that follow: docs/decisions/0034.

What is loaded is never garbage either: nobody looks for some in it, here and when a command ends.
"""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.irdl import OpDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram
    from xdsl.parser import Parser
    from xdsl.printer import Printer

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


def _is_of_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


class DelayedFormat:
    """An assembly format that is read when an operation is first parsed or printed."""

    def __init__(self, read: Callable[[], FormatProgram]):
        self.read = read

    @cached_property
    def program(self) -> FormatProgram:
        return self.read()

    def parse(self, parser: Parser, op_type: Any) -> Any:
        return self.program.parse(parser, op_type)

    def print(self, printer: Printer, op: Any) -> None:
        self.program.print(printer, op)


@cache
def delay_formats() -> None:
    """Those of dialects that are imported from now on."""
    from xdsl.irdl.declarative_assembly_format import FormatProgram

    read = FormatProgram.from_str

    def read_later(text: str, definition: OpDef) -> DelayedFormat:
        return DelayedFormat(lambda: read(text, definition))

    FormatProgram.from_str = read_later  # type: ignore[method-assign, assignment]


FROZEN_AT_START = gc.get_freeze_count()  # 3.12 has put some of its own aside


@contextmanager
def without_collecting() -> Iterator[None]:
    """What is imported is never garbage; looking for some costs a tenth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        count_as_old()
        if collects:
            gc.enable()


def count_as_old() -> None:
    """All objects that there are: the next look for garbage need not go through what was loaded."""
    if gc.get_freeze_count() <= FROZEN_AT_START:  # what somebody has put aside stays there
        gc.freeze()
        gc.unfreeze()


@cache
def settle() -> None:
    """What is loaded by now stays until the process ends, and nobody looks for garbage in it again.

    For commands, before a user's program begins: Python goes through all objects several times when
    it ends, which took longer than compiling a kernel. Once: what a first program leaves behind is
    garbage like any other.
    """
    gc.freeze()


# From 3.13 on there is no such function: all methods of a class are one text.
if hasattr(dataclasses, "_create_fn"):
    dataclasses._create_fn = _delaying(dataclasses._create_fn)
    dataclasses._process_class = _without_signature(dataclasses._process_class)  # type: ignore[attr-defined]
