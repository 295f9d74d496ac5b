"""Nets whose sources receive what they send into the very block that they send.

    net.if_src(send)     # ttl.copy(block, pipe)
    net.if_dst(receive)  # ttl.copy(pipe, block)

Of a multicast whose range contains the source this sends before it posts, for which the source
would wait for ever. But its block has the data already: the pipes go to the others only.

rule PAIR    every if_dst() of the net in a kernel follows an if_src() of it in the same body, with
             nothing but definitions between, and the net is used for nothing else
rule SAME    one sends the block of a variable around it, the other only receives into that one
rule OTHERS  on the grid the source is the first or the last of the receivers, and none of the
             others is a source of the net
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from types import FunctionType

from ttl.diagnostics import Diagnostic, Label, codes
from ttl.language.operation import KernelFunction
from ttl.language.pipes import PipeNet, Route
from ttl.semantics.function_source import Definition, FunctionTree, definition_of, nodes_of
from ttl.semantics.types import Shape

from .functions import own_code
from .scopes import own_names, parameters

RECEIVING = (
    ast.Expr, ast.Assign, ast.Return, ast.Call, ast.Attribute, ast.Name, ast.Tuple, ast.List,
    ast.expr_context, ast.Constant, ast.arguments, ast.arg, ast.Lambda, ast.FunctionDef,
)  # fmt: skip


def nets_to_others(kernels: Iterable[KernelFunction], grid: Shape) -> frozenset[PipeNet]:
    """The nets whose pipes leave out their sources."""
    pairs: Counter[PipeNet] = Counter()
    refused: set[PipeNet] = set()
    for kernel in kernels:
        nets = {name: net for name, net in kernel.sees().items() if isinstance(net, PipeNet)}
        assert isinstance(kernel.function, FunctionType)
        tree = definition_of(own_code(kernel.function)) if nets else None
        if tree is not None:
            found = Counter(nets[name] for name in _pairs(tree) if name in nets)
            names = (node.id for node in nodes_of(tree) if isinstance(node, ast.Name))
            mentions = Counter(nets[name] for name in names if name in nets)
            refused |= {net for net in mentions if mentions[net] != 2 * found[net]}  # rule PAIR
            pairs += found
    return frozenset(net for net in pairs if net not in refused and _has_others(net.routes(grid)))


def own_sends_note(operation: str, nets: Iterable[PipeNet]) -> Diagnostic | None:
    spans = sorted(net.span for net in nets if net.span is not None)
    if not spans:
        return None
    labels = [Label(span, "the source is left out of `dst`") for span in spans]
    return Diagnostic(
        codes.SOURCE_LEFT_OUT,
        f"`{operation}` lets sources receive what they send into the block that they send",
        labels[0],
        tuple(labels[1:]),
        helps=("it does so here; other tools need a `dst` without the source: slice(1, n)",),
    )


def _is_name(node: ast.AST, names: Iterable[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _pairs(tree: FunctionTree) -> Iterator[str]:
    """The names of nets, one for each if_src() and if_dst() of one block."""
    for node in nodes_of(tree):
        for body in (getattr(node, part, None) for part in ("body", "orelse", "finalbody")):
            if isinstance(body, list):
                yield from _pairs_in(body)


def _pairs_in(body: list[ast.stmt]) -> Iterator[str]:
    functions: dict[str, Definition] = {}
    sent: tuple[str, str] | None = None  # the net, and the variable whose block is sent
    for statement in body:
        if isinstance(statement, Definition):
            functions[statement.name] = statement
            continue
        net, role, function = _role_call(statement, functions)
        if role == "if_dst" and sent == (net, _received(function)):
            yield net
        block = _sent(function) if role == "if_src" else None
        sent = (net, block) if block is not None else None


def _role_call(
    node: ast.stmt, functions: dict[str, Definition]
) -> tuple[str, str, FunctionTree | None]:
    """`net.if_src(f)`: the name of the net, the role, and the function."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return "", "", None
    net, given = call.func.value, call.args[0] if len(call.args) == 1 else None
    function = functions.get(given.id) if isinstance(given, ast.Name) else given
    if not isinstance(net, ast.Name) or not isinstance(function, FunctionTree):
        return "", "", None
    return net.id, call.func.attr, function


def _sent(function: FunctionTree | None) -> str | None:
    return _copied(function, pipe_is_source=False)


def _received(function: FunctionTree | None) -> str | None:
    """None if it does anything else as well."""
    if function is None:
        return None
    inside = [*nodes_of(function)]
    calls = [node.func for node in inside if isinstance(node, ast.Call)]
    others = [func for func in calls if getattr(func, "attr", "") not in ("copy", "wait")]
    if others or not all(isinstance(node, RECEIVING) for node in inside):
        return None
    return _copied(function, pipe_is_source=True)


def _copied(function: FunctionTree | None, pipe_is_source: bool) -> str | None:
    """The variable around the function whose block its only copy with the pipe has."""
    names = [] if function is None else list(parameters(function.args))
    if function is None or len(names) != 1:
        return None
    found = [
        node.args
        for node in nodes_of(function)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "copy"
        and len(node.args) == 2
        and any(_is_name(argument, names) for argument in node.args)
    ]
    if len(found) != 1:
        return None
    source, destination = found[0]
    pipe, block = (source, destination) if pipe_is_source else (destination, source)
    is_around = isinstance(block, ast.Name) and block.id not in own_names(function)
    return block.id if is_around and _is_name(pipe, names) else None  # type: ignore[attr-defined]


def _has_others(routes: tuple[Route, ...]) -> bool:  # rule OTHERS
    sources = {route.source for route in routes}
    others = [route.to_others().receivers for route in routes]
    is_at_end = all(r.source in (r.receivers[0], r.receivers[-1]) for r in routes)
    is_alike = len({bool(each) for each in others}) == 1
    return is_at_end and is_alike and sources.isdisjoint(node for each in others for node in each)
