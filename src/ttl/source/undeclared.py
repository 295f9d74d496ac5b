"""Functions of an operation that look like kernels, and that nobody declares or calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ttl.diagnostics import Diagnostic, Span, codes
from ttl.language.operation import Program
from ttl.semantics.function_source import definition_of, nodes_of

BLOCK_CALLS = ("wait", "reserve")


def undeclared_kernels(program: Program) -> Iterator[Diagnostic]:
    code = program.operation.function.__code__
    tree = definition_of(code)
    nodes = nodes_of(tree) if tree is not None else ()
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node is not tree and _is_kernel_like(node, used):
            broken = codes.UNDECLARED_KERNEL.broken(
                f"`{node.name}` uses blocks, but it is no kernel, and nobody calls it",
                "put @ttl.compute() or @ttl.datamovement() above it, or take it out",
            )
            line = node.lineno
            yield broken.at(Span(code.co_filename, line, node.col_offset + 1, line, 1 << 10))


def _is_kernel_like(node: ast.FunctionDef, used: set[str]) -> bool:
    """No kernel has parameters."""
    is_free = node.name not in used and not node.decorator_list and not ast.unparse(node.args)
    return is_free and any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in BLOCK_CALLS
        for call in ast.walk(node)
    )
