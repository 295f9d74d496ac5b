"""Part of ttir-to-ttir-decomposition: a program for a mesh, as one graph of all devices' parts.

A value is the same on all devices, or a list with one for each. An operation with a list for an
operand is repeated for each device; `ttir.mesh_shard` and the collectives move parts between them.

rule SAME  an argument that no mesh_shard divides is the same on all devices
rule FULL  results are the same on all devices: mesh_shard joins the parts
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ttgraph.dialects.graph import shape_of
from ttl.dialects.building import around
from ttl.dialects.foreign.kept import text_of
from ttl.dialects.foreign.ttir import FormOp
from ttl.passes.module_pass import Maker, erase

from .decompose_call import in_range, result_type
from .graph_maker import Graph

Parts = SSAValue | list[SSAValue]
_SHAPE = re.compile(r"(?:\"\w*\"|meshShape) = (\d+)(?:x(\d+))?")
_REDUCERS = {"sum": "add", "mean": "add", "max": "maximum", "min": "minimum", "prod": "multiply"}


@dataclass(frozen=True, slots=True)
class Mesh:
    """Shape of a mesh; devices are counted row by row."""

    rows: int
    columns: int

    @property
    def places(self) -> list[tuple[int, int]]:
        return list(product(range(self.rows), range(self.columns)))

    def groups(self, axis: int) -> list[list[int]]:
        """Return the devices of each line along an axis."""
        lines: dict[int, list[int]] = {}
        for number, place in enumerate(self.places):
            lines.setdefault(place[1 - in_range(axis, 2)], []).append(number)
        return list(lines.values())


def is_distributed(op: Operation) -> bool:
    return isinstance(op, FormOp) and op.name.partition(".")[2] in _HANDLERS


def unroll_mesh(function: func.FuncOp, refused: Callable[[Operation, str], Exception]) -> None:
    """Change a function to compute all devices' parts. `refused` makes the error if it cannot."""
    found = [op for op in function.walk() if is_distributed(op)]
    if not found:
        return
    try:
        unrolling = _Unrolling(_mesh_of(function, found))
    except ValueError as error:
        raise refused(found[0], str(error)) from None
    except (LookupError, ArithmeticError):
        raise refused(found[0], "its attributes do not fit its operands") from None
    for op in list(function.body.block.ops):
        try:
            unrolling.step(op)
        except ValueError as error:
            raise refused(op, str(error)) from None
        except (LookupError, ArithmeticError):  # a missing device, a count of 0
            raise refused(op, "its attributes do not fit its operands or the mesh") from None
    for op in reversed(unrolling.done):
        erase(op)


def _mesh_of(function: func.FuncOp, found: list[Operation]) -> Mesh:
    """Return the mesh that the module declares, or that the operations imply."""
    if (given := _given_mesh(function)) is not None:
        return given
    sizes = [1, 1]
    for op in found:
        assert isinstance(op, FormOp)
        for axis, size in _sizes(op):
            sizes[axis] = max(sizes[axis], size)
    if sizes == [1, 1]:
        raise ValueError("the mesh is not known: the module has no `ttcore.meshes`")
    return Mesh(*sizes)


def _given_mesh(function: func.FuncOp) -> Mesh | None:
    for parent in around(function):
        texts = [text_of(each) or "" for each in parent.attributes.values()]
        texts += [str(op) for op in parent.walk() if op.name == "ttcore.device"]
        for text in texts:
            if (match := _SHAPE.search(text)) is not None:
                return Mesh(int(match[1]), int(match[2] or 1))
    return None


def _sizes(op: FormOp) -> Iterator[tuple[int, int]]:
    """Yield the axes and sizes of the mesh that an operation implies."""
    values, given = op.values(), shape_of(op.operands[0])
    result = tuple(result_type(op.results[0].type).get_shape())
    if "shard_dims" in values:
        for axis, dim in enumerate(values["shard_dims"][-2:]):
            if dim >= 0 and values["shard_type"] == "devices":
                yield axis, max(given[dim], result[dim]) // min(given[dim], result[dim])
    for name in ("all_gather_dim", "scatter_dim", "dim"):
        if name in values and values.get("cluster_axis") is not None:
            dim = in_range(values[name], len(given))
            pair = given[dim], result[dim]
            yield values["cluster_axis"], max(pair) // min(pair)
    for name in ("replica_groups", "source_target_pairs"):
        if name in values:
            yield 1, max(values[name]) + 1


