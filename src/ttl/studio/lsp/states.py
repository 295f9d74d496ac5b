"""Finds the state of each block after each line of a kernel, from its statements in order.

Uses the transitions of the language's table, and assumes that every branch is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ttl.semantics.block_protocol import IN_WORDS, TRANSITIONS, Event, State
from ttl.source import tree
from ttl.source.bindings import Binding
from ttl.source.walking import children, stored, walk

ACQUIRES = {"reserve": State.MUST_WRITE, "wait": State.MUST_READ}
RELEASES = {"push": Event.PUSH, "pop": Event.POP}
ENDS = {"reserve": Event.PUSH, "wait": Event.POP}  # the event at the end of a `with`


@dataclass(slots=True)
class BlockStates:
    """Blocks of one function, and the transfers that use them."""

    states: dict[Binding, State] = field(default_factory=dict)
    transfers: dict[Binding | None, tuple[tuple[Binding, Event], ...]] = field(default_factory=dict)
    by_line: dict[int, dict[Binding, State]] = field(default_factory=dict)

    def step(self, block: Binding | None, event: Event) -> None:
        """Apply an event; ignore one that the table lacks, which other checks report."""
        if block in self.states:
            self.states[block] = TRANSITIONS.get((self.states[block], event), self.states[block])

    def keep(self, node: tree.Node) -> None:
        for line in range(node.lineno, node.end_lineno + 1):
            self.by_line[line] = dict(self.states)


def find_block_states(module: tree.Function) -> dict[int, dict[str, str]]:
    """Return the state of each block by line and name, in the table's letters and in words."""
    found: dict[int, dict[str, str]] = {}
    for node in walk(*module.body):
        if isinstance(node, tree.Function) and not node.is_lambda:
            kernel = BlockStates()
            _read(node.body, kernel)
            for line, states in kernel.by_line.items():
                shown = {each.name: f"{s.value} ({IN_WORDS[s]})" for each, s in states.items()}
                found.setdefault(line, {}).update(shown)
    return found


def _read(body: tree.Body, kernel: BlockStates) -> None:
    for statement in body:
        if isinstance(statement, tree.Foreign) or _is_definition(statement):
            continue  # another kernel or helper
        if isinstance(statement, tree.With):
            _with(statement, kernel)
            continue
        _simple(statement, kernel)
        _read(_inside(statement), kernel)


def _is_definition(node: tree.Statement) -> bool:
    value = node.value if isinstance(node, tree.Assign) else None
    return isinstance(value, tree.Function) and not value.is_lambda


def _inside(node: tree.Node) -> tree.Body:
    handlers = (each for each in children(node) if isinstance(each, tree.Handler))
    own = (each for each in children(node) if isinstance(each, tree.Statement))
    return (*own, *(each for handler in handlers for each in _inside(handler)))


def _with(statement: tree.With, kernel: BlockStates) -> None:
    held = []
    for item in statement.items:
        method = item.value.method if isinstance(item.value, tree.Call) else ""
        if isinstance(item.target, tree.Target) and method in ACQUIRES:
            kernel.states[item.target.binding] = ACQUIRES[method]
            held.append((item.target.binding, ENDS[method]))
            kernel.keep(item.value)
    _read(statement.body, kernel)
    for block, release in held:
        kernel.step(block, release)


def _simple(statement: tree.Statement, kernel: BlockStates) -> None:
    nodes = [node for part in children(statement) for node in _walk_evaluated(part)]
    (target, *_) = (*(each for each in stored(statement) if isinstance(each, tree.Target)), None)
    name = None if target is None else target.binding
    for node in nodes:
        if isinstance(node, tree.Call):
            _call(node, name, kernel)
    if isinstance(statement, tree.Update):
        kernel.step(name, Event.ACCUMULATE)
    for operand in _operands(nodes):
        kernel.step(operand, Event.READ)
    value = statement.value if isinstance(statement, tree.Assign) else None
    if name is not None and isinstance(value, tree.Call) and value.method in ACQUIRES:
        kernel.states[name] = ACQUIRES[value.method]
    kernel.keep(statement)


def _walk_evaluated(node: tree.Node) -> Iterator[tree.Node]:
    """Yield the nodes in evaluation order, without statements."""
    if not isinstance(node, (tree.Statement, tree.Handler)):
        for child in children(node):
            yield from _walk_evaluated(child)
        yield node


def _call(node: tree.Call, assigned: Binding | None, kernel: BlockStates) -> None:
    method, made = node.method, getattr(node.function, "owner", None)
    owner = made.binding if isinstance(made, tree.Name) else None
    if method == "copy" and len(node.arguments) == 2:
        _copy(node, assigned, kernel)
    elif method == "wait" and owner is not None and owner in kernel.transfers:
        _end(kernel, owner)
    elif method == "wait" and isinstance(made, tree.Call) and made.method == "copy":
        _end(kernel, assigned)
    elif method == "store" and owner in kernel.states:
        for operand in _operands(
            [each for part in node.arguments for each in _walk_evaluated(part)]
        ):
            kernel.step(operand, Event.READ)
        kernel.step(owner, Event.STORE)
    elif method in RELEASES and owner in kernel.states:
        kernel.step(owner, RELEASES[method])


def _copy(node: tree.Call, assigned: Binding | None, kernel: BlockStates) -> None:
    source, target = (getattr(each, "binding", None) for each in node.arguments)
    ends = []
    if target in kernel.states:
        kernel.step(target, Event.COPY_INTO)
        ends.append((target, Event.COPY_INTO_DONE))
    if source in kernel.states:
        kernel.step(source, Event.COPY_FROM)
        ends.append((source, Event.COPY_FROM_DONE))
    kernel.transfers[assigned] = tuple(ends)


def _end(kernel: BlockStates, transfer: Binding | None) -> None:
    for block, event in kernel.transfers.pop(transfer, ()):
        kernel.step(block, event)


def _operands(nodes: Iterable[tree.Node]) -> Iterator[Binding]:
    """Yield the variables in expressions that compute: operands, and arguments of ttl.math."""
    for node in nodes:
        parts: Iterable[tree.Node] = ()
        if isinstance(node, (tree.Binary, tree.Compare, tree.Unary)):
            parts = children(node)
        elif isinstance(node, tree.Call) and node.method not in ("copy", "store"):
            parts = node.arguments
        yield from (each.binding for each in parts if isinstance(each, tree.Name))
