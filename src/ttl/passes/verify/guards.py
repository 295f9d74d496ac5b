"""ttl-verify-pipenet-guards: check that each node only does what its pipe roles allow.

Types ensure that a send is in if_src() and a receive in if_dst(); the walk checks copies with a
pipe that the program names. This check finds nodes that wait for blocks which only nodes with a
role push.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import Operation

from ttl.diagnostics import Diagnostic, codes
from ttl.dialects import ttl
from ttl.dialects.building import around
from ttl.dialects.locations import span_of

from .events import Event, Node, WalkEventKind, events_of
from .walk import WalkedModule

ROLES = {"src": ("a source", "is_src"), "dst": ("a receiver", "is_dst")}


def check_guards(walked: WalkedModule) -> list[Diagnostic]:
    return list(_without_role(walked))


def _without_role(walked: WalkedModule) -> Iterator[Diagnostic]:
    """Find waits for blocks that only nodes with a role push."""
    if not walked.is_complete or not walked.names.pipes:
        return
    pushes = _first(walked, WalkEventKind.RESERVE)
    waits = _first(walked, WalkEventKind.WAIT)
    for buffer in range(len(walked.buffers)):
        pushing = {node for node, number in pushes if number == buffer}
        waiting = [node for node, number in waits if number == buffer and node not in pushing]
        if not pushing or not waiting:
            continue
        role = _role_around(pushes[min(pushing), buffer][1][2])
        if role is not None:
            kernel, event = waits[waiting[0], buffer]
            where = walked.nodes[waiting[0]]
            yield _wait_without_role(walked, kernel, event, where, role, len(waiting))


def _first(walked: WalkedModule, kind: WalkEventKind) -> dict[tuple[int, int], tuple[str, Event]]:
    """Return the first event of a kind, and its kernel, by node and buffer."""
    found: dict[tuple[int, int], tuple[str, Event]] = {}
    for node, traces in enumerate(walked.traces):
        for kernel, items in zip(walked.kernels, traces, strict=True):
            for event in events_of(items, kind):
                found.setdefault((node, event[1]), (kernel.name, event))
    return found


def _role_around(op: Operation) -> tuple[str, str] | None:
    """Return the net and the role that an operation needs."""
    for outer in around(op):
        if isinstance(outer, ttl.ForEachPipeOp):
            return outer.net.root_reference.data, outer.ROLE
        if isinstance(outer, scf.IfOp) and isinstance(outer.cond.owner, ttl.RoleOp):
            asked = outer.cond.owner
            if len(asked.ROLES) == 1:
                return asked.net.root_reference.data, asked.ROLES[0]
    return None


def _wait_without_role(
    walked: WalkedModule, kernel: str, event: Event, node: Node, role: tuple[str, str], count: int
) -> Diagnostic:
    net, kind = role
    name = walked.buffers[event[1]].name
    title, guard = ROLES[kind]
    return codes.DEADLOCK.broken(
        f"deadlock: `{kernel}` waits for a block of `{name}` on node {node}, which is not {title} "
        f"of `{net}`; only those push to it",
        f"write `if {net}.{guard}():` around what `{kernel}` does with the block",
        notes=(f"seen on {count} of {len(walked.nodes)} nodes; first on node {node}",),
        node=node,
    ).at(span_of(event[2].location), f"on node {node} no block ever comes")
