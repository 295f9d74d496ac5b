"""A kernel that waits for its send before it posts its receive, written in an order that works.

rule POST FIRST  the received block is not the one that is sent: if_dst() posts, if_src() sends, and
                 what was received is read after all of it was waited for
rule TWO HALVES  the received block is the one that is sent: the operation's second data movement
                 kernel receives, into a dataflow buffer of its own
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ttl.diagnostics import Span
from ttl.source import tree
from ttl.source.bindings import Around, Binding, Variable
from ttl.source.python import as_text
from ttl.source.read import read_module
from ttl.source.walking import Changer, copy_with, walk

_POSTS = Around("posts")
Body = tree.Body


@dataclass(frozen=True, slots=True)
class _Roles:
    """`net.if_src(send)` followed by `net.if_dst(receive)`, and what the two functions copy."""

    send: tree.Assign
    receive: tree.Assign
    send_call: tree.Evaluate
    receive_call: tree.Evaluate
    sent: Binding
    received: Binding


def reordered_kernel(place: Span) -> str | None:
    """The kernel around a wait for a send, in a legal order; None if it is of another form."""
    try:
        module = read_module("".join(linecache.getlines(place.file)))
    except SyntaxError:  # the file has changed, or is not Python alone
        return None
    around = list(_definitions_around(module, place.line))
    at = next((n for n, found in enumerate(around) if _is_kernel(found)), None)
    roles = None if at is None else _find_roles(around[at])
    if at is None or roles is None:
        return None
    if roles.sent is not roles.received:
        return as_text(_post_first(around[at], roles))
    return _two_halves(_function(around[at - 1]), around[at], roles) if at else None


def _definitions(node: tree.Node) -> Iterator[tree.Assign]:
    for each in walk(node):
        value = each.value if isinstance(each, tree.Assign) else None
        if isinstance(value, tree.Function) and not value.is_lambda:
            yield each  # type: ignore[misc]


def _definitions_around(module: tree.Function, line: int) -> Iterator[tree.Assign]:
    """From the outermost to the innermost."""
    return (each for each in _definitions(module) if each.lineno <= line <= each.end_lineno)


def _function(definition: tree.Statement) -> tree.Function:
    assert isinstance(definition, tree.Assign) and isinstance(definition.value, tree.Function)
    return definition.value


def _name(definition: tree.Assign) -> Binding:
    (target,) = definition.targets
    assert isinstance(target, tree.Target)
    return target.binding


def _is_kernel(definition: tree.Assign) -> bool:
    return any("datamovement" in as_text(each) for each in _function(definition).decorators)


# What the kernel does -----------------------------------------------------------------------------


def _find_roles(kernel: tree.Assign) -> _Roles | None:
    functions = {_name(each): each for each in _definitions(kernel)}
    sends, receives = ([n for n in walk(kernel) if _role(n, role)] for role in ("if_src", "if_dst"))
    if len(sends) != 1 or len(receives) != 1:
        return None
    (net, sender), (other_net, receiver) = _called(sends[0]), _called(receives[0])
    send, receive = functions.get(sender), functions.get(receiver)
    if net != other_net or send is None or receive is None:
        return None
    sent, received = _copied(_function(send), 0), _copied(_function(receive), 1)
    if sent is None or received is None:
        return None
    return _Roles(send, receive, sends[0], receives[0], sent, received)  # type: ignore[arg-type]


def _role(node: tree.Node, role: str) -> bool:
    """Is it a statement `net.if_src(function)`?"""
    match node:
        case tree.Evaluate(value=tree.Call(arguments=[tree.Name()]) as call):
            return call.method == role
    return False


def _called(node: Any) -> tuple[str, Binding]:
    """The net and the function."""
    return as_text(node.value.function.owner), node.value.arguments[0].binding


def _copied(function: tree.Function, block_at: int) -> Binding | None:
    """The block that is copied to or from the pipe, which is the function's parameter."""
    for call in _copies(function):
        block, other = call.arguments[block_at], call.arguments[1 - block_at]
        if _is_pipe(other, function) and isinstance(block, tree.Name):
            return block.binding
    return None


def _copies(node: tree.Node) -> Iterator[tree.Call]:
    for each in walk(node):
        if isinstance(each, tree.Call) and len(each.arguments) == 2:
            function = each.function
            name = function.binding.name if isinstance(function, tree.Name) else each.method
            if name == "copy":
                yield each


def _is_pipe(node: tree.Node, function: tree.Function) -> bool:
    return isinstance(node, tree.Name) and node.binding is function.parameters[0].variable


# Rule POST FIRST ----------------------------------------------------------------------------------