@dataclass(slots=True)
class _Unrolling:
    mesh: Mesh
    values: dict[SSAValue, Parts] = field(default_factory=dict)
    done: list[Operation] = field(default_factory=list)

    def step(self, op: Operation) -> None:
        if isinstance(op, FormOp) and is_distributed(op):
            graph = Graph(Maker.before(op))
            call = _Call(graph, self.mesh, op, op.values(), self.parts(op.operands[0]))
            self.values[op.results[0]] = _HANDLERS[op.name.partition(".")[2]](call)
            self.done.append(op)
            return
        operands = [self.parts(each) for each in op.operands]
        if not any(isinstance(each, list) for each in operands):
            op.operands = [each for each in operands if isinstance(each, SSAValue)]
        elif isinstance(op, func.ReturnOp):  # rule FULL
            raise ValueError("parts of devices are returned: mesh_shard puts them together")
        else:
            self.each(op, operands)

    def parts(self, value: SSAValue) -> Parts:
        return self.values.get(value, value)

    def each(self, op: Operation, operands: list[Parts]) -> None:
        copies = []
        for device in range(len(self.mesh.places)):
            own = [_part(each, device) for each in operands]
            copy = op.clone(dict(zip(op.operands, own, strict=True)))
            assert op.parent is not None
            op.parent.insert_op_before(copy, op)
            copies.append(copy)
        for n, result in enumerate(op.results):
            self.values[result] = [copy.results[n] for copy in copies]
        self.done.append(op)


def _part(parts: Parts, device: int) -> SSAValue:
    return parts[device] if isinstance(parts, list) else parts


# Operations that move parts -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    graph: Graph
    mesh: Mesh
    op: FormOp
    values: dict[str, Any]
    given: Parts

    def of(self, device: int) -> SSAValue:
        return _part(self.given, device)

    def dim(self, name: str) -> int:
        return in_range(self.values[name], len(shape_of(self.of(0))))

    def by_group(
        self, groups: Sequence[Sequence[int]], make: Callable[[list[SSAValue]], list[SSAValue]]
    ) -> Parts:
        """Apply `make` to each group's parts; only once if all devices have the same value."""
        if not isinstance(self.given, list):
            found = make([self.given] * len(groups[0]))
            if all(each is found[0] for each in found):
                return found[0]
        result = [self.of(device) for device in range(len(self.mesh.places))]
        for group in groups:
            for device, part in zip(group, make([self.of(each) for each in group]), strict=True):
                result[device] = part
        return result

    @property
    def lists(self) -> list[list[int]]:
        """Return the replica groups."""
        flat, size = self.values["replica_groups"], _width(self.op.fields["replica_groups"])
        return [flat[n : n + size] for n in range(0, len(flat), size)]


def _width(attribute: Any) -> int:
    """Return the size of a group in a list of groups."""
    return int(attribute.type.get_shape()[-1])


def _shard(call: _Call) -> Parts:
    values = call.values
    dims = list(values["shard_dims"])[-2:]
    if values["shard_type"] != "devices" or all(dim < 0 for dim in dims):
        return call.of(0) if values["shard_direction"] == "shard_to_full" else call.given
    dims += [-1] * (2 - len(dims))  # a 1D mesh has only rows
    if dims[0] == dims[1]:
        raise ValueError("`shard_dims` that divide one dimension twice")
    if values["shard_direction"] == "full_to_shard":
        return [_piece(call, dims, place) for place in call.mesh.places]
    return _whole(call, dims)


