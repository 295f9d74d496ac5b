"""Definitions of xDSL that are made when they are first used: operations, attributes, formats.

A class of an operation says which fields it has. xDSL makes their constraints, what reads them and
the assembly format when the class is defined; a kernel uses a fifth of the operations, and of
these few are parsed or printed. Here that waits for the first look at a field, at the definition or
at a check of an operation; from then on the class is what xDSL makes of it: docs/decisions/0034.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl import irdl
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import IRDLOperation, OpDef, ParamAttrDef, attributes, operations

from .forks import UNDIVIDED, computed_once
from .late_dialect_files import delay_dialect_files

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram
    from xdsl.parser import Parser
    from xdsl.printer import Printer

_define_now = operations.irdl_op_definition
_read_parameters = ParamAttrDef.from_pyrdl
_WAITING: dict[type, dict[str, Any]] = {}  # by class: its own members that others stand in for


def define_later(cls: type[Any]) -> type[Any]:
    """In place of `irdl_op_definition`."""
    names = ["verify_", *(("parse", "print") if cls.assembly_format else ())]
    if sum("traits" in vars(each) for each in cls.__mro__) != 1:  # none, or some to be joined
        names.append("traits")
    _WAITING[cls] = {name: vars(cls).get(name) for name in names}
    for name in names:
        setattr(cls, name, DelayedMember(name))
    return cls


def define(cls: type) -> None:
    """The class, and those that it inherits from, if they wait for it."""
    with UNDIVIDED:
        for each in [each for each in cls.__mro__ if each in _WAITING]:
            for name, own in _WAITING.pop(each).items():
                if own is None:
                    delattr(each, name)
                else:
                    setattr(each, name, own)
            _define_now(each)


def _is_replaced(member: Any, cls: type) -> bool:
    """By this thread or by another one, which defined the class first."""
    define(cls)
    found = next(vars(each)[member.name] for each in cls.__mro__ if member.name in vars(each))
    return found is not member


def _read(member: Any, op: Any, cls: type) -> Any:
    owner = cls if op is None else op
    return getattr(owner, member.name) if _is_replaced(member, cls) else member


def _write(member: Any, op: Any, value: Any) -> None:
    if not _is_replaced(member, type(op)):
        raise AttributeError(f"{type(op).__name__} is not defined as an operation")
    setattr(op, member.name, value)


class DelayedMember:
    """Stands for a member of a class until that is defined."""

    def __init__(self, name: str):
        self.name = name

    __get__ = _read


def _name_field(field: Any, cls: type, name: str) -> None:
    field.name = name


def _definition(cls: type[IRDLOperation]) -> OpDef | None:
    define(cls)
    found: Any = cls.get_irdl_definition  # of a class that is defined it is its own
    return None if found.__func__ is _definition else found()


class DelayedParameters(ParamAttrDef):
    """The definition of an attribute."""

    def __init__(self, cls: type[ParametrizedAttribute]):
        self.cls = cls
        self.name = cls.name

    @computed_once
    def parameters(self) -> Any:
        return _read_parameters(self.cls).parameters


class DelayedFormat:
    """An assembly format that is read when an operation is first parsed or printed."""

    def __init__(self, read: Callable[[], FormatProgram]):
        self.read = read

    @computed_once
    def program(self) -> FormatProgram:
        return self.read()

    def parse(self, parser: Parser, op_type: Any) -> Any:
        return self.program.parse(parser, op_type)

    def print(self, printer: Printer, op: Any) -> None:
        self.program.print(printer, op)


@cache
def delay_definitions() -> None:
    """Those of dialects that are imported from now on."""
    field: Any = operations._OpDefField
    field.__set_name__, field.__get__, field.__set__ = _name_field, _read, _write
    IRDLOperation.get_irdl_definition = classmethod(_definition)  # type: ignore[assignment]
    operations.irdl_op_definition = irdl.irdl_op_definition = define_later
    attributes.ParamAttrDef.from_pyrdl = DelayedParameters  # type: ignore[assignment]
    delay_dialect_files()
    _delay_formats()


def _delay_formats() -> None:
    from xdsl.irdl.declarative_assembly_format import FormatProgram

    read = FormatProgram.from_str

    def read_later(text: str, definition: OpDef) -> DelayedFormat:
        return DelayedFormat(lambda: read(text, definition))

    FormatProgram.from_str = read_later  # type: ignore[method-assign, assignment]
