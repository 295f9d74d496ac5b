"""Checks at the end of a kernel: open transfers, held blocks and other leftovers."""

from __future__ import annotations

from types import FunctionType

from ttl.diagnostics import KernelFault, RuleBroken, codes
from ttl.language.kernels import kernel_returns_value
from ttl.language.signposts import without_with
from ttl.semantics.function_source import function_tree, returned_span
from ttl.semantics.ops.rules import shapeless_value
from ttl.source.functions import own_code

from .buffer import BufferEnd
from .faults import fault_at, fault_in
from .kernel import KernelRun
from .place import labels


def returned_value_fault(kernel: KernelRun) -> KernelFault:
    span = returned_span(own_code(kernel.function))
    return fault_in(kernel, kernel_returns_value(kernel.name), span)


def check_end(kernel: KernelRun) -> None:
    if kernel.exiting:
        kernel.refuse_nested_exit()
    if kernel.transfers:
        raise _open_transfers(kernel)
    if kernel.reserving or kernel.waiting:
        for end in (*kernel.reserving.values(), *kernel.waiting.values()):
            if end.acquired != end.released:
                _tolerate_held_block(kernel, end)
            elif _is_over(end.other, kernel):
                end.buffer.free_slots()
    for made, place in kernel.signposts.items():
        raise fault_at(kernel, without_with(made.name), place)
    for place in kernel.shapeless.values():
        raise fault_at(kernel, shapeless_value(), place)


def _is_over(end: BufferEnd, ending: KernelRun) -> bool:
    """Is this end done for good? A held block may still be written by another node."""
    user = end.kernel
    has_ended = user is not None and (user is ending or user.is_finished)
    return has_ended and end.acquired == end.released


def _open_transfers(kernel: KernelRun) -> KernelFault:
    first, *others = kernel.transfers
    broken = RuleBroken(
        codes.TRANSFER_NOT_WAITED,
        f"`{kernel.name}` ended while a transfer was under way",
        helps=("call wait() on what ttl.copy() returns",),
        notes=_without_source(kernel, "wait"),
        secondary=labels((other.place, "also not waited for") for other in others),
    )
    return fault_at(kernel, broken, first.place, "this transfer is never waited for")


def _tolerate_held_block(kernel: KernelRun, end: BufferEnd) -> None:
    block = end.oldest_held
    assert block is not None
    broken = RuleBroken(
        codes.BLOCK_NOT_RELEASED,
        f"`{kernel.name}` ended while it held a block of `{end.buffer.declared.name}`",
        helps=(f"call {end.release_call}() on it, or acquire it in a `with`",),
        notes=_without_source(kernel, "release"),
    )
    label = "acquired here and never released"
    kernel.simulation.tolerate(kernel, broken, block.place, label)


def _without_source(kernel: KernelRun, call: str) -> tuple[str, ...]:
    """Note that nothing could be inserted: the function's source is missing or was edited since."""
    assert isinstance(kernel.function, FunctionType)
    if function_tree(own_code(kernel.function)) is not None:
        return ()
    return (
        f"the source that `{kernel.name}` was loaded from is not available: no {call} could "
        "be supplied",
    )
