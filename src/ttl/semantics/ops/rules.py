"""Type rules that several groups of operations share.

rule OPEN   a size of 0 is not known yet: a broadcast without a shape takes it from the value that
            it is combined with, as a fill without a shape takes all sizes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from ttl.diagnostics import RuleBroken, codes, wrong_argument

from ..dtypes import Array, DType, common_float
from ..layout import ROW_MAJOR_LAYOUT
from ..rounding import LANGUAGE, Rounding
from ..types import BlockType, Shape
from .table import BlockOp, Domain, ParameterKind, shape_text

OPEN = 0


def result_type(
    op: BlockOp, types: Sequence[BlockType], parameters: Mapping[str, object]
) -> BlockType:
    """Return the type of `op` on operands of these types, or raise RuleBroken."""
    for type_ in types:
        refuse_row_major(type_)
    _check_domain(op, dtype := operand_dtype(types))
    if dtype is not None and any(forms.of(dtype) is None for forms in op.tile.values()):
        raise refuse_integers(op, dtype)
    deciding = {p.name: parameters[p.name] for p in op.parameters if p.kind.decides_types}
    return op.type_rule(*types, **deciding)


def meaning_of(
    op: BlockOp,
    types: Sequence[BlockType],
    result: BlockType,
    rounding: Rounding = LANGUAGE,
    in_16_bits: bool = False,
) -> Callable[..., Array]:
    """Return the meaning of `op` on arrays of these types, in the matrix unit or 16-bit registers.

    The array of a block of one dimension has a dimension more, its tiles' rows, so dimensions are
    counted from the end.
    """
    found = (op.in_16_bits if in_16_bits else None) or op.meaning
    if rounding.cuts_sources and op.in_sources is not None:
        found = partial(op.in_sources, phases=rounding.phases)
    if in_16_bits and any(each.name == "exact_f32" for each in op.parameters):
        found = _inexact(found)
    ranks = [len(type_.shape) for type_ in (*types[:1], result) if type_.shape is not None]
    names = [each.name for each in op.parameters if each.kind is ParameterKind.DIMS]
    if not names or 1 not in ranks:
        return found

    def meaning(*values: Array, **parameters: object) -> Array:
        for name in names:
            dims = normal_dims(parameters[name], max(ranks), "")
            parameters[name] = tuple([dim - max(ranks) for dim in dims])
        return found(*values, **parameters)

    return meaning


def _inexact(meaning: Callable[..., Array]) -> Callable[..., Array]:
    """Ignore `exact_f32`, which reductions obey in 32-bit registers only."""
    return lambda *values, exact_f32=False, **parameters: meaning(*values, **parameters)


def operand_dtype(types: Sequence[BlockType]) -> DType | None:
    """Return the element type an operation works in, or None if all operands are fills."""
    return next((type_.dtype for type_ in types if type_.dtype is not None), None)


def refuse_row_major(type: BlockType) -> None:
    """Raise RuleBroken for a row-major block: the chip computes on tiles."""
    if type.layout is ROW_MAJOR_LAYOUT:
        raise RuleBroken(
            codes.LAYOUT_MISMATCH,
            "a row-major block can be copied and sent, not computed with",
            helps=(
                "make the tensor with layout=ttnn.TILE_LAYOUT, or convert it first: "
                "ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)",
            ),
        )


def _check_domain(op: BlockOp, dtype: DType | None) -> None:
    if op.domain is Domain.ALL or (dtype is None and op.domain is Domain.FLOATS):
        return
    if dtype is None or dtype.is_float is not (op.domain is Domain.FLOATS):
        found = "fills, which have no element type of their own" if dtype is None else f"{dtype}"
        raise RuleBroken(
            codes.NO_MEANING,
            f"{op.spelling} has no meaning for {found}; it works on {op.domain.value}",
            helps=("convert with ttl.math.typecast(x, dtype)",),
            dtype=None if dtype is None else dtype.spelling,
        )


def refuse_integers(op: BlockOp, dtype: DType) -> RuleBroken:
    """Describe an operation that only the matrix unit does, which has no integers."""
    floats = "ttl.math.typecast(x, ttnn.bfloat16)"
    return RuleBroken(
        codes.NO_INTEGERS,
        f"`{op.operator or op.spelling}` on blocks of {dtype}: the matrix unit has floats only",
        helps=(
            f"convert the operands: {floats} is exact for integers from -256 to 256, and the "
            "product while its sums stay below 2**24",
        ),
        dtype=dtype.name,
    )


def is_complete(shape: Shape | None) -> bool:
    return shape is not None and OPEN not in shape


def whole_shape(operand: BlockType, call: str) -> Shape:
    """Return the operand's shape, or raise RuleBroken if it is not known."""
    if operand.shape is None or not is_complete(operand.shape):
        raise RuleBroken(
            codes.SHAPELESS_FILL,
            f"a fill or broadcast without a shape cannot be an operand of {call}",
            helps=("give it one: ttl.math.fill(value, shape=(rows, columns))",),
        )
    return operand.shape


