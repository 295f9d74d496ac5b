"""Let dataflow buffers share a circular buffer.

rule REUSE     compiler buffers of one type that never hold values at the same time are one.

If there are still more buffers than the chip has, or too little memory, because of the compiler's
buffers:

rule FORMAT    buffers of one format, including the user's, that only the compute kernel uses and
               that never hold blocks at the same time are one, as large as the largest.

After that, some buffers between two kernels also share one (shared_links).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import cycle

from xdsl.dialects.builtin import ModuleOp

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import kernels, not_yet, target_of
from ..verify.ttl_validate_cb_budget import budget_bytes
from .shared_links import AFTER, LOCKSTEP, ROUND, share_links
from .united_buffers import (
    CONSUMER,
    PRODUCER,
    Kind,
    bindings,
    declarations_of,
    format_of,
    is_plain,
    lives_of,
    type_of,
    unite,
    users_in_kernel,
)


def share_buffers(module: ModuleOp) -> None:
    declared = declarations_of(module)
    compilers = [name for name, op in declared.items() if op.compiler_allocated is not None]
    _share_in_time(module, compilers, type_of)
    if compilers and _is_too_large(module):
        _share_in_time(module, [*compilers, *_private(module)], _ring_of)
    most = target_of(module).dataflow_buffers
    if len(declarations_of(module)) <= most or len(declared) - len(compilers) > most:
        return
    _share_in_time(module, [*compilers, *_private(module)], format_of)
    for kind in (type_of, format_of):
        for way in (LOCKSTEP, ROUND, AFTER):
            share_links(module, kind, way, most)
    _check_count(module, most)


def _check_count(module: ModuleOp, most: int) -> None:
    declared = declarations_of(module)
    if len(declared) <= most:
        return
    added = [
        bind
        for kernel in kernels(module, "compute")
        for _, _, name, bind in lives_of(kernel)
        if declared[name].compiler_allocated is not None
    ]
    raise not_yet(
        f"expressions whose values need {len(added)} buffers, beside the declared ones, where a "
        f"node has {most - len(declared) + len(added)} left",
        min(users_in_kernel(added[-1].result), key=list(walk(module)).index),
        "use one dataflow buffer for several tensors that have the same block shape",
    )


def _is_too_large(module: ModuleOp) -> bool:
    sizes = [op.size_bytes for op in declarations_of(module).values()]
    return sum(sizes) > budget_bytes(module)


def _ring_of(declaration: ttl.DeclareBufferOp) -> Hashable:
    """Return format and block count: sharing needs no more memory than each buffer alone."""
    return format_of(declaration), declaration.type.block_count


# rule REUSE and rule FORMAT -----------------------------------------------------------------------


def _share_in_time(module: ModuleOp, names: Iterable[str], kind: Kind) -> None:
    """Give each buffer, in order of first use, the first shared one that is free by then."""
    declared = declarations_of(module)
    names = [name for name in names if name in declared]
    for kernel in kernels(module, "compute") if len(names) > 1 else ():
        shared: list[tuple[int, list[str]]] = []  # end of the last use, and buffers
        for first, last, name, _ in lives_of(kernel):
            if name not in names:
                continue
            for number, (end, group) in enumerate(shared):
                if end < first and kind(declared[name]) == kind(declared[group[0]]):
                    shared[number] = (last, [*group, name])
                    break
            else:
                shared.append((last, [name]))
        for _, group in shared:
            if len(group) > 1:
                unite(module, group, max)


def _private(module: ModuleOp) -> list[str]:
    """Return the user's buffers that only the compute kernel uses, one block at a time: they are
    empty except between a block's reserve and pop.
    """
    users = Counter(ttl.buffer_name(op.result) for k in kernels(module) for op in bindings(k))
    return [
        name
        for kernel in kernels(module, "compute")
        for _, _, name, bind in lives_of(kernel)
        if users[name] == 1 and is_plain(bind) and _has_a_block_at_a_time(bind)
    ]


def _has_a_block_at_a_time(bind: ttl.BindBufferOp) -> bool:
    uses = set(users_in_kernel(bind.result))
    for block in {op.parent for op in uses if op.parent is not None}:
        inside = [op for op in block.ops if op in uses]
        steps = (*PRODUCER, *CONSUMER)
        if not all(isinstance(op, kind) for op, kind in zip(inside, cycle(steps), strict=False)):
            return False
        if len(inside) % 4:
            return False
    return True
