"""Find functions of an operation that look like kernels but are neither declared nor called."""

from __future__ import annotations

from collections.abc import Iterator

from ttl.diagnostics import Diagnostic, Span, codes
from ttl.language.operation import Program

from . import tree
from .trees import tree_of_code
from .walking import walk

BLOCK_CALLS = ("wait", "reserve")


def undeclared_kernels(program: Program) -> Iterator[Diagnostic]:
    code = program.operation.function.__code__
    operation = tree_of_code(code, code.co_filename)
    nodes = [] if operation is None else [*walk(operation)]
    used = {node.binding for node in nodes if isinstance(node, tree.Name)}
    for node in nodes:
        if isinstance(node, tree.Assign) and _is_kernel_like(node.value):
            (target,) = node.targets
            if isinstance(target, tree.Target) and target.binding not in used:
                name = target.binding.name
                broken = codes.UNDECLARED_KERNEL.broken(
                    f"`{name}` uses blocks, but it is no kernel, and nobody calls it",
                    "put @ttl.compute() or @ttl.datamovement() above it, or take it out",
                )
                line, column = node.lineno, node.col_offset + 1
                yield broken.at(Span(code.co_filename, line, column, line, 1 << 10))


def _is_kernel_like(node: tree.Expression) -> bool:
    """Tell a kernel by its block calls; it has no parameters."""
    if not isinstance(node, tree.Function) or node.is_lambda or node.is_async:
        return False
    calls = (each for each in walk(node) if isinstance(each, tree.Call))
    is_free = not node.decorators and not node.parameters
    return is_free and any(call.method in BLOCK_CALLS for call in calls)
