"""Find the operations of a compute kernel that engines may round differently."""

from __future__ import annotations

from ttl.language.operation import Program
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR

from . import tree
from .functions import own_code, reachable_functions
from .trees import tree_of
from .walking import walk


def inexact_operations(program: Program) -> tuple[str, ...]:
    """Return their names, one per place; the other operations give the same bits everywhere."""
    kernels = [each.function for each in program.kernels if each.kind is KernelKind.COMPUTE]
    found: dict[object, str] = {}
    for function in {each for kernel in kernels for each in reachable_functions(kernel)}:
        for node in walk(*filter(None, [tree_of(function)])):
            if name := _find_applied(node):
                found[own_code(function).co_filename, node.place] = name
    return tuple(sorted(found.values()))


def _find_applied(node: tree.Node) -> str:
    if isinstance(node, (tree.Binary, tree.Update)):
        op = BY_OPERATOR.get(node.sign)
    else:
        op = BLOCK_OPS.get(node.name) if isinstance(node, tree.Attribute) else None
    return "" if op is None or op.bound is None else op.operator or op.name
