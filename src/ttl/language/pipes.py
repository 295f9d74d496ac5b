"""Pipes between nodes and nets of pipes.

A pipe has no buffer: `ttl.copy(pipe, block)` posts the receiver's block, and
`ttl.copy(block, pipe)` sends once every receiver has posted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import RuleBroken, UsageError, WrongValue, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.nodes import check_closed, describe_place, nodes_at, read_place
from ttl.semantics.ttnn_values import as_place
from ttl.semantics.types import Shape

from .engine import SCOPE, engine, outside, running_engine, scope

if TYPE_CHECKING:
    from .types import NodeCoord, NodeRange


class Pipe:
    """A connection for blocks from a node to another (unicast) or to several (multicast).

    `src` is a node coordinate, `dst` a coordinate or a range that may contain `src`.
    """

    __slots__ = ("dst", "dst_place", "home", "span", "src", "src_place")

    def __class_getitem__(cls, item: object) -> GenericAlias:
        return GenericAlias(cls, item)  # annotations say ttl.Pipe[ttl.DstT]

    def __init__(self, src: NodeCoord, dst: NodeCoord | NodeRange):
        self.src: NodeCoord = as_place(src)
        self.dst: NodeCoord | NodeRange = as_place(dst)
        self.span = calling_span()
        self.home: tuple[PipeNet, int] | None = None  # its net, and its place there
        try:
            self.src_place = read_place(src, "src", may_be_range=False)
            self.dst_place = read_place(dst, "dst", may_be_range=True)
            check_closed(self.dst_place, "dst")
        except RuleBroken as broken:
            raise WrongValue(broken.at(self.span)) from None

    @property
    def name(self) -> str:
        return f"{describe_place(self.src_place)} -> {describe_place(self.dst_place)}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipe) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Pipe(src={self.src!r}, dst={self.dst!r})"


@dataclass(frozen=True, slots=True)
class Route:
    """A pipe on a particular grid: nodes in full coordinates."""

    pipe: Pipe
    source: Shape
    receivers: tuple[Shape, ...]


class PipeIdentity:
    """A pipe in the function given to if_src() or if_dst()."""

    __slots__ = ("open_calls", "route")

    def __init__(self, route: Route):
        self.route = route
        self.open_calls = 0  # running functions of if_src() or if_dst() that have this pipe


class SrcPipeIdentity(PipeIdentity):
    """In if_src(): `ttl.copy(block, pipe)` sends, `dst` is the other end."""

    __slots__ = ()

    @property
    def dst(self) -> NodeCoord | NodeRange:
        return self.route.pipe.dst


class DstPipeIdentity(PipeIdentity):
    """In if_dst(): `ttl.copy(pipe, block)` receives, `src` is the other end."""

    __slots__ = ()

    @property
    def src(self) -> NodeCoord:
        return self.route.pipe.src


class PipeNet:
    """Pipes that belong together, made in an operation's body or outside of it.

    Raises UsageError if it is empty, or if a coordinate is outside of the operation's grid.
    """

    __slots__ = ("_roles", "_routes", "index", "is_implicit", "name", "pipes", "span")

    def __init__(self, pipes: Iterable[Pipe]):
        if running_engine(None) is not None:
            raise outside("ttl.PipeNet()", "in the body of an operation", "@ttl.operation(...)")
        self.span = calling_span()
        self.pipes = self._read(pipes)
        self.index: int | None = None  # in its operation; None if it was made outside of one
        self.name = "net"  # the user's name once the body has run
        self.is_implicit = False  # made for one pipe that the program puts in no net
        self._routes: dict[Shape, tuple[Route, ...]] = {}
        self._roles: dict[Shape, tuple[frozenset[Shape], frozenset[Shape]]] = {}
        collected = SCOPE.get(None)
        if collected is not None:
            self.routes(collected.grid)
            self.index = len(collected.pipe_nets)
            collected.pipe_nets.append(self)
        known = () if collected is None else collected.pipe_nets
        for number, pipe in enumerate(self.pipes):
            if pipe.home is None or _can_move_pipes(pipe.home[0], known):
                pipe.home = self, number

    def _read(self, pipes: object) -> tuple[Pipe, ...]:
        read = tuple(pipes) if isinstance(pipes, Iterable) else (pipes,)
        wrong = next((repr(pipe) for pipe in read if not isinstance(pipe, Pipe)), None)
        if wrong is None and read and isinstance(pipes, Iterable):
            return read
        problem = f"a list of pipes, not {wrong or pipes!r}" if read else "at least one pipe"
        broken = codes.WRONG_ARGUMENT.broken(
            f"ttl.PipeNet() takes {problem}",
            "write ttl.PipeNet([ttl.Pipe(src=(0, 0), dst=(1, 0))])",
        )
        raise WrongValue(broken.at(self.span))

    def routes(self, grid: Shape) -> tuple[Route, ...]:
        """Return the pipes' routes on this grid; raise UsageError at a pipe outside of it."""
        if grid not in self._routes:
            self._routes[grid] = tuple([_route(pipe, grid) for pipe in self.pipes])
        return self._routes[grid]

    def if_src(self, function: Callable[[SrcPipeIdentity], object]) -> None:
        """Data movement kernels: call `function` for each pipe that starts at this node."""
        _call_for_each(engine("PipeNet.if_src()").sources(self), function, "if_src")

    def if_dst(self, function: Callable[[DstPipeIdentity], object]) -> None:
        """Data movement kernels: call `function` for each pipe that ends at this node."""
        _call_for_each(engine("PipeNet.if_dst()").receivers(self), function, "if_dst")

    def is_src(self) -> bool:
        """Return whether a pipe of the net starts at this node."""
        node, (sources, _) = self._find_roles("PipeNet.is_src()")
        return node in sources

    def is_dst(self) -> bool:
        """Return whether a pipe of the net ends at this node."""
        node, (_, receivers) = self._find_roles("PipeNet.is_dst()")
        return node in receivers

    def is_active(self) -> bool:
        """Return whether a pipe of the net starts or ends at this node."""
        node, (sources, receivers) = self._find_roles("PipeNet.is_active()")
        return node in sources or node in receivers

    def _find_roles(self, call: str) -> tuple[Shape, tuple[frozenset[Shape], frozenset[Shape]]]:
        running = running_engine(None)
        if running is not None:
            return running.node(), self._roles_on(running.grid)
        collected = scope(call)
        collected.asked_for_node = True
        return collected.node, self._roles_on(collected.grid)

    def _roles_on(self, grid: Shape) -> tuple[frozenset[Shape], frozenset[Shape]]:
        if grid not in self._roles:
            routes = self.routes(grid)
            self._roles[grid] = (
                frozenset(route.source for route in routes),
                frozenset(node for route in routes for node in route.receivers),
            )
        return self._roles[grid]


