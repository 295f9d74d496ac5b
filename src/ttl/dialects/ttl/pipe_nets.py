"""Pipe nets of the ttl dialect.

The module declares a net once, with the nodes of its pipes. `ttl.if_src` and `ttl.if_dst` run their
body once for each pipe that starts or ends at the node, in the order of the declaration. Copies in
it are ordinary `ttl.copy` with the pipe at one end:
* `ttl.copy %pipe, %block` posts the block (transfer `receive`), without waiting;
* `ttl.copy %block, %pipe` waits for the posts of all receivers and sends (transfer `send`); after
  that, the block may be reused.
The n-th send of a pipe meets the n-th post of each of its receivers.
"""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i1,
    i64,
)
from xdsl.ir import Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ttl.diagnostics import Span

from ..building import QuickOperation, around
from ..definitions import define_operation
from ..locations import span_of

__all__ = [
    "DeclarePipeNetOp",
    "ForEachPipeOp",
    "IfDstOp",
    "IfSrcOp",
    "IsActiveOp",
    "IsDstOp",
    "IsSrcOp",
    "LocalPipeOp",
    "NetUserOp",
    "PipeCountOp",
    "PipeNodes",
    "PipeType",
    "PipeValueOp",
    "RoleOp",
    "YieldOp",
    "find_net",
    "module_of",
    "nets_of",
]


Node = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PipeNodes:
    """A pipe's source, and the corners of the rectangle of nodes where it ends.

    A range over ends of columns is less than a rectangle: the nodes `before` and `after` it, in the
    order of columns, are not among its receivers.
    """

    source: Node
    first: Node
    last: Node
    before: int = 0
    after: int = 0

    @classmethod
    def to(cls, source: Node, receivers: list[Node]) -> PipeNodes:
        """Make a pipe to consecutive receivers in the order of columns."""
        columns, rows = ([node[axis] for node in receivers] for axis in (0, 1))
        first, last = (min(columns), min(rows)), (max(columns), max(rows))
        around = cls(source, first, last)
        before = around.receivers.index(receivers[0])
        after = len(around.receivers) - before - len(receivers)
        return cls(source, first, last, before, after)

    @property
    def receivers(self) -> list[Node]:
        """Return the receivers, y fastest."""
        (x0, y0), (x1, y1) = self.first, self.last
        around = [(x, y) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1)]
        return around[self.before : len(around) - self.after]

    @property
    def is_rectangle(self) -> bool:
        return not (self.before or self.after)

    @property
    def is_loopback(self) -> bool:
        return self.source in self.receivers

    @property
    def rows(self) -> int:
        return self.last[1] - self.first[1] + 1

    def nodes_of(self, role: str) -> list[Node]:
        return [self.source] if role == "src" else self.receivers


@irdl_attr_definition
class PipeType(ParametrizedAttribute, TypeAttribute):
    """A pipe of a net on a node with a role in it: `src` or `dst`."""

    name = "ttl.pipe"
    net: SymbolRefAttr = param_def()
    role: StringAttr = param_def()

    @classmethod
    def of(cls, net: str, role: str) -> PipeType:
        return cls(SymbolRefAttr(net), StringAttr(role))


class DeclarePipeNetOp(QuickOperation):
    """A net; each pipe is the numbers of PipeNodes, a rectangle without the last two."""

    name = "ttl.pipe_net"
    sym_name = prop_def(SymbolNameConstraint())
    pipes = prop_def(ArrayAttr[DenseArrayBase[IntegerType]])
    written_names = opt_prop_def(ArrayAttr[StringAttr])  # the pipes' names in the program
    # Where the program makes them: lines and columns in the net's file.
    written_spans = opt_prop_def(ArrayAttr[DenseArrayBase[IntegerType]])
    resources = opt_prop_def(DictionaryAttr)  # set by ttl-assign-pipe-resources
    traits = traits_def(SymbolOpInterface())

    @property
    def written(self) -> list[tuple[str, Span | None]]:
        """Return the pipes' names in the program and their places; [] if unknown."""
        span = span_of(self.location)
        if self.written_names is None or self.written_spans is None or span is None:
            return []
        ends = [(span.file, *row.get_values()) for row in self.written_spans]
        places = [Span(*each).within(span.expanded) for each in ends]  # type: ignore[arg-type]
        names = [name.data for name in self.written_names]
        return list(zip(names, places, strict=True))

    def name_of(self, number: int) -> str:
        if self.written_names is None:
            return f"{self.sym_name.data}[{number}]"
        return self.written_names.data[number].data

    def write(self, pipes: list[tuple[str, Span | None]]) -> None:
        """Remember the pipes' names, and their places if these are in the net's file."""
        self.properties["written_names"] = ArrayAttr([StringAttr(name) for name, _ in pipes])
        own = span_of(self.location)
        spans = [
            span
            for _, span in pipes
            if span is not None and own is not None and span.file == own.file
        ]
        if len(spans) < len(pipes):
            return
        rows = [(span.line, span.column, span.end_line, span.end_column) for span in spans]
        self.properties["written_spans"] = ArrayAttr(
            [DenseArrayBase.from_list(i64, row) for row in rows]
        )

    @classmethod
    def of(cls, name: str, pipes: list[PipeNodes]) -> DeclarePipeNetOp:
        rows = [[*pipe.source, *pipe.first, *pipe.last] for pipe in pipes]
        for row, pipe in zip(rows, pipes, strict=True):
            row += [] if pipe.is_rectangle else [pipe.before, pipe.after]
        arrays = ArrayAttr([DenseArrayBase.from_list(i64, row) for row in rows])
        return cls.create(properties={"sym_name": StringAttr(name), "pipes": arrays})

    @property
    def nodes(self) -> list[PipeNodes]:
        rows = [tuple(int(n) for n in row.get_values()) for row in self.pipes]
        return [PipeNodes((r[0], r[1]), (r[2], r[3]), (r[4], r[5]), *r[6:]) for r in rows]

    def most_on_a_node(self, role: str) -> int:
        """Return the largest number of pipes in which one node has the role."""
        counts = Counter(node for pipe in self.nodes for node in pipe.nodes_of(role))
        return max(counts.values())

    def verify_(self) -> None:
        if not len(self.pipes) or any(len(row) not in (6, 8) for row in self.pipes):
            raise VerifyException(f"{self.name} has pipes, of six or eight numbers each")
        grid = _launch_grid(self)
        for pipe in self.nodes:
            if not pipe.receivers:
                raise VerifyException(f"a pipe of {self.name} has no receiver")
            for x, y in (pipe.source, pipe.first, pipe.last):
                if not (0 <= x < grid[0] and 0 <= y < grid[1]):
                    raise VerifyException(f"node ({x}, {y}) of {self.name} is not in the grid")


