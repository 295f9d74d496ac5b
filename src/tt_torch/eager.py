"""Runs operations on tensors of device `tt` outside of torch.compile, each as its own graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from ttl.loading.recent import Recent

from .capture import TRACING
from .decompositions import decompositions
from .device import NAME, on_host, on_tt
from .executable import MOST_KEPT, Executable
from .keys import kinds_of
from .lowering.emitter import unsupported
from .registry import get_registered_operation

_PLACE = ("dtype", "layout", "device", "pin_memory")
_CALLS: Recent[tuple[Executable, Any]] = Recent(MOST_KEPT)


def run_eagerly(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run one operation and return its results; in-place operations write their operands."""
    arguments = op._schema.arguments
    args = _with_tensors(arguments, args)
    if not any(each.is_write for each in arguments):
        return _execute(op, args, kwargs)
    named = dict(zip((each.name for each in arguments), args, strict=False)) | kwargs
    written = [named[each.name] for each in arguments if each.is_write]
    outs = [each.name for each in arguments if each.is_write and each.kwarg_only]
    functional, has_place = _functional(op)
    kept = {name: value for name, value in kwargs.items() if name not in outs}
    if has_place:
        kept |= {"dtype": written[0].dtype, "device": written[0].device}
    results = pytree.tree_leaves(_execute(functional, args, kept))
    for tensor, value in zip(pytree.tree_leaves(written), results, strict=True):
        if tensor.shape != value.shape:  # an `out` may have any size
            tensor.resize_(value.shape)
        tensor.copy_(value)
    return written[0] if len(written) == 1 else tuple(written)


def _with_tensors(arguments: Sequence[Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Turn numbers into tensors where the schema has a tensor: torch passes them as numbers."""
    first = next((each for each in args if isinstance(each, Tensor)), None)
    if first is None:
        return args
    return tuple(
        torch.tensor(value, dtype=torch.result_type(first, value))
        if isinstance(value, (int, float)) and str(argument.type) == "Tensor"
        else value
        for argument, value in zip(arguments, args, strict=False)
    )


@cache
def _functional(op: Any) -> tuple[Any, bool]:
    """Return the functional form of an operation: `add` for `add_` and `add.out`.

    One without tensor operands, `arange`, also needs the type and device of its result.
    """
    arguments = [each for each in op._schema.arguments if not (each.is_write and each.kwarg_only)]
    wanted = [(each.name, str(each.type)) for each in arguments]
    names = [each.name for each in arguments]
    packet = getattr(torch.ops.aten, op._schema.name.removeprefix("aten::").removesuffix("_"), None)
    for name in packet.overloads() if packet is not None else ():
        schema = getattr(packet, name)._schema
        found = [
            (each.name, str(each.type))
            for each in schema.arguments
            if each.name in names or each.name not in _PLACE
        ]
        if found == wanted and not any(each.is_write for each in schema.arguments):
            return getattr(packet, name), len(found) < len(schema.arguments)
    raise unsupported(f"no lowering for {op}")


def _execute(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    leaves, spec = pytree.tree_flatten((args, kwargs))
    if torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.Python):
        return _of_constants(op, leaves, spec)
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    _check_devices(op, [leaves[place] for place in places])
    # Another TT-Lang operation may replace the called one under its id.
    entry = get_registered_operation(args[1]) if op.namespace == "tt" else None
    key = op, kinds_of(leaves), str(spec), entry
    executable, structure = _CALLS.get(key, lambda: _call(op, leaves, spec, places))
    return pytree.tree_unflatten(executable([leaves[place] for place in places]), structure)


def _of_constants(op: Any, leaves: Sequence[Any], spec: Any) -> Any:
    """Compute constants that torch evaluates while it traces a graph; nothing else can be traced
    then.
    """
    host = [on_host(each) if isinstance(each, Tensor) else each for each in leaves]
    args, kwargs = pytree.tree_unflatten(host, spec)
    return pytree.tree_map_only(Tensor, on_tt, op(*args, **kwargs))


def _check_devices(op: Any, tensors: Sequence[Tensor]) -> None:
    """Check devices, if torch does not; numbers and indices may be on the CPU."""
    if "index" not in op.__name__ and any(t.ndim and t.device.type != NAME for t in tensors):
        devices = sorted({str(tensor.device) for tensor in tensors})
        raise RuntimeError(
            f"{op}: expected all tensors to be on the same device, but found {', '.join(devices)}"
        )


def _call(
    op: Any, leaves: Sequence[Any], spec: Any, places: Sequence[int]
) -> tuple[Executable, Any]:
    """Return the executable, and the structure of the operation's results."""
    structure: Any = None

    def call(*tensors: Tensor) -> list[Any]:
        nonlocal structure
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        args, kwargs = pytree.tree_unflatten(filled, spec)
        flat, structure = pytree.tree_flatten(op(*args, **kwargs))
        return list(flat)

    # Samples, not the tensors, of which two may be identical now but not in the next call.
    samples = [torch.empty_like(leaves[place], device=NAME) for place in places]
    try:
        with TRACING():
            traced = make_fx(call, decompositions(), tracing_mode="fake")(*samples)
    except AssertionError:  # from torch, which cannot infer shapes for the operation
        raise unsupported(f"no lowering for {op}") from None
    except (DataDependentOutputException, DynamicOutputShapeException):
        raise unsupported(f"no lowering for {op}, whose sizes depend on elements") from None
    return Executable(traced), structure
