"""d2m-grid-selection: the cores that run a generic in affine form, of those that the device has.

rule CORES  a generic on one core gets, along each parallel iterator, the most cores that divide the
            tiles of all its operands there
rule STEPS  a product iterates over its inner dimension in as many steps as there could be cores
rule KEEP   a generic with several cores or several blocks keeps them, and so does one in explicit
            form, whose threads count them
rule TYPES  a dimension of a block is divided like its iterator
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg.ops import GenericOp as LinalgOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.rewriter import Rewriter

from pykernel.dialects import d2m
from pykernel.dialects.linalg_math import tile_op_of
from ttl.dialects.metal import GridAttr, sizes_attr
from ttl.passes.module_pass import integers, target_of, users_of
from ttl.semantics.types import Shape

Tags = dict[SSAValue, list[int | None]]  # the iterator of each dimension of a block


def most_cores(size: int, most: int) -> int:
    return max(n for n in range(1, most + 1) if size % n == 0)


def apply(op: ModuleOp) -> None:
    columns, rows = target_of(op).default_grid
    for generic in list(d2m.generics_of(op)):
        is_whole = set(generic.grid.shape) == {1} == set(generic.iteration.factors or (1,))
        if generic.is_affine and is_whole and len(generic.grid.shape) == 2:  # rule KEEP
            _divide(generic, _parts(generic, (rows, columns)))
            if "ttl.launch_grid" in op.attributes:
                op.attributes["ttl.launch_grid"] = integers(generic.grid.shape[::-1])


def _parts(generic: d2m.GenericOp, most: Shape) -> list[int]:
    """Return the number of parts of each iterator."""
    affine, sizes = generic.iteration, _tiles(generic)
    parts = []
    for iterator, kind in enumerate(affine.iterators):
        if kind == "parallel":  # rule CORES
            limit = most[affine.maps[-1].index(iterator)]
        else:  # rule STEPS
            limit = min(most) if _is_product(generic) else 1
        parts.append(most_cores(sizes[iterator], limit))
    return parts


def _tiles(generic: d2m.GenericOp) -> list[int]:
    """Return the tiles of each iterator; a single core has them in one block."""
    sizes = [1] * len(generic.iteration.iterators)
    for value, map in zip(generic.operands, generic.iteration.maps, strict=True):
        shape = d2m.shape_of(value)
        for size, iterator in zip(shape[len(shape) // 2 :], map, strict=True):
            if iterator is not None:
                sizes[iterator] = size
    return sizes


def _is_product(generic: d2m.GenericOp) -> bool:
    math = (op for op in generic.walk() if isinstance(op, LinalgOp))
    return any(tile_op_of(op).ENTRY.name == "matmul" for op in math)


def _divide(generic: d2m.GenericOp, parts: list[int]) -> None:
    affine = generic.iteration

    def counts(iterators: Iterable[int | None]) -> Shape:
        return tuple(1 if i is None else parts[i] for i in iterators)

    for value, iterators in _tags(generic).items():
        _retype_block(value, counts(iterators))
    for operand, map in zip(generic.operands, affine.maps, strict=True):
        for value in _tensors_of(operand):
            _retype_tensor(value, counts(map))
    cores = counts(affine.maps[-1])
    for end in generic.ends:
        _retype_tensor(end, cores)
    generic.properties["grid"] = GridAttr.of(cores)
    kinds = zip(parts, affine.iterators, strict=True)
    factors = [1 if kind == "parallel" else count for count, kind in kinds]
    generic.properties["block_factors"] = sizes_attr(factors)


def _tensors_of(operand: SSAValue) -> Iterator[SSAValue]:
    """Yield an operand and the values that it views or lays out, all on the device."""
    found: list[SSAValue] = [operand]
    for value in found:
        yield value
        if isinstance(value.owner, d2m.LayoutOp):
            inside = (value.owner.input, value.owner.output)
            found += [each for each in inside if d2m.layout_of(each.type) is not None]


def _retype_tensor(value: SSAValue, counts: Shape) -> None:
    type: Any = value.type
    shape = d2m.shape_of(value)
    shard = shape[len(counts) :]
    if shape[: len(counts)] == (1,) * len(counts):
        parts = (size // count for size, count in zip(shard, counts, strict=True))
        new = TensorType(type.element_type, (*counts, *parts), type.encoding)
        Rewriter.replace_value_with_new_type(value, new)


# rule TYPES ---------------------------------------------------------------------------------------


def _tags(generic: d2m.GenericOp) -> Tags:
    tags: Tags = {}
    for body in generic.bodies:
        for argument, map in zip(body.block.args, generic.iteration.maps, strict=False):
            for value in (argument, *_blocks_of(argument)):
                tags[value] = list(map)
    changed = True
    while changed:
        changed = any([_spread(op, tags) for op in generic.walk()])
    return tags


def _blocks_of(cb: SSAValue) -> list[SSAValue]:
    acquires = (*users_of(cb, d2m.WaitOp), *users_of(cb, d2m.ReserveOp))
    return [op.block for op in acquires]


def _spread(op: Operation, tags: Tags) -> bool:
    """Propagate iterators between the operands and results of math."""
    if isinstance(op, d2m.StoreOp):
        identity = list(range(len(d2m.shape_of(op.block))))
        return _unify([(op.value, identity), (op.block, identity)], tags)
    if not isinstance(op, LinalgOp):
        return False
    values = [*op.inputs, *op.outputs, *op.results]
    maps = [each.data for each in op.indexing_maps]
    maps += maps[len(op.inputs) :]  # a result is like the output
    found = [
        [e.position if isinstance(e, AffineDimExpr) else None for e in map.results] for map in maps
    ]
    return _unify(list(zip(values, found, strict=True)), tags)


def _unify(pairs: list[tuple[SSAValue, Sequence[int | None]]], tags: Tags) -> bool:
    """Give dimensions with equal paths the same iterator; return True for news."""
    known: dict[int, int] = {}
    for value, dims in pairs:
        for dim, tag in zip(dims, tags.get(value, ()), strict=False):
            if dim is not None and tag is not None:
                known[dim] = tag
    is_new = False
    for value, dims in pairs:
        old = tags.get(value) or [None] * len(dims)
        new = [
            tag
            if tag is not None or dim is None or d2m.shape_of(value)[place] == 1
            else known.get(dim)
            for place, (dim, tag) in enumerate(zip(dims, old, strict=True))
        ]
        if new != old:
            tags[value], is_new = new, True
    return is_new


def _retype_block(value: SSAValue, parts: Shape) -> None:
    type: Any = value.type
    block: Any = type.underlying if isinstance(type, d2m.CBType) else type
    shape = [size // count for size, count in zip(block.get_shape(), parts, strict=True)]
    new: Any = TensorType(block.element_type, shape)
    hint = value.name_hint
    made = Rewriter.replace_value_with_new_type(
        value, d2m.CBType(new) if isinstance(type, d2m.CBType) else new
    )
    made.name_hint = hint