def _post_first(kernel: tree.Assign, roles: _Roles) -> tree.Assign:
    place = roles.receive_call.place
    posts = tree.Name(place, _POSTS)
    posting, reading = _split_receive(roles.receive, posts)
    group = tree.Attribute(place, tree.Name(place, Around("ttl")), "GroupTransfer")
    made = tree.Assign(place, (tree.Target(place, _POSTS),), tree.Call(place, group, (), ()))
    waited: list[tree.Statement] = [_call_of(posts, "wait_all")]
    if reading is not None:
        call: Any = roles.receive_call.value
        given = (tree.Name(place, _name(reading)),)
        waited += [reading, copy_with(roles.receive_call, value=copy_with(call, arguments=given))]

    defined = (posting,) if roles.receive.place > roles.send_call.place else ()

    def reorder(node: tree.Node) -> tree.Node | Body:
        if node is roles.receive:
            return () if defined else posting
        if node is roles.receive_call:
            return ()
        if node is roles.send_call:
            return (*defined, made, roles.receive_call, roles.send_call, *waited)
        return node

    new: tree.Assign = _Replaced(reorder).node(kernel)
    return new


def _call_of(owner: tree.Name, method: str, *given: tree.Expression) -> tree.Evaluate:
    place = owner.place
    return tree.Evaluate(place, tree.Call(place, tree.Attribute(place, owner, method), given, ()))


def _split_receive(
    receive: tree.Assign, posts: tree.Name
) -> tuple[tree.Assign, tree.Assign | None]:
    """It only posts from now on; the function that does what follows its wait."""
    function = _function(receive)
    for at, statement in enumerate(function.body):
        call = next(_copies(statement), None)
        if call is None or not _is_pipe(call.arguments[0], function):
            continue
        rest = function.body[at + 1 :]
        if isinstance(statement, tree.Assign) and rest:  # its wait
            rest = rest[1:]
        post = _call_of(posts, "add", call)
        posting = copy_with(receive, value=copy_with(function, body=(*function.body[:at], post)))
        return posting, _renamed(receive, "read_received", rest) if rest else None
    return receive, None


def _renamed(definition: tree.Assign, name: str, body: Body) -> tree.Assign:
    target = tree.Target(definition.place, Variable(name, _function(definition).scope))
    function = copy_with(_function(definition), name=name, body=body)
    return copy_with(definition, targets=(target,), value=function)


class _Replaced(Changer):
    """`replace` is asked for the nodes as they were; of what it gives nothing is changed."""

    def __init__(self, replace: Callable[[tree.Node], tree.Node | Body]):
        self.replace = replace

    def node(self, node: Any) -> Any:
        new = self.replace(node)
        is_kept = new is node
        return self.inside(node) if is_kept else new


# Rule TWO HALVES ----------------------------------------------------------------------------------


def _two_halves(operation: tree.Function, kernel: tree.Assign, roles: _Roles) -> str | None:
    if sum(map(_is_kernel, _definitions(operation))) != 1:
        return None
    sending = _without(kernel, roles.receive, roles.receive_call)
    receiving = _without(kernel, roles.send, roles.send_call)
    buffer = _buffer_of(receiving, roles.received)
    declared = next((each for each in operation.body if _declares(each, buffer)), None)
    if not isinstance(buffer, Variable) or declared is None:
        return None
    name, own = f"{_name(kernel).name}_receive", Variable(f"{buffer.name}_received", buffer.scope)
    receiving = _renamed(receiving, name, _function(receiving).body)
    halves = [declared, _bound(declared, buffer, own), sending, _bound(receiving, buffer, own)]
    return "\n".join(map(as_text, halves))


def _without(kernel: tree.Assign, *left_out: tree.Node) -> tree.Assign:
    new: tree.Assign = _Replaced(lambda node: () if node in left_out else node).node(kernel)
    return new


def _buffer_of(kernel: tree.Assign, block: Binding) -> Binding | None:
    """The buffer that a block is reserved in."""
    for node in walk(kernel):
        match node:
            case (
                tree.Entered(target=tree.Target(binding=found), value=tree.Call() as call)
                | tree.Assign(targets=[tree.Target(binding=found)], value=tree.Call() as call)
            ) if found is block and isinstance(call.function, tree.Attribute):
                owner = call.function.owner
                return owner.binding if isinstance(owner, tree.Name) else None
    return None


def _declares(statement: tree.Statement, buffer: Binding | None) -> bool:
    match statement:
        case tree.Assign(targets=[tree.Target(binding=found)]):
            return found is buffer
    return False


def _bound(node: tree.Node, old: Binding, new: Binding) -> tree.Node:
    def renamed(each: tree.Node) -> tree.Node:
        is_old = isinstance(each, (tree.Name, tree.Target)) and each.binding is old
        return copy_with(each, binding=new) if is_old else each

    made: tree.Node = _Replaced(renamed).node(node)
    return made
