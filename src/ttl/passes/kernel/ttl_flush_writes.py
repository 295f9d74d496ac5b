"""ttl-flush-writes: let a writer wait only until its block may be reused.

A barrier waits until the memory has acknowledged each page. If a kernel only writes, to tensors
that no kernel reads in the launch, no other can look before its end: there it waits for all
acknowledgments at once, and until then only for data to leave the node.

rule UNREAD  no kernel copies from the tensor, and no buffer is in its shards
rule QUIET   the kernel reads no tensor, which could be the same one under another name, and signals
             no other kernel
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, UnitAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.ttkernel import processor_of

from ..module_pass import kernels, users_of

FLUSH = "ttl.flush"  # on a wait: the source may be reused, but the data may not have arrived


def apply(op: ModuleOp) -> None:
    movers = [kernel for kernel in kernels(op) if processor_of(kernel) != "compute"]
    copied = {_position(tensor) for kernel in movers for tensor in _tensors_read(kernel)}
    read = copied | ttl.backing_tensors(op)
    for kernel in movers:
        if _is_quiet(kernel):
            for wait in walk(kernel):
                if _waits_for_writes(wait, read):
                    wait.attributes[FLUSH] = UnitAttr()


def _tensors_read(kernel: func.FuncOp) -> list[SSAValue]:
    copies = [op for op in walk(kernel) if isinstance(op, ttl.CopyOp)]
    sources = [copy.source.owner for copy in copies if copy.pipe is None]
    return [source.tensor for source in sources if isinstance(source, ttl.TensorSliceOp)]


def _position(tensor: SSAValue) -> Attribute:
    """Return which of the operation's tensors a kernel's argument is."""
    assert isinstance(tensor, BlockArgument)
    kernel = tensor.block.parent_op()
    assert kernel is not None
    positions = kernel.attributes["ttl.crta_indices"]
    assert isinstance(positions, ArrayAttr)
    position: Attribute = positions.data[tensor.index]
    return position


def _is_quiet(kernel: func.FuncOp) -> bool:
    """Does the kernel neither read tensors nor reach other nodes? (rule QUIET)"""
    return not _tensors_read(kernel) and not any(map(_reaches_others, walk(kernel)))


def _reaches_others(op: Operation) -> bool:
    if isinstance(op, ttl.CopyOp):
        return op.pipe is not None
    return isinstance(op, (ttl.MulticastOp, ttl.SemaphoreOp))


def _waits_for_writes(op: Operation, read: set[Attribute]) -> bool:
    if isinstance(op, ttl.WaitTransferOp):
        transfers = [op.transfer]
    elif isinstance(op, ttl.GroupWaitOp):
        transfers = [add.transfer for add in users_of(op.group, ttl.GroupAddOp)]
    else:
        return False
    return all(_is_unread_write(transfer, read) for transfer in transfers)


def _is_unread_write(transfer: SSAValue, read: set[Attribute]) -> bool:
    copy = transfer.owner
    if not isinstance(copy, ttl.CopyOp):  # a loop carries it
        return False
    part = copy.destination.owner
    return isinstance(part, ttl.TensorSliceOp) and _position(part.tensor) not in read
