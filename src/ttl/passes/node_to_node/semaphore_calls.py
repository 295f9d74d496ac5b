"""Convert semaphore operations to calls of the chip.

A change on another node is complete when its call returns: a later one of another kind, such as a
write after an increment, could overtake it.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl

from ..kernel.kernel_calls import KernelConverter, call, mark
from ..module_pass import Maker
from .node_calls import Corners, node_count


def _address(converter: KernelConverter, op: ttl.SemaphoreOp, make: Maker) -> SSAValue:
    index = op.declaration.index
    assert index is not None, "ttl-assign-pipe-resources has run"
    return converter.nodes().semaphore(make, make.index(index.value.data), _name(op))


def _name(op: ttl.SemaphoreOp) -> str:
    return op.semaphore.root_reference.data


def wait(converter: KernelConverter, op: ttl.SemaphoreWaitOp, make: Maker) -> None:
    word = converter.nodes().word(make, _address(converter, op, make))
    name = "noc_semaphore_wait" if op.at_least is None else "noc_semaphore_wait_min"
    mark(make, "await", _name(op))
    call(make, name, word, op.value)
    mark(make, "semaphore_wait", _name(op), op.value)


def set_own(converter: KernelConverter, op: ttl.SemaphoreOp, make: Maker) -> None:
    word = converter.nodes().word(make, _address(converter, op, make))
    call(make, "noc_semaphore_set", word, op.value)
    mark(make, "semaphore_set", _name(op), op.value)


def set_remote(converter: KernelConverter, op: ttl.SemaphoreOp, make: Maker) -> None:
    call(make, "noc_inline_dw_write<InlineWriteDst::L1>", _there(converter, op, make), op.value)
    call(make, "noc_async_write_barrier")
    mark(make, "semaphore_set", _name(op), op.value)


def inc_remote(converter: KernelConverter, op: ttl.SemaphoreOp, make: Maker) -> None:
    call(make, "noc_semaphore_inc", _there(converter, op, make), op.value)
    call(make, "noc_async_atomic_barrier")
    mark(make, "semaphore_inc", _name(op), op.value)


def _there(converter: KernelConverter, op: ttl.SemaphoreOp, make: Maker) -> SSAValue:
    x, y = op.place
    address = _address(converter, op, make)
    return converter.nodes().on_node(make, (x, y), address, f"remote_{address.name_hint}")


def set_multicast(converter: KernelConverter, op: ttl.SemaphoreOp, make: Maker) -> None:
    """Set with the loopback form, which is correct whether or not the node is in the rectangle."""
    nodes = converter.nodes()
    address, staging = _address(converter, op, make), nodes.staging(make)
    call(make, "noc_semaphore_set", nodes.word(make, staging), op.value)
    corners: Corners = tuple(op.place)  # type: ignore[assignment]
    there = nodes.on_nodes(make, corners, address, f"remote_{address.name_hint}")
    count = node_count(make, corners)
    call(make, "noc_semaphore_set_multicast_loopback_src", staging, there, count)
    call(make, "noc_async_write_barrier")
    mark(make, "semaphore_set", _name(op), op.value)


SEMAPHORE_CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    ttl.SemaphoreWaitOp: wait,
    ttl.SemaphoreSetOp: set_own,
    ttl.SemaphoreSetRemoteOp: set_remote,
    ttl.SemaphoreIncRemoteOp: inc_remote,
    ttl.SemaphoreSetMulticastOp: set_multicast,
}
