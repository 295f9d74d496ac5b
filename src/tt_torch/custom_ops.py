"""torch.ops.tt.tt_lang_op: a TT-Lang operation as one node of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import device
from .registry import OperationEntry, get_registered_operation

device.register()  # the op names the device


@torch.library.custom_op(  # type: ignore[untyped-decorator]
    "tt::tt_lang_op", mutates_args=[], device_types=["xla", device.NAME]
)
def tt_lang_op(
    tensors: list[Tensor],
    kernel_id: str,
    arg_roles: str,
    version_tag: str,
    shard_spec: str,
    out_indices: Sequence[int],
) -> list[Tensor]:
    """Return the results of a TT-Lang operation; "out" tensors give their shapes and types."""
    check_out_indices(tensors, out_indices)
    if tensors[0].device.type != device.NAME:
        raise NotImplementedError(
            "tt_lang_op on XLA tensors is run by tt-xla, which is not here: move the model and "
            f'its inputs with .to("{device.NAME}")'
        )
    from .eager import run_eagerly

    arguments = (tensors, kernel_id, arg_roles, version_tag, shard_spec, list(out_indices))
    results: list[Tensor] = run_eagerly(torch.ops.tt.tt_lang_op.default, arguments, {})
    return results


def check_out_indices(tensors: Sequence[Tensor], out_indices: Sequence[int]) -> None:
    if not tensors:
        raise ValueError("tt_lang_op needs tensors")
    if not out_indices:
        raise ValueError("tt_lang_op needs at least one out index")
    for index in out_indices:
        if not 0 <= index < len(tensors):
            raise ValueError(f"out index {index} is out of range for {len(tensors)} tensors")
    if len(set(out_indices)) != len(out_indices):
        raise ValueError(f"an out index is given more than once in {list(out_indices)}")


@tt_lang_op.register_fake  # type: ignore[untyped-decorator]
def _fake(tensors: list[Tensor], *texts_and_outs: Any) -> list[Tensor]:
    out_indices: Sequence[int] = texts_and_outs[-1]
    check_out_indices(tensors, out_indices)
    return [tensors[index].clone() for index in out_indices]


def tt_lang_op_dispatch(
    tensors: list[Tensor],
    *,
    kernel_id: str,
    arg_roles: str,
    version_tag: str,
    shard_spec: str,
    out_indices: Sequence[int],
) -> list[Tensor]:
    """Call torch.ops.tt.tt_lang_op with named arguments."""
    results: list[Tensor] = torch.ops.tt.tt_lang_op(
        tensors, kernel_id, arg_roles, version_tag, shard_spec, list(out_indices)
    )
    return results


def call_entry(
    entry: OperationEntry, tensors: list[Tensor], shard_spec: str, outs: Sequence[int]
) -> list[Tensor]:
    return tt_lang_op_dispatch(
        tensors,
        kernel_id=entry.operation_id,
        arg_roles=",".join(entry.arg_roles),
        version_tag=entry.version_tag,
        shard_spec=shard_spec,
        out_indices=outs,
    )


# Gradients ----------------------------------------------------------------------------------------


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    tensors, ctx.kernel_id, ctx.arg_roles, _, ctx.shard_spec, ctx.outs = inputs
    ctx.count = len(tensors)
    ctx.ins = [index for index in range(ctx.count) if index not in ctx.outs]
    ctx.save_for_backward(*(tensors[index] for index in ctx.ins), *output)


def _backward(ctx: Any, grads: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """Return the gradients of "in" tensors. "out" tensors are overwritten and have none."""
    entry = _backward_entry(ctx.kernel_id)
    saved = ctx.saved_tensors
    ins, results = saved[: len(ctx.ins)], saved[len(ctx.ins) :]
    given = [
        torch.zeros_like(result) if grad is None else grad.contiguous()
        for grad, result in zip(grads, results, strict=True)
    ]
    found = _gradients(entry, list(ins), list(results), given, ctx.shard_spec)
    of_tensors: list[Tensor | None] = [None] * ctx.count
    for index, gradient in zip(ctx.ins, found, strict=True):
        of_tensors[index] = gradient
    return of_tensors, None, None, None, None, None


def _backward_entry(kernel_id: str) -> OperationEntry:
    name = get_registered_operation(kernel_id).backward
    if name is None:
        raise NotImplementedError(
            f"operation {kernel_id!r} has no gradient: call the model under torch.no_grad(), or "
            "register a separate operation for the backward pass and name it with "
            "backward=operation_id"
        )
    return get_registered_operation(name)


def _gradients(
    entry: OperationEntry,
    ins: list[Tensor],
    results: list[Tensor],
    grads: list[Tensor],
    shard_spec: str,
) -> list[Tensor]:
    wanted = entry.arg_roles.count("in")
    operands = {
        len(ins) + len(grads): [*ins, *grads],
        len(ins) + len(results) + len(grads): [*ins, *results, *grads],
    }.get(wanted)
    outs = len(entry.arg_roles) - wanted
    if operands is None or outs != len(ins):
        raise ValueError(
            f"backward operation {entry.operation_id!r} has {wanted} 'in' and {outs} 'out' "
            f"tensors; it needs the {len(ins)} inputs and {len(grads)} gradients of results (the "
            f"{len(results)} results between them, if it wants them) as 'in', and {len(ins)} 'out'"
        )
    tensors = [*operands, *(torch.empty_like(each) for each in ins)]
    return call_entry(entry, tensors, shard_spec, list(range(wanted, len(tensors))))


tt_lang_op.register_autograd(_backward, setup_context=_setup_context)


def _refuse_batches(info: Any, in_dims: Any, tensors: Any, kernel_id: str, *_: Any) -> Any:
    raise NotImplementedError(
        f"operation {kernel_id!r} is called under torch.vmap, and a TT-Lang operation has no rule "
        "for batches: call it with the whole tensors, or in a loop"
    )


tt_lang_op.register_vmap(_refuse_batches)
