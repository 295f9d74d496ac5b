"""Nets whose sources may receive what they send into the very block that they send.

Such a receive comes after the send, which stands for the post of its own node, too: the block has
the data. Whether a transfer is of that kind is found where it happens: by the verifier's walk, and
at run time by counting (pipe_calls). Here is where it is worth looking.
rule ONE  one kernel alone posts through the net, and what it posts it also sends through it: where
          the other kernel of the node posts, a send can wait for that
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
        """By their values, or by their buffer where loops carry its blocks under other names."""
        blocks = [(ttl.buffer_name_of(block), block) for block in _blocks(kernel, net, role)]
        return {buffer if buffer in renamed else block for buffer, block in blocks}

    return not known("src").isdisjoint(known("dst"))


def _blocks(kernel: Operation, net: str, role: str) -> Iterator[SSAValue]:
    """Those that a kernel sends (`src`) or receives (`dst`) through the net."""
    for op in walk(kernel):
        if isinstance(op, ttl.CopyOp) and op.pipe is not None:
            pipe = op.pipe.type
            assert isinstance(pipe, ttl.PipeType)
            if (pipe.net.root_reference.data, pipe.role.data) == (net, role):
                yield op.source if role == "src" else op.destination
