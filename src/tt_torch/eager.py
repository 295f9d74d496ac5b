"""Operations on tensors of device `tt` outside of torch.compile: each is a graph of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from .capture import decompositions
from .executable import Executable

_EXECUTABLES: dict[Any, Executable] = {}


def run_eagerly(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of one operation. What it writes into is written."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    tensors = [leaves[index] for index in places]
    written = _written(op, args, kwargs)
    known = [index for index, each in enumerate(tensors) if any(each is one for one in written)]
    key = _key(op, leaves, spec, known)
    outside: dict[str, Any] = {}
    if key not in _EXECUTABLES:
        function = _function(op, leaves, spec, places, known, outside)
        traced = make_fx(
            torch.func.functionalize(function), decompositions(), tracing_mode="fake"
        )(*tensors)
        traced.graph.eliminate_dead_code()
        _EXECUTABLES[key] = Executable(traced)
        _STRUCTURES[key] = outside["spec"]
    results = _EXECUTABLES[key](tensors)
    for index, value in zip(known, results, strict=False):
        assert value is not None
        tensors[index].copy_(value)
    if written:
        return written[0] if len(written) == 1 else tuple(written)
    return pytree.tree_unflatten(results, _STRUCTURES[key])


_STRUCTURES: dict[Any, Any] = {}


def _function(
    op: Any,
    leaves: Sequence[Any],
    spec: Any,
    places: Sequence[int],
    written: Sequence[int],
    outside: dict[str, Any],
) -> Callable[..., list[Any]]:
    """The operation as a function of its tensors: what it writes into are copies, and returned."""

    def call(*tensors: Tensor) -> list[Any]:
        own = [each.clone() if index in written else each for index, each in enumerate(tensors)]
        filled = list(leaves)
        for place, tensor in zip(places, own, strict=True):
            filled[place] = tensor
        args, kwargs = pytree.tree_unflatten(filled, spec)
        results = op(*args, **kwargs)
        flat, outside["spec"] = pytree.tree_flatten(results)
        return [own[index] for index in written] or flat

    return call


def _written(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The arguments that the operation writes into."""
    found: list[Tensor] = []
    for index, argument in enumerate(op._schema.arguments):
        value = args[index] if index < len(args) else kwargs.get(argument.name)
        if argument.is_write:
            found += [each for each in pytree.tree_leaves(value) if isinstance(each, Tensor)]
    return found


def _key(op: Any, leaves: Sequence[Any], spec: Any, written: Sequence[int]) -> Any:
    described = tuple(
        (tuple(leaf.shape), leaf.dtype) if isinstance(leaf, Tensor) else (type(leaf), repr(leaf))
        for leaf in leaves
    )
    return op, described, str(spec), tuple(written)
