"""ttir-fuse-attention: softmax(q @ k^T * scale + mask) @ v becomes one operation of ttnn, and the
turning of queries and keys by their positions ttnn.experimental.rotary_embedding.

rule HEADS  keys and values of fewer heads are passed as they are, not repeated for the query's
rule CAUSAL a mask that hides exactly the later positions is `is_causal`
rule GUARD  rows that a mask hides completely are 0 in PyTorch, but not on the chip: the check for
            such rows stays unfused, with all around it, unless the mask is known to have none
rule TILES  the chip rotates rows of whole pairs of tiles, and sequences of whole tiles
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttgraph.along import Numbers
from ttgraph.dialects.graph import MathOp, element_of, shape_of
from ttl.semantics.types import TILE_SIZE

from .graph_maker import Graph, tensor_like
from .graph_match import (
    both_orders,
    find_maker,
    is_only_for,
    number_of,
    replace_each,
    split_factors,
)
from .known_values import KnownValues


def apply(op: ModuleOp) -> None:
    known = KnownValues()
    replace_each(op, _rotary)
    replace_each(op, lambda graph, each: _attention(graph, each, known))


# Attention ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scores:
    query: SSAValue
    key: SSAValue
    scale: float
    mask: SSAValue | None


def _attention(graph: Graph, op: MathOp, known: KnownValues) -> SSAValue | None:
    if op.ENTRY.name != "matmul" or len(shape_of(op.result)) != 4:
        return None
    weights, value = op.inputs
    guarded = _match_guard(weights)
    softmax = find_maker(weights if guarded is None else guarded, "softmax")
    if softmax is None or softmax.values()["dim"] != 3:
        return None
    found = _scores(graph, softmax.inputs[0])
    if found is None:
        return None
    mask = np.zeros((1, 1)) if found.mask is None else known.of(found.mask)
    if guarded is not None and (mask is None or not (mask > -np.inf).any(-1).all()):
        return None  # rule GUARD
    rows = shape_of(softmax.inputs[0])[-2:]
    is_causal = mask is not None and _is_causal(mask, rows)
    inputs = [found.query, _fewer_heads(graph, found.key), _fewer_heads(graph, value)]
    if shape_of(inputs[1])[1] != shape_of(inputs[2])[1]:
        inputs[1:] = [found.key, value]
    if found.mask is not None and not is_causal and (mask is None or mask.any()):
        inputs.append(_of_rank(graph, found.mask, rows))
    if len({element_of(each) for each in (*inputs, op.result)}) != 1:
        return None
    type = tensor_like(op.result, shape_of(op.result))
    name = "scaled_dot_product_attention"
    return graph.add(name, inputs, type, is_causal=is_causal, scale=found.scale)


def _of_rank(graph: Graph, mask: SSAValue, rows: tuple[int, ...]) -> SSAValue:
    shape = (*(1,) * (4 - len(shape_of(mask))), *shape_of(mask))
    value = graph.reshape(mask, shape)
    return graph.expand(value, (*shape[:2], *rows))


def _match_guard(value: SSAValue) -> SSAValue | None:
    """rule GUARD: match where(no element of the row is visible, 0, softmax)."""
    choice = find_maker(value, "where")
    if choice is None or number_of(choice.inputs[1]) != 0:
        return None
    return choice.inputs[2] if find_maker(choice.inputs[0], "logical_not") is not None else None


def _scores(graph: Graph, value: SSAValue) -> _Scores | None:
    total = find_maker(value, "add")
    if total is None:
        return _product(graph, value, None)
    for scores, mask in both_orders(total):
        found = _product(graph, scores, mask)
        if found is not None:
            return found
    return None


def _product(graph: Graph, value: SSAValue, mask: SSAValue | None) -> _Scores | None:
    found, scale = split_factors(value)
    matmul = find_maker(found[0], "matmul") if len(found) == 1 else None
    if matmul is None or len(shape_of(matmul.result)) != 4:
        return None
    queries, first = split_factors(matmul.inputs[0])
    keys, second = split_factors(matmul.inputs[1])
    if len(queries) != 1 or len(keys) != 1:
        return None
    key, third = split_factors(_transpose(graph, keys[0]))
    if len(key) != 1:
        return None
    return _Scores(queries[0], key[0], scale * first * second * third, mask)


def _transpose(graph: Graph, value: SSAValue) -> SSAValue:
    """Exchange the last two dimensions, or drop a permutation that does."""
    permute, order = find_maker(value, "permute"), [0, 1, 3, 2]
    if permute is None:
        return graph.permute(value, tuple(order))
    *front, row, column = permute.values()["permutation"]
    return graph.permute(permute.inputs[0], (*front, column, row))


def _fewer_heads(graph: Graph, value: SSAValue) -> SSAValue:
    """rule HEADS: return the (batch, heads, 1, sequence, size) that was expanded and flattened."""
    if (cast := find_maker(value, "typecast")) is not None:
        return graph.cast(_fewer_heads(graph, cast.inputs[0]), element_of(value))
    outer = find_maker(value, "reshape")
    expand = None if outer is None else find_maker(outer.inputs[0], "expand")
    if expand is None:
        return value
    inner = find_maker(expand.inputs[0], "reshape")
    given = shape_of(expand.inputs[0])
    if inner is None or len(given) != 5 or given[2] != 1:
        return value
    batch, heads, _, *rest = given
    is_repeated = shape_of(expand.result) == (batch, heads, shape_of(expand.result)[2], *rest)
    source = inner.inputs[0]
    return source if is_repeated and shape_of(source) == (batch, heads, *rest) else value


def _is_causal(mask: Numbers, rows: tuple[int, ...]) -> bool:
    """rule CAUSAL"""
    wanted = np.where(np.tri(*rows, dtype=np.bool_), 0, -np.inf)
    hidden = np.where(mask <= np.finfo(np.float32).min, -np.inf, mask)
    whole = np.broadcast_to(hidden, (*mask.shape[:-2], *rows))
    return rows[0] == rows[1] and bool((whole == wanted).all())


# Rotary embedding ---------------------------------------------------------------------------------


def _rotary(graph: Graph, op: MathOp) -> SSAValue | None:
    """Match x * cos + (-second half of x, first half) * sin."""
    if op.ENTRY.name != "add" or len(shape_of(op.result)) != 4:
        return None
    for plain, turned in both_orders(op):
        first, second = find_maker(plain, "multiply"), find_maker(turned, "multiply")
        if first is None or second is None or not is_only_for(turned, op):
            continue
        found = _match_halves(first, second)
        if found is None:
            continue
        x, *angles = found
        if _is_whole_tiles(*found) and x.type == op.result.type:
            shape = (1, 1, *shape_of(x)[2:])
            inputs = [x, *(graph.reshape(each, shape) for each in angles)]
            return graph.add("rotary_embedding", inputs, tensor_like(x, shape_of(x)))
    return None


def _match_halves(first: MathOp, second: MathOp) -> tuple[SSAValue, SSAValue, SSAValue] | None:
    for halves, sine in both_orders(second):
        source = _source_of_halves(halves)
        for x, cosine in both_orders(first):
            if source is not None and x is source:
                return x, cosine, sine
    return None


def _source_of_halves(value: SSAValue) -> SSAValue | None:
    joined = find_maker(value, "concat")
    if joined is None or len(joined.inputs) != 2 or joined.values()["dim"] != 3:
        return None
    minus, low = find_maker(joined.inputs[0], "neg"), find_maker(joined.inputs[1], "slice")
    high = None if minus is None else find_maker(minus.inputs[0], "slice")
    if low is None or high is None or low.inputs[0] is not high.inputs[0]:
        return None
    shape = shape_of(low.inputs[0])
    half = shape[-1] // 2
    for part, begin in ((low, 0), (high, half)):
        wanted = {
            "begins": [0, 0, 0, begin],
            "ends": [*shape[:3], begin + half],
            "step": [1] * 4,
        }
        if part.values() != wanted:
            return None
    return low.inputs[0]


def _is_whole_tiles(x: SSAValue, cosine: SSAValue, sine: SSAValue) -> bool:
    """rule TILES"""
    *_, rows, columns = shape_of(x)
    shapes = [shape_of(each) for each in (cosine, sine)]
    alike = all(each[-2:] == (rows, columns) and prod(each[:-2]) == 1 for each in shapes)
    types = {element_of(each) for each in (x, cosine, sine)}
    whole = columns % (2 * TILE_SIZE) == 0 and rows % TILE_SIZE == 0
    return alike and len(types) == 1 and whole