def _piece(call: _Call, dims: list[int], place: tuple[int, int]) -> SSAValue:
    value, shape = call.of(0), result_type(call.op.results[0].type).get_shape()
    for dim, at in zip(dims, place, strict=True):
        if dim >= 0:
            value = call.graph.slice_along(value, dim, at * shape[dim], (at + 1) * shape[dim])
    return value


def _whole(call: _Call, dims: list[int]) -> SSAValue:
    columns = call.mesh.columns if dims[1] >= 0 else 1
    rows = call.mesh.rows if dims[0] >= 0 else 1
    found = []
    for row in range(rows):
        parts = [call.of(row * call.mesh.columns + column) for column in range(columns)]
        found.append(call.graph.concat(parts, dims[1]) if columns > 1 else parts[0])
    return call.graph.concat(found, dims[0]) if rows > 1 else found[0]


def _gather(call: _Call) -> Parts:
    dim, groups = call.dim("all_gather_dim"), call.mesh.groups(call.values["cluster_axis"])
    return call.by_group(groups, lambda parts: [call.graph.concat(parts, dim)] * len(parts))


def _reduce_parts(call: _Call, parts: list[SSAValue]) -> SSAValue:
    how = call.values["reduce_type"]
    if how not in _REDUCERS:
        raise ValueError(f"`reduce_type` {how}")
    total = parts[0]
    for part in parts[1:]:
        total = call.graph.binary(_REDUCERS[how], total, part)
    return total if how != "mean" else call.graph.binary("multiply", total, 1 / len(parts))


def _reduce(call: _Call) -> Parts:
    groups = call.mesh.groups(call.values["cluster_axis"])
    return call.by_group(groups, lambda parts: [_reduce_parts(call, parts)] * len(parts))


def _split(call: _Call, value: SSAValue, dim: int, count: int) -> list[SSAValue]:
    size = shape_of(value)[dim]
    if size % count:
        raise ValueError(f"{size} elements for {count} devices")
    step = size // count
    return [call.graph.slice_along(value, dim, n * step, (n + 1) * step) for n in range(count)]


def _scatter(call: _Call) -> Parts:
    dim, groups = call.dim("scatter_dim"), call.mesh.groups(call.values["cluster_axis"])
    return call.by_group(
        groups, lambda parts: _split(call, _reduce_parts(call, parts), dim, len(parts))
    )


def _partition(call: _Call) -> Parts:
    axis, dim = call.values["cluster_axis"], call.dim("dim")
    groups = [list(range(len(call.mesh.places)))] if axis is None else call.mesh.groups(axis)
    return call.by_group(
        groups,
        lambda parts: [_split(call, part, dim, len(parts))[n] for n, part in enumerate(parts)],
    )


def _exchange(call: _Call) -> Parts:
    split, join = call.dim("split_dim"), call.dim("concat_dim")

    def make(parts: list[SSAValue]) -> list[SSAValue]:
        pieces = [_split(call, part, split, call.values["split_count"]) for part in parts]
        return [call.graph.concat([each[n] for each in pieces], join) for n in range(len(parts))]

    return call.by_group(call.lists, make)


def _permute(call: _Call) -> Parts:
    flat = call.values["source_target_pairs"]
    sources = dict(zip(flat[1::2], flat[::2], strict=True))
    zeros = call.graph.full(0.0, result_type(call.op.results[0].type))
    devices = range(len(call.mesh.places))
    return [call.of(sources[each]) if each in sources else zeros for each in devices]


_HANDLERS: dict[str, Callable[[_Call], Parts]] = {
    "mesh_shard": _shard,
    "all_gather": _gather,
    "all_reduce": _reduce,
    "all_reduce_async": _reduce,
    "reduce_scatter": _scatter,
    "mesh_partition": _partition,
    "all_to_all": _exchange,
    "collective_permute": _permute,
    "collective_broadcast": lambda call: call.by_group(
        call.lists, lambda parts: [parts[0]] * len(parts)
    ),
}


def unroll_meshes(module: ModuleOp, refused: Callable[[Operation, str], Exception]) -> None:
    for op in list(module.walk()):
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            unroll_mesh(op, refused)