def shapeless_value() -> RuleBroken:
    return RuleBroken(
        codes.SHAPELESS_FILL,
        "this value has met neither an operand nor a store that gives it a shape",
        helps=("give it one: ttl.math.fill(value, shape=(rows, columns))", "or leave it out"),
    )


def unchanged(operand: BlockType) -> BlockType:
    return operand


def same_type(first: BlockType, *others: BlockType) -> BlockType:
    """Return the type that all operands agree on; a fill adapts to the others.

    Floats may differ in type: in DST all have its format.
    """
    agreed = first
    for other in others:
        agreed = BlockType(_agreed_shape(agreed, other), _agreed_dtype(agreed, other))
    return agreed


def _agreed_shape(left: BlockType, right: BlockType) -> Shape | None:
    if left.shape is None or right.shape is None:
        return left.shape or right.shape
    shape = meet(left.shape, right.shape)
    if shape is None:
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"operands have different shapes: {shape_text(left)} and {shape_text(right)}",
            helps=("expand the smaller operand with ttl.math.broadcast(x, dims=..., shape=...)",),
            left=left.shape,
            right=right.shape,
        )
    return shape


def with_rank(shape: Shape, rank: int) -> Shape:
    """Add leading ones, which shapes may differ by according to the specification."""
    return (1,) * (rank - len(shape)) + shape


def meet(left: Shape, right: Shape) -> Shape | None:
    """Merge two shapes, each filling in the other's open sizes; None if they differ."""
    if left == right:
        return left
    rank = max(len(left), len(right))
    left, right = with_rank(left, rank), with_rank(right, rank)
    sizes = [a or b for a, b in zip(left, right, strict=True)]
    fits = all(OPEN in (a, b) or a == b for a, b in zip(left, right, strict=True))
    return tuple(sizes) if fits else None


def _agreed_dtype(left: BlockType, right: BlockType) -> DType | None:
    if left.dtype is None or right.dtype is None:
        return left.dtype or right.dtype
    if left.dtype.is_float and right.dtype.is_float:
        return common_float(left.dtype, right.dtype)
    if left.dtype != right.dtype:
        raise RuleBroken(
            codes.DTYPE_MISMATCH,
            f"operands have different element types: {left.dtype} and {right.dtype}",
            helps=("convert one of them with ttl.math.typecast(x, dtype)",),
        )
    return left.dtype


def store_type(value: BlockType, block: BlockType) -> BlockType:
    """Return the type of a stored value, or raise RuleBroken if it cannot become the block's."""
    refuse_row_major(block)
    refuse_row_major(value)
    assert block.shape is not None and block.dtype is not None
    if value.shape is not None and meet(value.shape, block.shape) != block.shape:
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"a value of shape {value.shape} is stored into a block of shape {block.shape} "
            "(in tiles)",
            helps=("give the dataflow buffer and the expression the same shape",),
            value=value.shape,
            block=block.shape,
        )
    if value.dtype not in (None, block.dtype) and not block.dtype.is_float:
        raise RuleBroken(
            codes.DTYPE_MISMATCH,
            f"a value of {value.dtype} is stored into a block of {block.dtype}",
            helps=(f"convert it with ttl.math.typecast(x, ttnn.{block.dtype})",),
        )
    return block


@lru_cache
def normal_dims(dims: Shape, rank: int, call: str) -> Shape:
    """Return dimensions counted from 0, sorted; raise RuleBroken for a wrong or doubled one."""
    counted = [dim + rank if dim < 0 else dim for dim in dims]
    strange = [dim for dim in dims if not -rank <= dim < rank]
    if strange or len(set(counted)) != len(counted):
        block = f"a block of {rank} dimension{'s' if rank > 1 else ''}"
        problem = f"{list(dims)} has one of them twice"
        if strange:
            problem = f"it has no dimension {strange[0]}, only those from {-rank} to {rank - 1}"
        raise wrong_argument(
            f"{call} of {block}: {problem}", "write for example dims=[-1], the innermost dimension"
        )
    return tuple(sorted(counted))


def check_result_shape(shape: Shape | None, found: Shape, call: str) -> None:
    """Raise RuleBroken if the given shape is not the one that follows from the operand."""
    if shape is not None and shape != found:
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"shape={shape}: the result of {call} has shape {found} (in tiles)",
            helps=("leave shape= out",),
        )
