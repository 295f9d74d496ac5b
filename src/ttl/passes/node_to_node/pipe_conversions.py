"""Conversions of operations on pipes; the protocol is in pipe_calls."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttkernel, ttl

from ..kernel.kernel_calls import KernelConverter, mark_pipe
from ..module_pass import Maker, compare_op, nothing, users_of
from .node_calls import load
from .pipe_calls import NetCalls, PipeCalls, Receive


def pipe_count(converter: KernelConverter, op: ttl.PipeCountOp, make: Maker) -> None:
    op.result.replace_all_uses_with(pipes_of(converter).net(op.net).count(op.role.data))


def has_role(converter: KernelConverter, op: ttl.RoleOp, make: Maker) -> None:
    net = pipes_of(converter).net(op.net)
    tests = [make.value(compare_op(net.count(role), make.index(0), "sgt")) for role in op.ROLES]
    result = tests[0] if len(tests) == 1 else make.value(arith.OrIOp(tests[0], tests[1]))
    op.result.replace_all_uses_with(result)


def local_pipe(converter: KernelConverter, op: ttl.LocalPipeOp, make: Maker) -> None:
    calls = pipes_of(converter)
    net = calls.net(op.net)
    assert isinstance(op.result.type, ttl.PipeType)
    role = op.result.type.role.data
    if op.written is not None:
        is_there = make.value(compare_op(op.place, net.count(role), "slt"))
        error = StringAttr(f"uses pipe {op.written.data} on a node that is not at that end")
        make.add(ttl.AssertOp.create(operands=[is_there], properties={"error": error}))
    calls.pipes[op.result] = net.pipe_at(make, role, op.place)


def pipe_value(converter: KernelConverter, op: ttl.PipeValueOp, make: Maker) -> None:
    pipe = pipes_of(converter).pipes[op.pipe]
    values = [int(number) for number in op.values.get_values()]
    name = op.result.name_hint or "end"
    op.result.replace_all_uses_with(pipe.look_up(values, name))


def copy_pipe(
    converter: KernelConverter, op: ttl.CopyOp, address: SSAValue, size: int, make: Maker
) -> None:
    calls = pipes_of(converter)
    assert op.pipe is not None
    pipe = calls.pipes[op.pipe]
    net, place = pipe.net.name, pipe.place
    if op.pipe is op.destination:
        mark_pipe(make, "pipe_send", net, place, size)
        pipe.net.send(make, pipe, address, size)
        calls.sends[op.transfer] = pipe
        return
    mark_pipe(make, "pipe_receive", net, place, size)
    number = pipe.net.post(make, pipe, address)
    calls.receives[op.transfer] = Receive(pipe.net, pipe.place, number)


def transfer_parts(converter: KernelConverter, op: ttl.TransferPartsOp, make: Maker) -> None:
    receive = pipes_of(converter).receives[op.transfer]
    op.place.replace_all_uses_with(receive.place)
    op.number.replace_all_uses_with(receive.number)


def transfer_of(converter: KernelConverter, op: ttl.TransferOfOp, make: Maker) -> None:
    calls = pipes_of(converter)
    calls.receives[op.transfer] = Receive(calls.net(op.net), op.place, op.number)


def wait_receive(converter: KernelConverter, transfer: SSAValue, make: Maker) -> None:
    receive = pipes_of(converter).receives.get(transfer)
    if receive is not None:  # otherwise no receive happened
        name, place = receive.net.name, receive.place
        mark_pipe(make, "await", name, place)
        receive.net.wait(make, place, receive.number)
        mark_pipe(make, "pipe_receive_end", name, place)


def wait_send(converter: KernelConverter, transfer: SSAValue, make: Maker) -> None:
    """Mark the end of a send, which was complete when it started."""
    pipe = pipes_of(converter).sends.get(transfer)
    if pipe is None:  # a loop or a branch carries it
        mark_pipe(make, "pipe_send_end")
    else:
        mark_pipe(make, "pipe_send_end", pipe.net.name, pipe.place)


def make_group(converter: KernelConverter, op: ttl.GroupOp, make: Maker) -> None:
    """Make an array for each net, with the last added post of each of the node's pipes."""
    calls = pipes_of(converter)
    adds = users_of(op.result, ttl.GroupAddOp)
    for symbol in dict.fromkeys(_net_of(add.transfer) for add in adds):
        if symbol is not None:
            net = calls.net(symbol)
            most = net.declaration.most_on_a_node("dst")
            name = f"{op.result.name_hint or 'group'}_{net.name}"
            calls.groups[op.result, net] = net.array(make, name, most)


def _net_of(transfer: SSAValue) -> SymbolRefAttr | None:
    """Return the net of a receive; None for other transfers."""
    op = transfer.owner
    if isinstance(op, ttl.TransferOfOp):
        return op.net
    if isinstance(op, ttl.CopyOp) and op.pipe is not None and op.pipe is op.source:
        assert isinstance(op.pipe.type, ttl.PipeType)
        return op.pipe.type.net
    return None


def add_to_group(converter: KernelConverter, op: ttl.GroupAddOp, make: Maker) -> None:
    calls = pipes_of(converter)
    receive = calls.receives.get(op.transfer)
    if receive is not None:
        array = calls.groups[op.group, receive.net]
        operands = [array, receive.place, receive.number]
        make.add(ttkernel.ArrayStoreOp.create(operands=operands))


def wait_receives(converter: KernelConverter, op: ttl.GroupWaitOp, make: Maker) -> None:
    calls = pipes_of(converter)
    for (group, net), array in calls.groups.items():
        if group is op.group:
            _wait_all(net, array, make)
    adds = users_of(op.group, ttl.GroupAddOp)
    sends = [calls.sends[add.transfer] for add in adds if add.transfer in calls.sends]
    for name in dict.fromkeys(pipe.net.name for pipe in sends):
        mark_pipe(make, "pipe_send_ends", name)


def _wait_all(net: NetCalls, array: SSAValue, make: Maker) -> None:
    def wait(inner: Maker, place: SSAValue) -> None:
        mark_pipe(inner, "await", net.name, place)
        net.wait(inner, place, load(inner, array, place, "post"))
        mark_pipe(inner, "pipe_receive_ends", net.name, place)

    make.for_each(0, net.count("dst"), "place", wait)


def pipes_of(converter: KernelConverter) -> PipeCalls:
    if converter.pipes is None:
        converter.pipes = PipeCalls(converter.nodes())
    return converter.pipes


PIPE_CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    ttl.PipeCountOp: pipe_count,
    ttl.LocalPipeOp: local_pipe,
    ttl.IsSrcOp: has_role,
    ttl.IsDstOp: has_role,
    ttl.IsActiveOp: has_role,
    ttl.PipeValueOp: pipe_value,
    ttl.NoTransferOp: nothing,
    ttl.TransferPartsOp: transfer_parts,
    ttl.TransferOfOp: transfer_of,
    ttl.GroupOp: make_group,
    ttl.GroupAddOp: add_to_group,
}
