"""ttl-validate-cb-budget: check that buffers and scratch memory fit the chip.

Runs after ttl-finalize-dfb-indices, which adds the compiler's buffers and the room in rows.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from ttl.diagnostics import Span
from ttl.dialects import ttl
from ttl.dialects.locations import span_of
from ttl.semantics.dtypes import DType, uint32
from ttl.semantics.limits import L1Tensor, check_limits
from ttl.semantics.types import Shape

from ..module_pass import target_of
from ..node_to_node.pipe_resources import SCRATCH_BYTES

L1_BUDGET = "ttl.l1_budget"


def apply(op: ModuleOp) -> None:
    declared = [_declared(o) for o in op.ops if isinstance(o, ttl.DeclareBufferOp)]
    declared.sort(key=lambda buffer: buffer.is_compilers)
    check_limits(declared, target_of(op), budget_bytes(op), _pipe_scratch(op))


def budget_bytes(module: ModuleOp) -> int:
    """Return the bytes for dataflow buffers: the user's choice, or the chip's."""
    budget = module.attributes.get(L1_BUDGET)
    given = budget.value.data if isinstance(budget, IntegerAttr) else 0
    return given or target_of(module).dataflow_buffer_budget_bytes


class BufferDeclaration(NamedTuple):
    """A declaration in the form that check_limits() takes."""

    name: str
    shape: Shape
    block_count: int
    dtype: DType
    size_bytes: int
    span: Span | None
    is_compilers: bool


def _pipe_scratch(module: ModuleOp) -> list[L1Tensor]:
    """Return the scratch memory, a tensor that the launcher makes in every core's L1."""
    size = module.attributes.get(SCRATCH_BYTES)
    if not isinstance(size, IntegerAttr):
        return []
    size_bytes = size.value.data
    return [L1Tensor("scratch of the pipes", (size_bytes // 4,), uint32, size_bytes)]


def _declared(declaration: ttl.DeclareBufferOp) -> BufferDeclaration:
    type = declaration.type
    return BufferDeclaration(
        declaration.sym_name.data,
        type.sizes,
        type.block_count.value.data,
        type.tile.dtype,
        declaration.size_bytes,
        span_of(declaration.location),
        declaration.compiler_allocated is not None,
    )
