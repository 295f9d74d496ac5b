"""Expressions and statements nested more deeply than Python lets functions call each other.

Readers recurse into the parts of an expression. A sum of some hundred terms, which Python itself
runs, can end in a RecursionError of ours: the report shows the expression. A long chain of `elif`
can too, because each one is inside the one before.
"""

from __future__ import annotations

from collections.abc import Callable

from ttl.diagnostics import Span, UsageError, codes
from ttl.semantics.function_source import function_tree

from .functions import own_code, reachable_functions
from .read_expressions import Nest, deepest_nest

DEEP = 100  # far below what ends in an error
SHORTER = "add up in a loop, or store a part of it into a block"


def too_deep(operation: Callable[..., None]) -> UsageError | None:
    """Return the error for the deepest expression or statement of an operation, or of a function
    that it can call; None if there is no deep one."""
    found: list[Nest | None] = []
    for function in reachable_functions(operation):
        code = own_code(function)
        try:
            definition = function_tree(code)
        except RecursionError:  # Python loaded it, with fewer calls around
            message = f"an expression or a statement of `{function.__name__}` is too deep"
            return _refused(message, SHORTER, Span.of_instruction(code, 0))
        found += [] if definition is None else [deepest_nest(definition, code.co_filename)]
    deepest = max(filter(None, found), key=lambda nest: nest.depth, default=None)
    if deepest is None or deepest.depth < DEEP:
        return None
    return _refused(*_explained(deepest), Span.of_node(deepest.file, deepest.outermost))


def _refused(message: str, help_text: str, span: Span) -> UsageError:
    return UsageError(codes.NOT_IN_KERNELS.broken(message, help_text).at(span))


def _explained(nest: Nest) -> tuple[str, str]:
    if nest.is_expression:
        message = f"an expression of {nest.depth} operations inside each other is too deep"
        return message, SHORTER
    return (
        f"{nest.depth} statements inside each other are too deep; an `elif` is inside the `if` "
        "before it",
        "look the case up in a list or a dict, or put a part of it into a function",
    )
