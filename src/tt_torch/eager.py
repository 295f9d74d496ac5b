"""Operations on tensors of device `tt` outside of torch.compile: each is a graph of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from .capture import decompositions
from .device import NAME
from .executable import Executable

_CALLS: dict[Any, tuple[Executable, Any]] = {}


def run_eagerly(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of one operation. What it writes into is written."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    is_written = _is_written(op, args, kwargs)
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    tensors = [leaves[index] for index in places]
    written = [index for index, place in enumerate(places) if is_written[place]]
    key = _key(op, leaves, spec)
    if key not in _CALLS:
        _CALLS[key] = _call(op, leaves, spec, places, written)
    executable, structure = _CALLS[key]
    results = executable(tensors)
    if not written:
        return pytree.tree_unflatten(results, structure)
    for index, value in zip(written, results, strict=True):
        assert value is not None
        if tensors[index].shape != value.shape:  # an `out` that may have any size
            tensors[index].resize_(value.shape)
        tensors[index].copy_(value)
    changed = [tensors[index] for index in written]
    return changed[0] if len(changed) == 1 else tuple(changed)


def _call(
    op: Any, leaves: Sequence[Any], spec: Any, places: Sequence[int], written: Sequence[int]
) -> tuple[Executable, Any]:
    """The executable, and the structure of what the operation returns."""
    structure: Any = None

    def call(*tensors: Tensor) -> list[Any]:
        nonlocal structure
        # What is written into are copies; they are the results then.
        own = [each.clone() if index in written else each for index, each in enumerate(tensors)]
        filled = list(leaves)
        for place, tensor in zip(places, own, strict=True):
            filled[place] = tensor
        args, kwargs = pytree.tree_unflatten(filled, spec)
        flat, structure = pytree.tree_flatten(op(*args, **kwargs))
        return [own[index] for index in written] or flat

    # Samples, not the tensors: of these two may be one, and of those of the next call not.
    samples = [torch.empty_like(leaves[place], device=NAME) for place in places]
    trace = make_fx(torch.func.functionalize(call), decompositions(), tracing_mode="fake")
    traced = trace(*samples)
    traced.graph.eliminate_dead_code()
    return Executable(traced), structure


def _is_written(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[bool]:
    """For each leaf of the arguments."""
    writes = [argument.is_write for argument in op._schema.arguments]
    named = {argument.name: argument.is_write for argument in op._schema.arguments}
    flags = (
        tuple(
            pytree.tree_map(lambda _, flag=flag: flag, value)
            for value, flag in zip(args, writes, strict=False)
        ),
        {
            name: pytree.tree_map(lambda _, flag=named[name]: flag, value)
            for name, value in kwargs.items()
        },
    )
    found: list[bool] = pytree.tree_leaves(flags)
    return found


def _key(op: Any, leaves: Sequence[Any], spec: Any) -> Any:
    described = tuple(
        (tuple(leaf.shape), leaf.dtype) if isinstance(leaf, Tensor) else (type(leaf), repr(leaf))
        for leaf in leaves
    )
    return op, described, str(spec)
