"""Generators: the body of a `for` runs where the generator yields each value.

rule PLACE  the body of the `for` becomes a function, which the generator calls in the place of each
            `yield`
rule STOP   that function returns whether it left the loop: then the generator returns
rule ONCE   a generator is consumed once, in the loop around the place that made it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, Signature
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.traits import Pure

from ttl.source import bindings, tree
from ttl.source.walking import Changer, changed

from .builder import KernelBuilder
from .hir import Op, Value
from .problems import Mistake, not_in_kernels
from .state import RETURNED, Frame, Loop
from .uses import uses_of

FOR = "go over it once, in a `for`"


@dataclass(frozen=True, slots=True, eq=False)
class Generator:
    """The call of a generator function, or a generator expression."""

    described = "a generator"

    builder: KernelBuilder
    node: tree.Function
    frame: Frame
    loop: Loop | None  # around its creation
    items: Callable[[], list[object]]  # makes all remaining items at once

    def __iter__(self) -> Iterator[object]:
        is_over = self.start()
        return iter(() if is_over else self.items())

    def start(self, may_stop: bool = False) -> bool:
        """Begin to consume it (rule ONCE); return whether it is exhausted on all paths."""
        state = self.builder.state
        is_over = state.started.get(self)
        if is_over is False:
            raise not_in_kernels("a generator that is gone over in two places", FOR)
        if self.loop is not self.builder.loop:
            raise not_in_kernels("a generator that is made outside the loop that goes over it", FOR)
        state.started = {**state.started, self: not may_stop}
        return bool(is_over)

    def run(self, consumer: Value, may_stop: bool = False, unrolls: bool = False) -> None:
        """Call the consumer with each value; `unrolls` avoids run-time loops where possible."""
        builder, frame = self.builder, self.frame
        variable, node = consuming(self.node, may_stop)
        builder.state.values[frame.variable(variable)] = consumer
        frame.caller, frame.call_site, frame.unrolls = builder.frame, builder.span, unrolls
        evaluate_body(builder, frame, node)
        builder.forget(frame)


def evaluate_body(builder: KernelBuilder, frame: Frame, node: tree.Function) -> Value:
    """Evaluate a function body and return its result; the frame's variables hold its arguments."""
    builder.state.values[frame.variable(RETURNED)] = None
    mistakes = len(builder.state.mistakes)
    caller, builder.frame = builder.frame, frame
    try:
        builder.sequence(node.body)
    finally:
        builder.frame = caller
    if len(builder.state.mistakes) > mistakes:
        raise Mistake(None, None)
    return builder.state.values[frame.variable(RETURNED)]


def is_calculation(op: Op) -> bool:
    """Does it only compute values, so that its order does not matter?"""
    if op.bodies:
        return all(is_calculation(each) for body in op.bodies for each in body.ops)
    return op.becomes in ENDS or op.becomes.has_trait(Pure)


ENDS = (scf.YieldOp, scf.ConditionOp)

# The generator's body -----------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def consuming(node: tree.Function, may_stop: bool) -> tuple[bindings.Variable, tree.Function]:
    """Rewrite a generator function to call a consumer, which is in a new variable."""
    consumer = bindings.Variable("<consumer>", node.scope)
    return consumer, _Yields(consumer, may_stop).inside(node)


class _Yields(Changer):
    def __init__(self, consumer: bindings.Variable, may_stop: bool):
        self.consumer, self.may_stop = consumer, may_stop

    def node(self, node: tree.Node) -> tree.Node | tree.Body:
        if isinstance(node, tree.Function):
            return node
        if isinstance(node, (tree.Evaluate, tree.Assign)) and isinstance(node.value, tree.Suspend):
            return self._statements(node, node.value)
        return self.inside(node)

    def _statements(self, node: tree.Evaluate | tree.Assign, asked: tree.Suspend) -> tree.Body:
        place, value = node.place, asked.value or tree.Constant(node.place, None)
        if asked.kind == "yield from":
            scope = self.consumer.scope
            item = bindings.Variable(f"<item {place.line}.{place.column}>", scope)
            body = self._given(place, tree.Name(place, item))
            steps: tree.Body = (tree.Loop(place, tree.Target(place, item), value, body),)
        else:
            steps = self._given(place, value)
        if isinstance(node, tree.Evaluate):
            return steps
        return (*steps, changed(node, value=tree.Constant(place, None)))

    def _given(self, place: bindings.Place, value: tree.Expression) -> tree.Body:
        call = tree.Call(place, tree.Name(place, self.consumer), (value,), ())
        if not self.may_stop:
            return (tree.Evaluate(place, call),)
        return (tree.Branch(place, call, (tree.Return(place, None),), ()),)


