"""@tt_lang_operation: a TT-Lang operation as a function of torch tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from .custom_ops import call_entry
from .registry import (
    OperationEntry,
    TTLangError,
    derive_version_tag,
    no_elements,
    normalize_arg_roles,
    register,
    tensor_counts,
)

DEVICE_TYPES = ("xla", "tt")
Result: TypeAlias = torch.Tensor | tuple[torch.Tensor, ...]


def tt_lang_operation(
    *,
    operation_id: str,
    arg_roles: Sequence[str],
    shard_spec: str = "",
    version_tag: str | None = None,
    backward: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a @ttl.operation, or a function that calls one, for use in models.

    `arg_roles` has "in" or "out" for each tensor, all "in" first. The decorated function takes
    tensors on device "tt", writes the "out" ones, and returns what was written: a tensor, or a
    tuple of them. `backward` is the operation_id of the operation that computes gradients: it takes
    the "in" tensors, if it has room for them the results, and the gradients of the results, and
    writes the gradients of the "in" tensors.
    """
    _check_id(operation_id)

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        tag = version_tag or derive_version_tag(fn)
        roles = normalize_arg_roles(arg_roles, tensor_counts(fn), operation_id)
        entry = OperationEntry(operation_id, fn, tag, roles, backward)
        register(entry)

        @functools.wraps(fn)
        def call(*tensors: torch.Tensor, **others: Any) -> Result:
            if others:
                given = ", ".join(f"{name}=" for name in others)
                raise TypeError(
                    f"operation {operation_id!r} takes its tensors by position, not by {given}"
                )
            return _call(entry, shard_spec, tensors)

        call._tt_lang_operation_entry = entry  # type: ignore[attr-defined]
        return call

    return decorate


def _check_id(operation_id: object) -> None:
    if not isinstance(operation_id, str) or not operation_id:
        raise ValueError(f"operation_id must be a non-empty str, not {operation_id!r}")
    if any(character.isspace() for character in operation_id):
        raise ValueError(f"operation_id must not contain whitespace: {operation_id!r}")


def _call(entry: OperationEntry, shard_spec: str, tensors: tuple[torch.Tensor, ...]) -> Result:
    outs = _check_call(entry, tensors)
    results = call_entry(entry, list(tensors), shard_spec, outs)
    for index, result in zip(outs, results, strict=True):
        if tensors[index] is not result:
            tensors[index].copy_(result)
    return results[0] if len(results) == 1 else tuple(results)


def _check_call(entry: OperationEntry, tensors: tuple[torch.Tensor, ...]) -> list[int]:
    """Return the positions of the "out" tensors. Users can see the order of the checks."""
    name = f"operation {entry.operation_id!r}"
    if not tensors:
        raise TypeError(f"{name} is called without tensors")
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"argument {index} of {name} is a {type(tensor).__name__}, no tensor")
    roles, count = entry.arg_roles, len(tensors)
    if count != len(roles):
        missing = roles[count:]
        which = f"an '{missing[0]}' tensor is missing" if missing else "there is one too many"
        raise ValueError(
            f"{name} has {len(roles)} tensors, {', '.join(roles)}, and is called with {count}: "
            f"{which}"
        )
    outs = [index for index, role in enumerate(roles) if role == "out"]
    if not outs:
        raise ValueError(f"{name} needs at least one 'out' tensor in arg_roles")
    for index, tensor in enumerate(tensors):
        if tensor.dtype is torch.bool:
            raise TTLangError(f"tensor {index} of {name} is of bool: {no_elements('i1')}")
    device = tensors[0].device
    for index, tensor in enumerate(tensors):
        if tensor.device != device:
            raise ValueError(
                f"the tensors of {name} are on different devices: 0 on {device}, "
                f"{index} on {tensor.device}"
            )
    if device.type not in DEVICE_TYPES:
        raise NotImplementedError(
            f"{name} runs on XLA devices only, not on {device.type!r}: move the model and its "
            'inputs with .to("tt")'
        )
    return outs
