"""Finds patterns in ttir, for the passes that fuse operations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ttgraph.dialects.graph import MathOp, shape_of
from ttl.passes.module_pass import Maker, erase, replace_by

from .graph_maker import Graph


def function_bodies(module: ModuleOp) -> list[Block]:
    """Return the bodies of the functions."""
    functions = [each for each in module.ops if isinstance(each, func.FuncOp)]
    return [each.body.block for each in functions if not each.is_declaration]


def find_maker(value: SSAValue, *names: str) -> MathOp | None:
    """Return the operation that makes a value if it has one of these names, else None."""
    op = value.owner
    return op if isinstance(op, MathOp) and op.ENTRY.name in names else None


def number_of(value: SSAValue) -> float | None:
    """Return the number that all elements of a tensor are; None if it is not known."""
    op = find_maker(value, "full", "expand", "reshape")
    while op is not None and op.ENTRY.name != "full":
        op = find_maker(op.inputs[0], "full", "expand", "reshape")
    return None if op is None else float(op.values()["fill_value"])


def find_users(value: SSAValue) -> set[Operation]:
    return {use.operation for use in value.uses}


def is_only_for(value: SSAValue, op: Operation) -> bool:
    return find_users(value) == {op}


def split_factors(value: SSAValue) -> tuple[list[SSAValue], float]:
    """Split a product into its tensors and the product of its numbers."""
    op = find_maker(value, "multiply", "divide", "neg")
    if op is None:
        number = number_of(value)
        return ([value], 1.0) if number is None else ([], number)
    found, product = split_factors(op.inputs[0])
    if op.ENTRY.name == "neg":
        return found, -product
    if op.ENTRY.name == "multiply":
        others, number = split_factors(op.inputs[1])
        return [*found, *others], product * number
    number = number_of(op.inputs[1])
    return ([value], 1.0) if not number else (found, product / number)


def is_near(number: float, wanted: float) -> bool:
    """Are they equal up to rounding to bfloat16, 8 bits?"""
    return abs(number - wanted) <= abs(wanted) / 256


def replace_each(module: ModuleOp, fused: Callable[[Graph, MathOp], SSAValue | None]) -> None:
    """Replace each operation by the value that `fused` returns, then remove unused operations."""
    for block in function_bodies(module):
        for op in list(block.ops):
            if isinstance(op, MathOp) and op.parent is not None:
                found = fused(Graph(Maker.before(op)), op)
                if found is not None:
                    op.result.replace_all_uses_with(found)
        remove_unused(block)
        merge_equal(block)


def merge_equal(block: Block) -> bool:
    """Merge equal operations; return whether there were any."""
    known: dict[Hashable, Operation] = {}
    changed = False
    for op in list(block.ops):
        if not op.results or not is_side_effect_free(op) or op.regions:
            continue
        key = op.name, *op.operands, *sorted(op.attributes.items()), *(r.type for r in op.results)
        first = known.setdefault(key, op)
        if first is not op:
            replace_by(op, *first.results)
            changed = True
    return changed


def remove_unused(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if op.results and is_side_effect_free(op) and not any(r.uses for r in op.results):
            erase(op)


def last_dim(value: SSAValue) -> int:
    return len(shape_of(value)) - 1


def is_swap_of_last(op: MathOp) -> bool:
    """Does a permutation only exchange the last two dimensions?"""
    order = op.values()["permutation"]
    rank = len(order)
    return rank > 1 and order == [*range(rank - 2), rank - 1, rank - 2]


def is_row(value: SSAValue, columns: int) -> bool:
    """Is it a number for each column?"""
    shape = shape_of(value)
    return shape[-1:] == (columns,) and all(size == 1 for size in shape[:-1])


def both_orders(op: MathOp) -> Iterable[tuple[SSAValue, SSAValue]]:
    """Return the operands of a commutative operation in both orders."""
    first, second = op.inputs
    return ((first, second), (second, first))