def _can_move_pipes(net: PipeNet, known: Iterable[PipeNet]) -> bool:
    """Return whether pipes of this net may move to a new net.

    They stay if it is a `known` net of the same operation, where the first net counts. Pipes may
    be in nets of several operations.
    """
    return net.is_implicit or (net.index is not None and net not in known)


def _call_for_each(
    roles: Iterable[PipeIdentity], function: Callable[[Any], object], call: str
) -> None:
    """Call `function` for each pipe; frames show whether the call or the function failed.

    This module must not be compiled, because compiled functions have no frames.
    """
    if not callable(function):  # checked on nodes without such a pipe too, like the compiler
        raise _not_callable(call, function)
    for role in roles:
        role.open_calls += 1
        try:
            function(role)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            raise _not_callable(call, function, str(error)) from None  # the call itself failed
        finally:
            role.open_calls -= 1


def _not_callable(call: str, function: object, error: str = "") -> RuleBroken:
    from .described import described  # imports this module

    return codes.WRONG_ARGUMENT.broken(
        f"PipeNet.{call}() calls {described(function)} with one pipe: "
        f"it {error.partition('() ')[2] or error}"
        if callable(function)
        else f"PipeNet.{call}() takes a function, not {described(function)}",
        f"write `def f(pipe): ...` and {call}(f)",
    )


def _route(pipe: Pipe, grid: Shape) -> Route:
    try:
        (source,) = nodes_at(pipe.src_place, grid)
        receivers = nodes_at(pipe.dst_place, grid)
    except RuleBroken as broken:
        raise UsageError(broken.at(pipe.span, "this pipe")) from None
    return Route(pipe, source, receivers)


# Wrong ends of a copy, for every engine -----------------------------------------------------------


def receiver_sends(pipe: str) -> RuleBroken:
    return codes.PIPE_ROLE.broken(
        f"this node receives from {pipe}; it cannot send there",
        "in if_dst() write ttl.copy(pipe, block)",
    )


def source_receives(pipe: str) -> RuleBroken:
    return codes.PIPE_ROLE.broken(
        f"this node sends through {pipe}; it cannot receive from it",
        "in if_src() write ttl.copy(block, pipe)",
    )


def used_after_callback(pipe: str, call: str) -> RuleBroken:
    return codes.PIPE_ROLE.broken(
        f"{pipe} is used after its {call}() has ended",
        f"use the pipe only in the function given to {call}(), while it runs",
    )


def not_from_a_net(source: object, destination: object) -> RuleBroken | None:
    """Return what is wrong with a copy whose end is a net, or a pipe outside of all nets."""
    for end, call in ((source, "if_dst"), (destination, "if_src")):
        if isinstance(end, Pipe) and end.home is None:
            return codes.PIPE_ROLE.broken(
                f"pipe {end.name} is in no pipe net",
                "make it in the body of the operation, and put it in a ttl.PipeNet",
            )
        if isinstance(end, PipeNet):
            return codes.PIPE_ROLE.broken(
                f"ttl.copy() takes the pipe that {call}() gives, not a PipeNet",
                f"call {call}() of the pipe net with a function that makes the copy",
            )
    return None
