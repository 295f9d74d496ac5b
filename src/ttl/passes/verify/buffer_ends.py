"""Exactly one kernel reserves blocks of a dataflow buffer, and exactly one waits for them.

Acquires under a condition may be on different nodes: those the run judges.
"""

from __future__ import annotations

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ttl.diagnostics import CompileError, Diagnostic, Label, RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.locations import span_of

from ..module_pass import kernels


def verify_buffer_ends(module: ModuleOp) -> None:
    """Raise CompileError with every end that two kernels use."""
    users: dict[tuple[str, str], tuple[str, ttl.AcquireOp]] = {}
    mistakes: dict[tuple[str, str], Diagnostic] = {}
    for kernel in kernels(module):
        for op in kernel.walk():
            if not isinstance(op, ttl.AcquireOp) or _is_conditional(op):
                continue
            end = _end(op)
            name, first = users.setdefault(end, (kernel.sym_name.data, op))
            if name != kernel.sym_name.data:
                mistakes.setdefault(end, _second_kernel(end, name, first, op))
    if mistakes:
        raise CompileError(*mistakes.values())


def _end(op: ttl.AcquireOp) -> tuple[str, str]:
    bind = op.buffer.owner
    assert isinstance(bind, ttl.BindBufferOp)
    return bind.buffer.root_reference.data, "reserve" if isinstance(op, ttl.ReserveOp) else "wait"


def _is_conditional(op: Operation) -> bool:
    around = op.parent_op()
    while around is not None and not isinstance(around, func.FuncOp):
        if isinstance(around, scf.IfOp):
            return True
        around = around.parent_op()
    return False


def _second_kernel(
    end: tuple[str, str], name: str, first: Operation, op: Operation
) -> Diagnostic:
    buffer, call = end
    place = span_of(first.location)
    broken = RuleBroken(
        codes.BUFFER_ENDS,
        f"two kernels call {call}() on `{buffer}`; the other one is `{name}`",
        helps=("give each of the kernels a dataflow buffer of its own",),
        secondary=(Label(place, f"`{name}` calls {call}() here"),) if place is not None else (),
    )
    return broken.at(span_of(op.location))
