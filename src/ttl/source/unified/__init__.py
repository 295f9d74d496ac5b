"""Unified operations: one body, whose statements are assigned to threads.

`reading.py` splits the statements into units, `assignment.py` gives them threads, `read_back.py`
keeps the order of copies that touch the same tile, `sections.py` lists the units of each kernel,
`splitting.py` makes the multi-kernel operation, which then runs and compiles like a handwritten
one.
"""

from collections.abc import Callable, Mapping

from ttl.language.operation import Operation

from .forms import is_multi_kernel


def body_of(operation: Operation, arguments: Mapping[str, object]) -> Callable[..., object]:
    """Return the function that runs when an operation is called: its own or the split body."""
    if is_multi_kernel(operation.function):
        return operation.function
    from .unify import unified_body  # most operations do not need it

    return unified_body(operation, arguments)
