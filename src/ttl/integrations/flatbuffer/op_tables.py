"""Which table of the flatbuffer each graph operation has, and which field holds what."""

from __future__ import annotations

from dataclasses import dataclass

from ttl.semantics.graph_ops import BINARY, REDUCTIONS, UNARY


@dataclass(frozen=True, slots=True)
class OpTable:
    """`operands` are the fields of the operands. Attributes have fields of their own names; a
    `shape` has none: it is the shape of the result. Where operations share a table, `type` says
    which it is.
    """

    table: str
    operands: tuple[str, ...] = ("in",)
    attributes: tuple[str, ...] = ()
    has_type: bool = False


OP_TABLES: dict[str, OpTable] = {
    **dict.fromkeys(UNARY, OpTable("EltwiseUnaryOp", has_type=True)),
    **dict.fromkeys(BINARY, OpTable("EltwiseBinaryOp", ("lhs", "rhs"), has_type=True)),
    **dict.fromkeys(
        REDUCTIONS, OpTable("ReductionOp", attributes=("dim_arg", "keep_dim"), has_type=True)
    ),
    "where": OpTable("WhereOp", ("predicate", "on_true", "on_false")),
    "matmul": OpTable("MatmulOp", ("a", "b")),
    "reshape": OpTable("ReshapeOp"),
    "expand": OpTable("ExpandOp"),
    "permute": OpTable("PermuteOp", attributes=("permutation",)),
    "concat": OpTable("ConcatOp", ("inputs",), ("dim",)),
    "slice": OpTable("SliceOp", attributes=("begins", "ends", "step")),
    "embedding": OpTable("EmbeddingOp", ("in", "weight")),
    "typecast": OpTable("TypecastOp"),
    "assign": OpTable("AssignOp"),
    "to_layout": OpTable("ToLayoutOp"),
    "full": OpTable("FullOp", (), ("fill_value",)),
    "arange": OpTable("ArangeOp", (), ("dim",)),
    "empty": OpTable("EmptyOp", ()),
}
OP_NAMES = {form.table: name for name, form in OP_TABLES.items() if not form.has_type}
