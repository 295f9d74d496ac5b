"""Attributes and methods of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ttl.diagnostics import RuleBroken, codes
from ttl.diagnostics.names import UnknownNameError
from ttl.dialects.ttcore import block_type
from ttl.language.described import public_class, public_classes_by_name
from ttl.language.mistakes import missing_name, no_attribute

from .builder import KernelBuilder
from .environment import MISSING
from .functions import BoundMethod
from .generators import FOR, Generator
from .hir import BlockValue, PipeValue, RunTime, Scalar, TransferValue, Value
from .items import changing_method
from .language_calls import call_method
from .node_values import PerNode
from .operator_methods import operator_method
from .pipe_copies import pipe_attribute
from .problems import describe, error_text, not_in_kernels, python_error, raised


def attribute_of(builder: KernelBuilder, owner: Any, name: str) -> Value:
    if isinstance(owner, Generator):
        raise not_in_kernels(f"`{name}` of a generator", FOR)
    if isinstance(owner, PipeValue):
        return pipe_attribute(builder, owner, name)
    if isinstance(owner, Scalar):
        return _scalar_attribute(builder, owner, name)
    if isinstance(owner, RunTime):
        return _block_attribute(builder, owner, name)
    if name == "shape" and builder.is_tensor(owner):
        return tuple(owner.shape)  # the real ttnn's is not one
    try:
        return owner.attribute(name) if isinstance(owner, PerNode) else getattr(owner, name)
    except UnknownNameError as error:
        found = error.diagnostics[0]
        raise found.code.broken(found.message, *found.helps, notes=found.notes) from None
    except AttributeError as error:
        raise missing_name(error) or raised(builder.frame, error_text(error)) from None


def _scalar_attribute(builder: KernelBuilder, owner: Scalar, name: str) -> Value:
    """Where Python has one, it has it of every number of the kind."""
    if (found := operator_method(builder, owner, name)) is not None:
        return BoundMethod(owner, found, name)
    try:
        getattr(owner.kind(), name)
    except AttributeError as error:
        raise raised(builder.frame, error_text(error)) from None
    raise not_in_kernels(f"`{name}` of {describe(owner)}")


def _block_attribute(builder: KernelBuilder, owner: RunTime, name: str) -> Value:
    if isinstance(owner, BlockValue) and name in ("shape", "dtype", "layout"):
        return getattr(block_type(owner.type), name)
    if isinstance(owner, TransferValue) and name == "is_completed":
        return owner in builder.state.released and not owner.is_grouped
    if (found := find_method(builder, owner, name)) is not None:
        return BoundMethod(found[1], found[0], name)
    if (public := public_classes_by_name().get(public_name(owner) or "")) is not None:
        raise no_attribute(public, name)
    raise codes.UNKNOWN_NAME.broken(f"{describe(owner)} has no `{name}`")


def public_name(owner: Value) -> str | None:
    """The class of the language that a value of the kernel is of."""
    if isinstance(owner, (BlockValue, TransferValue)):
        return "Block" if isinstance(owner, BlockValue) else "Transfer"
    found = None if isinstance(owner, RunTime) else public_class(owner)
    return None if found is None else found.type.__name__


def get_attribute(
    builder: KernelBuilder, owner: Value, name: Value, default: Value = MISSING
) -> Value:
    """getattr()"""
    if not isinstance(name, str):
        raise python_error(f"{describe(name)} as the name of an attribute")
    try:
        return attribute_of(builder, owner, name)
    except RuleBroken:
        if default is MISSING:
            raise
        return default


def set_attribute(builder: KernelBuilder, owner: Value, name: Value, value: Value) -> Value:
    if isinstance(owner, Scalar) and isinstance(name, str):
        try:
            setattr(owner.kind(), name, None)
        except (AttributeError, TypeError) as error:
            raise raised(builder.frame, error_text(error)) from None
    raise RuleBroken(
        codes.WRONG_ARGUMENT if isinstance(owner, RunTime) else codes.NOT_IN_KERNELS,
        f"`{name}` of {describe(owner)} cannot be set in a kernel",
        helps=("keep the value in a variable of the kernel",),
    )


def has_attribute(builder: KernelBuilder, owner: Value, name: Value) -> Value:
    return get_attribute(builder, owner, name, None) is not None


def find_method(
    builder: KernelBuilder, owner: Value, name: str
) -> tuple[Callable[..., Value], Value] | None:
    """The handler of a method: the language's, one that changes a container, or an operator's."""
    if (found := call_method(builder, owner, name)) is not None:
        return found
    method = changing_method(owner, name) or operator_method(builder, owner, name)
    return None if method is None else (method, owner)
