"""Keep operations, attributes and types of other tools: read, hold and print their text.

An operation in MLIR's generic form keeps its operands, attributes, regions and types. One in its
own form keeps its text with holes for these: `%0[%1] into $0 {...}`. So values can be renamed and
regions changed without losing any text. No pass computes a kept operation: a pass that meets one
reports its name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import ArrayAttr, MemRefLayoutAttr, StringAttr, UnregisteredAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_attr_definition, param_def, traits_def
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, OpTrait

# Holes in a form's text: an operand, an attribute or type, a region, or a literal % or $.
HOLE = re.compile(r"\$([ark])(\d*)")
_TERMINATORS = ("yield", ".return", ".condition", ".terminator", ".reduce")
_FORM, _PARTS = "form", "parts"


class KeptOp(Operation):
    """A kept operation in MLIR's generic form."""

    name = "kept.operation"
    traits = traits_def()

    @classmethod
    def has_trait(
        cls, trait: type[OpTrait] | OpTrait, *, value_if_unregistered: bool = True
    ) -> bool:
        """Return defaults, except that some names mark the end of a block."""
        if trait is IsTerminator or isinstance(trait, IsTerminator):
            return cls.name.endswith(_TERMINATORS)
        return value_if_unregistered


class KeptTextOp(KeptOp):
    """A kept operation in its own form: `form` is its text with holes, `parts` fills these."""

    @classmethod
    def of(
        cls,
        form: str,
        operands: Sequence[SSAValue],
        parts: Sequence[Attribute],
        regions: Sequence[Region],
        result_types: Sequence[Attribute],
    ) -> KeptTextOp:
        properties: dict[str, Attribute] = {_FORM: StringAttr(form), _PARTS: ArrayAttr(parts)}
        return cls.create(
            operands=operands, properties=properties, regions=regions, result_types=result_types
        )

    def print(self, printer: Printer) -> None:
        form, parts = self.properties[_FORM], self.properties[_PARTS]
        assert isinstance(form, StringAttr) and isinstance(parts, ArrayAttr)
        pieces = HOLE.split(form.data)
        printer.print_string(pieces[0])
        for kind, number, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            self._print_hole(printer, kind, int(number or 0), parts)
            printer.print_string(text)

    def _print_hole(
        self, printer: Printer, kind: str, number: int, parts: ArrayAttr[Attribute]
    ) -> None:
        if kind == "a":
            printer.print_ssa_value(self.operands[number])
        elif kind == "r":
            printer.print_region(self.regions[number], print_empty_block=False)
        else:
            printer.print_attribute(parts.data[number])


@cache
def kept_operation(name: str) -> type[KeptOp]:
    return type("KeptOp", (KeptOp,), {"name": name})


@cache
def kept_text(name: str) -> type[KeptTextOp]:
    return type("KeptTextOp", (KeptTextOp,), {"name": name})


# Attributes that describe where the elements of a memref are.
_LAYOUTS = tuple(
    f"ttcore.{each}" for each in ("cb_layout", "interleaved", "host_layout", "view", "shard")
)


class KeptLayout(ParametrizedAttribute, MemRefLayoutAttr):
    """A kept layout; `body` is the text between the angle brackets."""

    body: StringAttr = param_def()

    def get_affine_map(self) -> AffineMap:
        raise NotImplementedError(f"nothing here computes with #{self.name}")

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.body.data}>")


@cache
def _kept_layout(name: str) -> type[KeptLayout]:
    return irdl_attr_definition(type("KeptLayout", (KeptLayout,), {"name": name}))


@cache
def _kept_attribute(name: str, is_type: bool) -> type[UnregisteredAttr]:
    return UnregisteredAttr.with_name_and_type(name, is_type)


def keep_attribute(name: str, is_type: bool, is_opaque: bool, body: str) -> Attribute:
    """Make a kept attribute or type; `is_opaque` is the form `#ttnn<mesh_shape 1x1>`."""
    if name in _LAYOUTS:
        return _kept_layout(name)(StringAttr(body))
    space = " " if is_opaque and body else ""
    return _kept_attribute(name, is_type)(name, is_type, is_opaque, space + body)


def text_of(attribute: Attribute) -> str | None:
    """Return the text between the angle brackets of a kept attribute."""
    if isinstance(attribute, KeptLayout):
        return attribute.body.data
    return attribute.value.data.strip() if isinstance(attribute, UnregisteredAttr) else None


def rebuild(op: Operation, kind: type[KeptOp]) -> KeptOp:
    """Rebuild an operation that was just read, as one of another class."""
    operands, types = list(op.operands), [result.type for result in op.results]
    regions = [region for region in op.regions]
    for region in regions:
        op.detach_region(region)
    made = kind.create(
        operands=operands,
        result_types=types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        successors=list(op.successors),
        regions=regions,
    )
    made.location = op.location
    op.drop_all_references()
    return made
