"""The older spelling of threads, in which a buffer and its block have one name.

    async def mm(lhs: Tensor, out: Tensor):    async def mm(lhs: CircularBuffer, ...):
        await lhs                                  block = lhs.pop()
        out = lhs + lhs                            result = out.reserve(); result.store(...)
        yield out                                  (its body ends)

rule AWAIT `await x` takes the next block of x; from there on x is this block
rule STORE `x = value` stores into a block of x that is reserved there
rule YIELD `yield x` ends what is written to x: its block is reserved at the start of the body
rule OWN   a reserved block that is sent to other cores is the core's own part of the tensor
rule WAIT  a transfer that nothing waits for is waited for where it starts
rule SET   a semaphore that is set on other cores keeps the own value: who sends in one turn waits
           in the next, as custom_dm_turn_based_matmul of the guide does
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ttl.source import tree
from ttl.source.bindings import Binding, Place, Variable
from ttl.source.making import around, assigned, called, method_call
from ttl.source.walking import Changer, Nodes, walk

OWN = ".own_"  # before a parameter: the stream of its tensor


def in_todays_spelling(thread: tree.Function, tensors: set[str]) -> tree.Function:
    """Rewrite an older thread; `tensors` are the parameters annotated `Tensor`."""
    waits = (n.owner for n in walk(thread) if isinstance(n, tree.Attribute) and n.name == "wait")
    waited: set[Binding] = {owner.binding for owner in waits if isinstance(owner, tree.Name)}
    variables = {each.variable for each in thread.parameters if each.variable.name in tensors}
    found: tree.Function = _Rewriting(variables, waited).node(thread)
    return found


class _Rewriting(Changer):
    def __init__(self, variables: set[Variable], waited: set[Binding]):
        self.variables, self.waited = variables, waited

    def sequence(self, nodes: Nodes) -> Nodes:
        is_body = bool(nodes) and isinstance(nodes[0], tree.Statement)
        return self._statements(nodes) if is_body else super().sequence(nodes)

    def _statements(self, body: tree.Body) -> tree.Body:
        stored = {each for statement in body for each in self._assigned(statement)}
        yielded = {each for statement in body for each in self._suspended(statement, "yield")}
        first = sorted(yielded - stored, key=lambda each: each.name)  # rule YIELD
        begun = tuple(_acquire(each, "reserve", body[0].place) for each in first)
        return begun + tuple(made for each in body for made in self._statement(each))

    def _suspended(self, node: tree.Statement, kind: str) -> list[Variable]:
        """Return the buffers of `await x` or `yield x, y`."""
        value = node.value if isinstance(node, tree.Evaluate) else None
        given = value.value if isinstance(value, tree.Suspend) and value.kind == kind else None
        parts = given.items if isinstance(given, tree.Sequence) else [given]
        return [variable for part in parts if (variable := self._buffer(part)) is not None]

    def _buffer(self, node: tree.Node | None) -> Variable | None:
        binding = node.binding if isinstance(node, (tree.Name, tree.Target)) else None
        is_buffer = isinstance(binding, Variable) and binding in self.variables
        return binding if is_buffer else None  # type: ignore[return-value]

    def _assigned(self, node: tree.Statement) -> list[Variable]:
        targets = node.targets if isinstance(node, tree.Assign) else ()
        return [variable for each in targets if (variable := self._buffer(each)) is not None]

    def _statement(self, node: tree.Statement) -> Iterator[tree.Statement]:
        if self._suspended(node, "yield"):
            return
        if awaited := self._suspended(node, "await"):  # rule AWAIT
            yield from (_acquire(each, "pop", node.place) for each in awaited)
        elif isinstance(node, tree.Assign) and (stored := self._assigned(node)):  # rule STORE
            yield _acquire(stored[0], "reserve", node.place)
            block = _block(stored[0], node.place)
            call = method_call(block, "store", node.place, self.node(node.value))
            yield tree.Evaluate(node.place, call)
        elif isinstance(node, (tree.Loop, tree.Branch)):
            yield self.node(node)
        else:
            yield from (*self._sent(node), self.node(node), *self._started(node), *_kept(node))

    def _started(self, node: tree.Statement) -> Iterator[tree.Statement]:  # rule WAIT
        target = node.targets[0] if isinstance(node, tree.Assign) else None
        value = node.value if isinstance(node, tree.Assign) else None
        if function_name(value) != "dma" or not isinstance(target, tree.Target):
            return
        if target.binding not in self.waited:
            transfer = tree.Name(node.place, target.binding)
            yield tree.Evaluate(node.place, method_call(transfer, "wait", node.place))

    def _sent(self, node: tree.Statement) -> Iterator[tree.Statement]:  # rule OWN
        for call in walk(node):
            if function_name(call) == "dma" and _keyword(call, "mcast"):
                source = self._buffer(call.arguments[0])  # type: ignore[attr-defined]
                if source is not None:
                    yield _fill(source, node.place)

    def change(self, node: tree.Node) -> tree.Node:
        variable = self._buffer(node) if isinstance(node, tree.Name) else None
        return node if variable is None else _block(variable, node.place)


def _kept(node: tree.Statement) -> Iterator[tree.Statement]:  # rule SET
    call = node.value if isinstance(node, tree.Evaluate) else None
    if not isinstance(call, tree.Call) or call.method != "set" or not _keyword(call, "mcast"):
        return
    assert isinstance(call.function, tree.Attribute)
    again = method_call(call.function.owner, "wait", node.place, call.arguments[0])
    reset = tree.Keyword(node.place, "reset", tree.Constant(node.place, 0))
    yield tree.Evaluate(node.place, replace(again, keywords=(reset,)))


def _block(buffer: Variable, place: Place) -> tree.Name:
    return tree.Name(place, buffer.scope.variable(f".{buffer.name}"))


def _acquire(buffer: Variable, method: str, place: Place) -> tree.Statement:
    call = method_call(tree.Name(place, buffer), method, place)
    return assigned(_block(buffer, place).binding, call, place)


def _fill(buffer: Variable, place: Place) -> tree.Statement:
    """Make `dma(stream[core_index(0), core_index(1)], block).wait()`."""
    core = (called(around("core_index", place), tree.Constant(place, dim)) for dim in range(2))
    index = tree.Sequence(place, "tuple", tuple(core))
    source = tree.Item(place, around(OWN + buffer.name, place), index)
    transfer = called(around("dma", place), source, _block(buffer, place))
    return tree.Evaluate(place, method_call(transfer, "wait", place))


def function_name(node: tree.Node | None) -> str:
    """Return the last part of a called function's path."""
    function = node.function if isinstance(node, tree.Call) else None
    if isinstance(function, tree.Attribute):
        return function.name
    return function.binding.name if isinstance(function, tree.Name) else ""


def _keyword(call: tree.Node, name: str) -> bool:
    return isinstance(call, tree.Call) and any(each.name == name for each in call.keywords)
