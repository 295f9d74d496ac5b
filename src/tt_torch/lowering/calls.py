"""Lowers calls of TT-Lang operations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i32
from xdsl.ir import SSAValue

from tt_torch import custom_ops
from ttgraph.dialects.stablehlo import FRONTEND_ATTRIBUTES, TT_LANG_TARGET, CustomCallOp

from .emitter import Emitter, lowers


@lowers(custom_ops.tt_lang_op._opoverload)
def tt_lang_op(
    emitter: Emitter,
    tensors: Sequence[SSAValue],
    kernel_id: str,
    arg_roles: str,
    version_tag: str,
    shard_spec: str,
    out_indices: Sequence[int],
) -> list[SSAValue]:
    """Emit a custom call with "in" tensors before "out"; it has a result for each "out"."""
    outs = [tensors[index] for index in out_indices]
    ins = [value for index, value in enumerate(tensors) if index not in out_indices]
    named = {
        "kernel_id": kernel_id,
        "arg_roles": arg_roles,
        "version_tag": version_tag,
        "shard_spec": shard_spec,
    }
    texts = DictionaryAttr({name: StringAttr(named[name]) for name in sorted(named)})
    call = CustomCallOp.create(
        operands=[*ins] if emitter.functional else [*ins, *outs],
        result_types=[value.type for value in outs],
        properties={
            "call_target_name": StringAttr(TT_LANG_TARGET),
            "api_version": IntegerAttr(0, i32),
        },
        attributes={FRONTEND_ATTRIBUTES: texts},
    )
    emitter.block.add_op(call)
    return list(call.results)
