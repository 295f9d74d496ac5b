"""Find nets whose sources may receive their own data into the block they send.

Such a receive comes after the send, which also counts as its own node's post: the block has the
data. The verifier's walk decides whether a transfer is of this kind; at run time, counts decide
(pipe_calls). This module finds the nets where it is possible.

rule ONE  only one kernel posts through the net, and it also sends the blocks it posts: if the
          node's other kernel posts, a send can wait for that
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk

from .module_pass import kernels


def nets_to_themselves(module: ModuleOp) -> frozenset[str]:
    nets = [net for net in ttl.nets_of(module) if any(pipe.is_loopback for pipe in net.nodes)]
    return frozenset(net.sym_name.data for net in nets if _may_be_own(module, net.sym_name.data))


def _may_be_own(module: ModuleOp, net: str) -> bool:  # rule ONE
    posting = [each for each in kernels(module) if any(_blocks(each, net, "dst"))]
    if len(posting) != 1:
        return False
    kernel = posting[0]
    resumed = [op for op in walk(kernel) if isinstance(op, ttl.ReserveOp) and ttl.is_resumed(op)]
    renamed = {ttl.buffer_name(op.buffer) for op in resumed}

    def known(role: str) -> set[SSAValue | str]:
        """Return blocks by value, or by buffer if loops carry its blocks under other names."""
        blocks = [(ttl.buffer_name_of(block), block) for block in _blocks(kernel, net, role)]
        return {buffer if buffer in renamed else block for buffer, block in blocks}

    return not known("src").isdisjoint(known("dst"))


def _blocks(kernel: Operation, net: str, role: str) -> Iterator[SSAValue]:
    """Return the blocks a kernel sends (`src`) or receives (`dst`) through the net."""
    for op in walk(kernel):
        if isinstance(op, ttl.CopyOp) and op.pipe is not None:
            pipe = op.pipe.type
            assert isinstance(pipe, ttl.PipeType)
            if (pipe.net.root_reference.data, pipe.role.data) == (net, role):
                yield op.source if role == "src" else op.destination
