"""Unified operations: the body is written once, its statements get a thread each.

`reading.py` makes units of the statements, `assignment.py` gives them threads, `read_back.py` keeps
the order of copies that touch the same tile, `sections.py` says what each kernel needs,
`splitting.py` makes the multi-kernel operation, which then runs and is compiled like one that was
written by hand.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ttl.language.operation import Operation

from .forms import is_multi_kernel


def body_of(operation: Operation, arguments: Mapping[str, object]) -> Callable[..., Any]:
    """What runs when an operation is called: its function, or that which its body becomes."""
    if is_multi_kernel(operation.function):
        return operation.function
    from .unify import unified_body  # what most operations do not need

    return unified_body(operation, arguments)
