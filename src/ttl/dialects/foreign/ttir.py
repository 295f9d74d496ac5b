"""TTIR as tt-mlir writes it, in destination-passing style or not, read by the table of forms.

An operation that the table of graphs has in exactly this form is one of dialects/ttir.py;
ttir-to-ttir-decomposition converts the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ttl.semantics.ttir_forms import FORMS, REQUIRED, TtirForm

from .kept import KeptOp, text_of

_SEGMENTS = "operandSegmentSizes"
_EMPTY = ("ttir.empty", "tensor.empty", "d2m.empty")
_NOT_FIELDS = (_SEGMENTS, "resultSegmentSizes")


class FormOp(KeptOp):
    """An operation of the table of forms; its methods raise ValueError if it is wrong."""

    FORMS: ClassVar[tuple[TtirForm, ...]]

    @property
    def form(self) -> TtirForm:
        """Return the form that has all attributes."""
        given = self.fields.keys()
        return next((each for each in self.FORMS if given <= each.attributes.keys()), self.FORMS[0])

    @property
    def fields(self) -> dict[str, Attribute]:
        """Return attributes and properties; names with a dot are notes of other tools."""
        both = {**self.properties, **self.attributes}
        return {k: v for k, v in both.items() if "." not in k and k not in _NOT_FIELDS}

    def values(self) -> dict[str, Any]:
        """Return the attributes as Python values."""
        given, form = self.fields, self.form
        for name in given:
            if name not in form.attributes:
                raise ValueError(f"`{name}` is not among its attributes")
        return {
            name: _value(name, field.kind, given.get(name), field.default)
            for name, field in form.attributes.items()
        }

    def inputs(self) -> list[SSAValue | None]:
        """Return operands in the table's order, without result buffers; None for missing ones."""
        form, operands = self.form, list(self.operands)
        groups = self._groups()
        if groups is not None:
            return _by_groups(form, operands, groups)
        count, extra = len(form.operands), len(operands) - len(form.operands)
        if form.is_list:
            is_extra = len(operands) > 1 and _is_empty(operands[-1])
            return [*operands[:-1]] if is_extra else [*operands]
        required = count - len(form.optional)
        if form.optional and len(operands) > required and _is_empty(operands[-1]):
            operands = operands[: -len(self.results)]
            extra = len(operands) - count
        if form.optional and extra < 0:
            operands += [None] * -extra  # type: ignore[list-item]
            extra = 0
        if extra not in (0, len(self.results)):
            raise ValueError(f"{len(operands)} operands, not {count}")
        return [*operands[:count]]

    def _groups(self) -> Sequence[int] | None:
        found = self.properties.get(_SEGMENTS) or self.attributes.get(_SEGMENTS)
        return None if found is None else _integers(_SEGMENTS, found)

    def verify_(self) -> None:
        try:
            self.values()
            self.inputs()
        except ValueError as error:
            raise VerifyException(f"{self.name}: {error}") from None


def _is_empty(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name in _EMPTY


def _by_groups(
    form: TtirForm, operands: Sequence[SSAValue], groups: Sequence[int]
) -> list[SSAValue | None]:
    if sum(groups) != len(operands):
        raise ValueError(f"{_SEGMENTS} does not count the operands")
    count = len(form.operands)
    if len(groups) not in (count, count + 1) or max(groups[:count], default=0) > 1:
        return [*operands[: len(operands) - groups[-1]]]  # of a list, or of all inputs together
    found: list[SSAValue | None] = []
    left = list(operands)
    for name, size in zip(form.operands, groups, strict=False):
        if not size and name not in form.optional:
            raise ValueError(f"`{name}` is missing")
        found.append(left.pop(0) if size else None)
    return found


# Attributes ---------------------------------------------------------------------------------------


def _value(name: str, kind: str, attribute: Attribute | None, default: object) -> object:
    if attribute is None:
        if default is REQUIRED:
            raise ValueError(f"`{name}` is missing")
        return default
    if kind == "ints":
        return _integers(name, attribute)
    found = text_of(attribute) if kind == "text" else None
    return found if found is not None else _plain(name, kind, attribute)


def _plain(name: str, kind: str, attribute: Attribute) -> object:
    if kind == "bool" and isinstance(attribute, UnitAttr):
        return True
    if kind == "text" and isinstance(attribute, StringAttr):
        return attribute.data
    if kind in ("float", "number") and isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, IntegerAttr):
        is_truth = attribute.type == BoolAttr.from_bool(True).type
        if is_truth == (kind == "bool") and kind != "text":
            number = attribute.value.data
            return bool(number) if is_truth else number
    raise ValueError(f"`{name} = {attribute}` is not of the kind {kind}")


def _integers(name: str, attribute: Attribute) -> list[int]:
    if isinstance(attribute, IntegerAttr):
        return [attribute.value.data]
    if isinstance(attribute, DenseArrayBase):
        values: Sequence[int | float] = attribute.get_values()
    elif isinstance(attribute, DenseIntOrFPElementsAttr):
        values = attribute.get_values()
    elif isinstance(attribute, ArrayAttr) and all(isinstance(v, IntegerAttr) for v in attribute):
        values = [item.value.data for item in attribute]
    else:
        raise ValueError(f"`{name} = {attribute}` is not a list of integers")
    return [int(value) for value in values]


# Operations ---------------------------------------------------------------------------------------


@cache
def form_class(name: str) -> type[FormOp] | None:
    """Return the class of an operation `ttir.<...>`, if the table has it."""
    dialect, _, plain = name.partition(".")
    if dialect != "ttir" or plain not in FORMS:
        return None
    return type("FormOp", (FormOp,), {"name": name, "FORMS": FORMS[plain]})