# The body of the loop -----------------------------------------------------------------------------


class Consumer(NamedTuple):
    """The body of a loop as a function, and the code after the loop for its `return`."""

    function: tree.Function
    may_stop: bool
    returned: bindings.Variable
    result: bindings.Variable
    after: tree.Body
    stored: frozenset[bindings.Variable]


ONE_VALUE = Signature([Parameter("value", Parameter.POSITIONAL_ONLY)])


@lru_cache(maxsize=1024)
def consumer_of(node: tree.Loop, scope: bindings.Scope) -> Consumer:
    place = node.place
    own = bindings.Scope("<body>", scope)
    item = own.variable("value")
    returned, result = (bindings.Variable(name, scope) for name in ("<has returned>", "<returns>"))
    jumps = _Jumps(returned, result)
    body = jumps.sequence(node.body)
    put = tree.Assign(node.target.place, (node.target,), tree.Name(node.target.place, item))
    end = tree.Return(place, tree.Constant(place, False))
    parameter = tree.Parameter(place, item, Parameter.POSITIONAL_ONLY, None)
    function = tree.Function(place, "<body>", (), (parameter,), (put, *body, end), own)
    after: tree.Body = ()
    if jumps.returns:
        back = tree.Return(place, tree.Name(place, result))
        after = (tree.Branch(place, tree.Name(place, returned), (back,), ()),)
    stored = uses_of(node).stored | {returned, result}
    return Consumer(function, jumps.stops, returned, result, after, stored)


class _Jumps(Changer):
    """Rewrites jumps by rule STOP."""

    def __init__(self, returned: bindings.Variable, result: bindings.Variable):
        self.returned, self.result = returned, result
        self.stops = self.returns = False
        self.depth = 0  # of loops inside

    def node(self, node: tree.Node) -> tree.Node | tree.Body:
        if isinstance(node, tree.Function):
            return node
        if isinstance(node, tree.Return):
            return self._return(node)
        if isinstance(node, tree.Jump) and not self.depth:
            is_break = node.kind == "break"
            self.stops |= is_break
            return tree.Return(node.place, tree.Constant(node.place, is_break))
        is_loop = isinstance(node, (tree.Loop, tree.While))
        self.depth += is_loop
        found = self.inside(node)
        self.depth -= is_loop
        return found

    def _return(self, node: tree.Return) -> tree.Body:
        self.stops = self.returns = True
        place, value = node.place, node.value or tree.Constant(node.place, None)
        true = tree.Constant(place, True)
        return (
            tree.Assign(place, (tree.Target(place, self.result),), value),
            tree.Assign(place, (tree.Target(place, self.returned),), true),
            tree.Return(place, true),
        )


# Generator expressions ----------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def function_of(node: tree.Comprehension) -> tuple[bindings.Variable, tree.Function]:
    """Rewrite a generator expression as a function, with a variable for its first sequence."""
    first = bindings.Variable("<first>", node.scope)
    place = node.place
    body: tree.Statement = tree.Evaluate(place, tree.Suspend(place, "yield", node.value))
    for number, each in reversed([*enumerate(node.generators)]):
        for test in reversed(each.tests):
            body = tree.Branch(test.place, test, (body,), ())
        over = each.over if number else tree.Name(each.over.place, first)
        body = tree.Loop(each.place, each.target, over, (body,))
    return first, tree.Function(place, "<genexpr>", (), (), (body,), node.scope)
