"""The pipe nets that a program's kernels use, by their names in the module."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation

from ttl.dialects import ttl
from ttl.dialects.locations import location_of
from ttl.language import PipeNet
from ttl.language.pipes import Route


class Nets:
    def __init__(self, declared: tuple[PipeNet, ...], grid: tuple[int, ...]):
        self.declared = declared
        self.grid = grid
        self.by_name: dict[str, PipeNet] = {}

    def one_of_all_nodes(self, net: PipeNet) -> PipeNet:
        """Return the declared net that equals this one, because each node makes its own."""
        index = net.index
        if index is not None and index < len(self.declared):
            return self.declared[index] if self.declared[index].pipes == net.pipes else net
        return net

    def name(self, net: PipeNet) -> str:
        net = self.one_of_all_nodes(net)
        known = next((name for name, each in self.by_name.items() if each is net), None)
        if known is not None:
            return known
        name, number = net.name, 1
        while name in self.by_name:
            number += 1
            name = f"{net.name}_{number}"
        self.by_name[name] = net
        return name

    def symbol(self, net: PipeNet) -> SymbolRefAttr:
        return SymbolRefAttr(self.name(net))

    def routes(self, symbol: SymbolRefAttr) -> list[Route]:
        return list(self.by_name[symbol.root_reference.data].routes(self.grid))

    def is_named(self, net: PipeNet, symbol: SymbolRefAttr) -> bool:
        return self.one_of_all_nodes(net) is self.by_name[symbol.root_reference.data]

    def declarations(self) -> list[Operation]:
        return [self._declaration(name, net) for name, net in self.by_name.items()]

    def _declaration(self, name: str, net: PipeNet) -> Operation:
        declaration = ttl.DeclarePipeNetOp.of(name, [_nodes(r) for r in net.routes(self.grid)])
        if net.span is not None:
            declaration.location = location_of(net.span)
            declaration.write([(pipe.name, pipe.span) for pipe in net.pipes])
        return declaration


def nodes_with_role(route: Route, role: str) -> Iterable[tuple[int, ...]]:
    return (route.source,) if role == "src" else route.receivers


def _nodes(route: Route) -> ttl.PipeNodes:
    receivers = [(x, y) for x, y in route.receivers]
    x, y = route.source
    pipe = ttl.PipeNodes.to((x, y), receivers)
    assert receivers == pipe.receivers, "columns of a rectangle, or a part of them"
    return pipe
