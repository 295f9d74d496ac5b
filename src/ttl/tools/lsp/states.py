"""In which state each block is after each line of a kernel, read off its statements in their order.

The transitions are those of the language's table; what a branch does is taken as done.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ttl.semantics.block_protocol import IN_WORDS, TRANSITIONS, Event, State

ACQUIRES = {"reserve": State.MUST_WRITE, "wait": State.MUST_READ}
RELEASES = {"push": Event.PUSH, "pop": Event.POP}


@dataclass(slots=True)
class Kernel:
    """The blocks of one function, and the transfers that use them."""

    states: dict[str, State] = field(default_factory=dict)
    transfers: dict[str, tuple[tuple[str, Event], ...]] = field(default_factory=dict)
    by_line: dict[int, dict[str, State]] = field(default_factory=dict)

    def step(self, block: str, event: Event) -> None:
        """What the table does not have is somebody else's to report."""
        self.states[block] = TRANSITIONS.get((self.states[block], event), self.states[block])


def block_states(text: str) -> dict[int, dict[str, str]]:
    """By line, then by name: the state in the table's letters and in words."""
    found: dict[int, dict[str, str]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            kernel = Kernel()
            _read(node.body, kernel)
            for line, states in kernel.by_line.items():
                shown = {n: f"{s.value} ({IN_WORDS[s]})" for n, s in states.items()}
                found.setdefault(line, {}).update(shown)
    return found


def _read(body: list[ast.stmt], kernel: Kernel) -> None:
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            continue  # a kernel, or a helper, of its own
        if isinstance(statement, ast.With):
            _with(statement, kernel)
            continue
        _simple(statement, kernel)
        for part in ("body", "orelse", "finalbody"):
            _read(getattr(statement, part, []), kernel)


def _with(statement: ast.With, kernel: Kernel) -> None:
    held = []
    for item in statement.items:
        name = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else ""
        method = _method(item.context_expr)
        if name and method in ACQUIRES:
            kernel.states[name] = ACQUIRES[method]
            held.append((name, Event.PUSH if method == "reserve" else Event.POP))
            _keep(item.context_expr, kernel)
    _read(statement.body, kernel)
    for name, release in held:
        kernel.step(name, release)


def _simple(statement: ast.stmt, kernel: Kernel) -> None:
    for node in _calls(statement):
        _call(node, statement, kernel)
    if isinstance(statement, ast.AugAssign):
        target = getattr(statement.target, "id", "")
        if target in kernel.states:
            kernel.step(target, Event.ACCUMULATE)
    for name in _read_names(statement):
        if name in kernel.states:
            kernel.step(name, Event.READ)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        method = _method(statement.value)
        if method in ACQUIRES and isinstance(statement.value, ast.Call):
            kernel.states[statement.targets[0].id] = ACQUIRES[method]
    _keep(statement, kernel)


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """The innermost first, without those of statements inside."""
    parts = (each for part in ("body", "orelse") for each in _list(statement, part))
    inside = {id(node) for part in parts for node in ast.walk(part)}
    found = [n for n in ast.walk(statement) if isinstance(n, ast.Call) and id(n) not in inside]
    return reversed(found)


def _list(statement: ast.stmt, part: str) -> list[ast.stmt]:
    found = getattr(statement, part, [])
    return found if isinstance(found, list) else []


def _call(node: ast.Call, statement: ast.stmt, kernel: Kernel) -> None:
    method, owner = _method(node), _owner(node)
    if method == "copy" and len(node.args) == 2:
        _copy(node, statement, kernel)
    elif method == "wait" and owner in kernel.transfers:
        _end(kernel, owner)
    elif method == "wait" and _method(_value_of(node)) == "copy":
        _end(kernel, "")
    elif method == "store" and owner in kernel.states:
        for name in _read_names(node.args[0]) if node.args else ():
            if name in kernel.states:
                kernel.step(name, Event.READ)
        kernel.step(owner, Event.STORE)
    elif method in RELEASES and owner in kernel.states:
        kernel.step(owner, RELEASES[method])


def _copy(node: ast.Call, statement: ast.stmt, kernel: Kernel) -> None:
    source, target = (each.id if isinstance(each, ast.Name) else "" for each in node.args)
    ends = []
    if target in kernel.states:
        kernel.step(target, Event.COPY_INTO)
        ends.append((target, Event.COPY_INTO_DONE))
    if source in kernel.states:
        kernel.step(source, Event.COPY_FROM)
        ends.append((source, Event.COPY_FROM_DONE))
    is_named = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    name = statement.targets[0].id if is_named else ""  # type: ignore[attr-defined]
    kernel.transfers[name] = tuple(ends)


def _end(kernel: Kernel, transfer: str) -> None:
    for block, event in kernel.transfers.pop(transfer, ()):
        kernel.step(block, event)


def _read_names(node: ast.AST) -> list[str]:
    """Names in expressions that compute: operands, and arguments of ttl.math."""
    found = []
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp | ast.Compare | ast.UnaryOp):
            operands = [n for n in ast.iter_child_nodes(each) if isinstance(n, ast.Name)]
            found += [operand.id for operand in operands]
        elif isinstance(each, ast.Call) and _method(each) not in ("copy", "store"):
            found += [argument.id for argument in each.args if isinstance(argument, ast.Name)]
    return found


def _keep(node: ast.AST, kernel: Kernel) -> None:
    for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):  # type: ignore[attr-defined]
        kernel.by_line[line] = dict(kernel.states)


def _method(node: ast.AST | None) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else ""


def _value_of(node: ast.Call) -> ast.AST | None:
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def _owner(node: ast.Call) -> str:
    owner = _value_of(node)
    return owner.id if isinstance(owner, ast.Name) else ""
