"""A kernel that waits for its send before it posts its receive, written in an order that works.

rule POST FIRST  the received block is not the one that is sent: if_dst() posts, if_src() sends, and
                 what was received is read after all of it was waited for
rule TWO HALVES  the received block is the one that is sent: the operation's second data movement
                 kernel receives, into a dataflow buffer of its own
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from .span import Span

_POSTS = "posts"
_Tree = TypeVar("_Tree", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class _Roles:
    """`net.if_src(send)` followed by `net.if_dst(receive)`, and what the two functions copy."""

    net: str
    send: ast.FunctionDef
    receive: ast.FunctionDef
    send_call: ast.Expr
    receive_call: ast.Expr
    sent: str
    received: str


def reordered_kernel(place: Span) -> str | None:
    """The kernel around a wait for a send, in a legal order; None if it is of another form."""
    text = "".join(linecache.getlines(place.file))
    try:
        around = list(_functions_around(ast.parse(text), place.line))
    except SyntaxError:  # the file has changed, or is not Python alone
        return None
    at = next((n for n, found in enumerate(around) if _is_kernel(found)), None)
    roles = None if at is None else _find_roles(around[at])
    if at is None or roles is None:
        return None
    if roles.sent != roles.received:
        return ast.unparse(_post_first(copy.deepcopy(around[at])))
    return _two_halves(around[at - 1], around[at], roles) if at else None


def _functions_around(tree: ast.AST, line: int) -> Iterator[ast.FunctionDef]:
    """From the outermost to the innermost."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            yield node


def _is_kernel(function: ast.FunctionDef) -> bool:
    return any("datamovement" in ast.unparse(name) for name in function.decorator_list)


# What the kernel does -----------------------------------------------------------------------------


def _find_roles(kernel: ast.FunctionDef) -> _Roles | None:
    functions = {n.name: n for n in ast.walk(kernel) if isinstance(n, ast.FunctionDef)}
    calls = {
        role: [(found, call) for found in ast.walk(kernel) if (call := _role_call(found, role))]
        for role in ("if_src", "if_dst")
    }
    if len(calls["if_src"]) != 1 or len(calls["if_dst"]) != 1:
        return None
    (send_call, (net, sender)), (receive_call, (other_net, receiver)) = (
        calls["if_src"][0], calls["if_dst"][0]
    )  # fmt: skip
    send, receive = functions.get(sender), functions.get(receiver)
    if net != other_net or send is None or receive is None:
        return None
    sent, received = _copied(send, 0), _copied(receive, 1)
    if sent is None or received is None:
        return None
    assert isinstance(send_call, ast.Expr) and isinstance(receive_call, ast.Expr)
    return _Roles(net, send, receive, send_call, receive_call, sent, received)


def _role_call(node: ast.AST, role: str) -> tuple[str, str] | None:
    """The net and the function of a statement `net.if_src(function)`."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(net, found), [ast.Name(function)])) if found == role:
            return ast.unparse(net), function
    return None


def _copied(function: ast.FunctionDef, block_at: int) -> str | None:
    """The block that is copied to or from the pipe, which is the function's parameter."""
    pipe = function.args.args[0].arg
    for node in ast.walk(function):
        if call := _copy_call(node):
            block, other = call.args[block_at], call.args[1 - block_at]
            if isinstance(other, ast.Name) and other.id == pipe and isinstance(block, ast.Name):
                return block.id
    return None


def _copy_call(node: ast.AST | None) -> ast.Call | None:
    match node:
        case ast.Call(ast.Attribute(_, "copy") | ast.Name("copy"), [_, _]):
            return node
    return None


# Rule POST FIRST ----------------------------------------------------------------------------------