def _launch_grid(op: Operation) -> Node:
    """Return the module's grid; without one, any node is valid."""
    grid = module_of(op).attributes.get("ttl.launch_grid") if op.parent_op() else None
    if not isinstance(grid, ArrayAttr):
        return (1 << 30, 1 << 30)
    columns, rows = (size.value.data for size in grid)
    return columns, rows


def module_of(op: Operation) -> ModuleOp:
    return next(each for each in (op, *around(op)) if isinstance(each, ModuleOp))


class NetUserOp(QuickOperation, ABC):
    """An operation that names a net."""

    net = prop_def(SymbolRefAttr)

    @property
    def declaration(self) -> DeclarePipeNetOp:
        found = find_net(module_of(self), self.net)
        if found is None:
            raise VerifyException(f"{self.name}: there is no net {self.net}")
        return found


def find_net(module: ModuleOp, net: SymbolRefAttr) -> DeclarePipeNetOp | None:
    return next((op for op in nets_of(module) if op.sym_name == net.root_reference), None)


class ForEachPipeOp(NetUserOp, ABC):
    """Runs its body for each pipe of the net in which the node has the role.

    The block's arguments are the pipe and, as in a loop, the values that the body changes.
    """

    start = var_operand_def()
    body = region_def("single_block")
    ends = var_result_def()
    ROLE: ClassVar[str]

    def verify_(self) -> None:
        block = self.body.block
        assert self.declaration
        types = [value.type for value in self.start]
        pipe = PipeType(self.net, StringAttr(self.ROLE))
        if [argument.type for argument in block.args] != [pipe, *types]:
            raise VerifyException(f"the body of {self.name} takes {pipe} and what it carries")
        end = block.last_op
        if not isinstance(end, YieldOp) or [value.type for value in end.values] != types:
            raise VerifyException(f"the body of {self.name} yields what it carries")
        if [value.type for value in self.ends] != types:
            raise VerifyException(f"{self.name} gives what its body yields")


IfSrcOp = define_operation("ttl.if_src", ForEachPipeOp, ROLE="src")
IfDstOp = define_operation("ttl.if_dst", ForEachPipeOp, ROLE="dst")


class YieldOp(QuickOperation):
    """The end of the body of `ttl.if_src` or `ttl.if_dst`."""

    name = "ttl.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())


class RoleOp(NetUserOp, ABC):
    """Has the node a role in the net?"""

    result = result_def(i1)
    ROLES: ClassVar[tuple[str, ...]]
    traits = traits_def(Pure())

    def verify_(self) -> None:
        assert self.declaration


IsSrcOp = define_operation("ttl.is_src", RoleOp, ROLES=("src",))
IsDstOp = define_operation("ttl.is_dst", RoleOp, ROLES=("dst",))
IsActiveOp = define_operation("ttl.is_active", RoleOp, ROLES=("src", "dst"))


class PipeValueOp(QuickOperation):
    """A number that differs between the pipes of a net: one for each, in their order."""

    name = "ttl.pipe_value"
    pipe = operand_def(PipeType)
    values = prop_def(DenseArrayBase[IntegerType])
    result = result_def(IndexType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        assert isinstance(self.pipe.type, PipeType)
        net = find_net(module_of(self), self.pipe.type.net)
        if net is not None and len(net.pipes) != len(self.values):
            raise VerifyException(f"{self.name} has one number for each pipe of {net.sym_name}")


# After ttl-lower-pipe-roles a kernel iterates over the pipes in which its node has a role: it
# identifies a pipe by its place among them.


class PipeCountOp(NetUserOp):
    """The number of pipes of the net in which the node has the role."""

    name = "ttl.pipe_count"
    role = prop_def(StringAttr)
    result = result_def(IndexType)


class LocalPipeOp(NetUserOp):
    """The pipe at `place` among those in which the node has the role.

    If the program names the pipe itself, a node without the role has no such place. It is an error
    if such a node gets here.
    """

    name = "ttl.local_pipe"
    place = operand_def(IndexType)
    written = opt_prop_def(StringAttr)  # the pipe's name, if the program names it
    result = result_def(PipeType)


def nets_of(module: ModuleOp) -> Iterator[DeclarePipeNetOp]:
    return (op for op in module.ops if isinstance(op, DeclarePipeNetOp))
