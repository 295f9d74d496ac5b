"""ttl-lower-pipe-roles: turn if_src and if_dst into loops over the node's pipes.

If no node has more than one pipe in that role, a condition is enough. A receive that leaves the
body becomes two numbers, which a loop can carry: the place of its pipe and the number of its post.
A send is complete when its copy is, so there is nothing to carry.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import INDEX, Maker, compare_op, erase, replace_by


def apply(op: ModuleOp) -> None:
    regions = [each for each in walk(op) if isinstance(each, ttl.ForEachPipeOp)]
    for region in reversed(regions):  # inner ones first
        _Lowering(region).lower()


class _Lowering:
    def __init__(self, op: ttl.ForEachPipeOp):
        self.op = op
        self.make = Maker.before(op)
        self.receives: dict[int, SymbolRefAttr] = {
            position: _net_of(op, position)
            for position, value in enumerate(op.start)
            if value.type == RECEIVE
        }

    def lower(self) -> None:
        op = self.op
        role = StringAttr(op.ROLE)
        count = self.make.new(ttl.PipeCountOp, (), INDEX, net=op.net, role=role)
        starts = [part for p, value in enumerate(op.start) for part in self._parts(p, value)]
        is_single = op.declaration.most_on_a_node(op.ROLE) == 1
        loop = self._branch(count, starts) if is_single else self._loop(count, starts)
        replace_by(op, *self._whole(list(loop.results), self.make))

    def _parts(self, position: int, value: SSAValue, make: Maker | None = None) -> list[SSAValue]:
        """Return the values that represent a carried value; none for a send."""
        make = make or self.make
        if not isinstance(value.type, ttl.TransferType):
            return [value]
        if position not in self.receives:
            return []
        if isinstance(value.owner, ttl.NoTransferOp):
            return [make.index(0), make.index(0)]
        if isinstance(value.owner, ttl.TransferOfOp):
            return [value.owner.place, value.owner.number]
        parts = ttl.TransferPartsOp.create(operands=[value], result_types=[INDEX, INDEX])
        return list(make.add(parts).results)

    def _whole(self, values: list[SSAValue], make: Maker) -> list[SSAValue]:
        """Return the carried values that _parts() has split."""
        rest, whole = list(values), []
        for position, start in enumerate(self.op.start):
            if not isinstance(start.type, ttl.TransferType):
                whole.append(rest.pop(0))
            elif position not in self.receives:
                whole.append(make.new(ttl.NoTransferOp, (), start.type))
            else:
                parts, net = [rest.pop(0), rest.pop(0)], self.receives[position]
                whole.append(make.new(ttl.TransferOfOp, parts, start.type, net=net))
        return whole

    def _enter(self, place: SSAValue, carried: list[SSAValue], inner: Maker) -> None:
        """Bind the arguments of the body; its operations are moved after that."""
        body = self.op.body.block
        type = body.args[0].type
        pipe = inner.new(ttl.LocalPipeOp, [place], type, "pipe", net=self.op.net)
        for argument, value in zip(body.args, [pipe, *self._whole(carried, inner)], strict=True):
            argument.replace_all_uses_with(value)

    def _move_body(self, block: Block) -> None:
        """Move the operations of the body; its end yields the parts."""
        body = self.op.body.block
        end = body.last_op
        assert isinstance(end, ttl.YieldOp)
        make = Maker.before(end)
        parts = [part for p, value in enumerate(end.values) for part in self._parts(p, value, make)]
        make.add(scf.YieldOp(*parts))
        erase(end)
        for each in list(body.ops):
            each.detach()
            block.add_op(each)

    def _loop(self, count: SSAValue, starts: list[SSAValue]) -> scf.ForOp:
        types: list[Attribute] = [value.type for value in starts]
        block = Block(arg_types=[INDEX, *types])
        block.args[0].name_hint = "place"
        inner = Maker.at_end(block, self.op)
        self._enter(block.args[0], list(block.args[1:]), inner)
        self._move_body(block)
        zero, one = self.make.index(0), self.make.index(1)
        loop = scf.ForOp(zero, count, one, starts, Region(block))
        self.make.add(loop)
        return loop

    def _branch(self, count: SSAValue, starts: list[SSAValue]) -> scf.IfOp:
        then, otherwise = Block(), Block([scf.YieldOp(*starts)])
        inner = Maker.at_end(then, self.op)
        self._enter(inner.index(0), starts, inner)
        self._move_body(then)
        has_role = self.make.value(compare_op(count, self.make.index(0), "sgt"))
        types = [value.type for value in starts]
        nothing = Region(otherwise) if starts else None
        branch = scf.IfOp(has_role, types, Region(then), nothing)
        self.make.add(branch)
        return branch


RECEIVE = ttl.TransferType(StringAttr("receive"))


def _net_of(op: ttl.ForEachPipeOp, position: int) -> SymbolRefAttr:
    """Return the net of a result's possible receives, which must be one."""
    (net,) = {
        copy.pipe.type.net  # type: ignore[union-attr]
        for copy in ttl.copies_of(op.ends[position])
    }
    assert isinstance(net, SymbolRefAttr)
    return net