def _post_first(kernel: ast.FunctionDef) -> ast.FunctionDef:
    roles = _find_roles(kernel)
    assert roles is not None
    read = _split_receive(roles.receive)
    group = ast.parse(f"{_POSTS} = ttl.GroupTransfer()").body
    waiting = ast.parse(f"{_POSTS}.wait_all()").body
    if read is not None:
        waiting += [read, *ast.parse(f"{roles.net}.if_dst({read.name})").body]

    def reorder(body: list[ast.stmt]) -> list[ast.stmt]:
        if roles.send_call in body and roles.receive_call in body:
            at = body.index(roles.send_call)
            after = [found for found in body[at + 1 :] if found is not roles.receive_call]
            defined = [found for found in after if isinstance(found, ast.FunctionDef)]
            return [*body[:at], *defined, *group, roles.receive_call, roles.send_call, *waiting,
                    *(found for found in after if found not in defined)]  # fmt: skip
        return body

    return _rewrite_bodies(kernel, reorder)


def _split_receive(receive: ast.FunctionDef) -> ast.FunctionDef | None:
    """`receive` only posts from now on; the function that does what follows its wait."""
    pipe = receive.args.args[0].arg
    for at, statement in enumerate(receive.body):
        call = next(filter(None, map(_copy_call, ast.walk(statement))), None)
        if call is None or not (isinstance(call.args[0], ast.Name) and call.args[0].id == pipe):
            continue
        rest = receive.body[at + 1 :]
        if isinstance(statement, ast.Assign) and rest:  # its wait
            rest = rest[1:]
        post = ast.parse(f"{_POSTS}.add({ast.unparse(call)})").body
        receive.body = [*receive.body[:at], *post]
        if rest:
            read = copy.deepcopy(receive)
            read.name, read.body = "read_received", rest
            return read
        return None
    return None


# Rule TWO HALVES ----------------------------------------------------------------------------------


def _two_halves(operation: ast.FunctionDef, kernel: ast.FunctionDef, roles: _Roles) -> str | None:
    if sum(isinstance(n, ast.FunctionDef) and _is_kernel(n) for n in ast.walk(operation)) != 1:
        return None
    sending = _without(kernel, roles.receive.name, "if_dst")
    receiving = _without(kernel, roles.send.name, "if_src")
    buffer = _buffer_of(receiving, roles.received)
    declared = next((n for n in operation.body if _declares(n, buffer)), None)
    if buffer is None or declared is None:
        return None
    receiving.name = f"{kernel.name}_receive"
    own = f"{buffer}_received"
    halves = [declared, _renamed(declared, buffer, own), sending, _renamed(receiving, buffer, own)]
    return "\n".join(map(ast.unparse, halves))


def _without(kernel: ast.FunctionDef, function: str, role: str) -> ast.FunctionDef:
    def keep(body: list[ast.stmt]) -> list[ast.stmt]:
        return [
            found
            for found in body
            if not (isinstance(found, ast.FunctionDef) and found.name == function)
            and _role_call(found, role) is None
        ]

    return _rewrite_bodies(copy.deepcopy(kernel), keep)


def _buffer_of(kernel: ast.FunctionDef, block: str) -> str | None:
    """The name of the buffer that `block` is reserved in."""
    for node in ast.walk(kernel):
        match node:
            case (
                ast.withitem(ast.Call(ast.Attribute(ast.Name(buffer), _)), ast.Name(name))
                | ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name(buffer), _)))
            ) if name == block:
                return buffer
    return None


def _declares(statement: ast.stmt, name: str | None) -> bool:
    match statement:
        case ast.Assign([ast.Name(found)]):
            return found == name
    return False


def _renamed(tree: _Tree, old: str, new: str) -> _Tree:
    tree = copy.deepcopy(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return tree


def _rewrite_bodies(
    kernel: ast.FunctionDef, rewrite: Callable[[list[ast.stmt]], list[ast.stmt]]
) -> ast.FunctionDef:
    for node in ast.walk(kernel):
        if isinstance(node, ast.FunctionDef | ast.With | ast.For | ast.If | ast.While):
            node.body = rewrite(node.body)
    return kernel
