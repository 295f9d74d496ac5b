"""Attributes and methods of values."""

from __future__ import annotations

from collections.abc import Callable

from ttl.diagnostics import RuleBroken
from ttl.diagnostics.names import UnknownNameError

from .block_math import Fill, operand_type
from .builder import KernelBuilder
from .environment import MISSING
from .functions import BoundMethod
from .generators import FOR, Generator
from .hir import BlockValue, PipeValue, StandIn, TransferValue, Value
from .in_python import example, in_python, refusal, require_python
from .items import changing_method
from .language_calls import call_method
from .node_values import PerNode
from .operator_methods import operator_method
from .pipe_copies import other_end
from .problems import describe, not_in_kernels
from .ranges import RangeValue


def attribute_of(builder: KernelBuilder, owner: object, name: str) -> Value:
    if isinstance(owner, Generator):
        raise not_in_kernels(f"`{name}` of a generator", FOR)
    if isinstance(owner, StandIn):
        return _of_stand_in(builder, owner, name)
    if name == "shape" and builder.is_tensor(owner):
        return tuple(owner.shape)  # the real ttnn's is not one
    try:
        return owner.attribute(name) if isinstance(owner, PerNode) else getattr(owner, name)
    except UnknownNameError as error:
        known = error.diagnostics[0]
        raise known.code.broken(known.message, *known.helps, notes=known.notes) from None
    except AttributeError as error:
        raise refusal(error) from None


def _of_stand_in(builder: KernelBuilder, owner: StandIn, name: str) -> Value:
    """Return an attribute of a stand-in. One that only Python has is looked up on an example."""
    if isinstance(owner, (Fill, BlockValue)) and name in ("shape", "dtype", "layout"):
        return getattr(operand_type(owner), name)
    if isinstance(owner, RangeValue) and name in ("start", "stop", "step"):
        return getattr(owner, name)
    if isinstance(owner, TransferValue) and name == "is_completed":
        return owner in builder.state.released and not owner.is_grouped
    if isinstance(owner, PipeValue) and {name, owner.pipe_type.role.data} == {"src", "dst"}:
        return other_end(builder, owner, name)
    if (found := find_method(builder, owner, name)) is not None:
        return BoundMethod(found[1], found[0], name)
    in_python(getattr, example(owner), name)
    raise not_in_kernels(f"`{name}` of {describe(owner)}")


def get_attribute(
    builder: KernelBuilder, owner: Value, name: Value, default: Value = MISSING
) -> Value:
    """Evaluate getattr()."""
    if not isinstance(name, str):
        return require_python(getattr, owner, name)
    try:
        return attribute_of(builder, owner, name)
    except RuleBroken:
        if default is MISSING:
            raise
        return default


def set_attribute(builder: KernelBuilder, owner: Value, name: Value, value: Value) -> Value:
    if isinstance(owner, StandIn):
        require_python(setattr, owner, name, None)
    raise not_in_kernels(
        f"`{name}` of {describe(owner)} cannot be set",
        "keep the value in a variable of the kernel",
    )


def has_attribute(builder: KernelBuilder, owner: Value, name: Value) -> Value:
    return get_attribute(builder, owner, name, None) is not None


def find_method(
    builder: KernelBuilder, owner: Value, name: str
) -> tuple[Callable[..., Value], Value] | None:
    """Find the handler of a method: the language's, a container's, or an operator's."""
    if (found := call_method(builder, owner, name)) is not None:
        return found
    method = changing_method(owner, name) or operator_method(builder, owner, name)
    return None if method is None else (method, owner)
