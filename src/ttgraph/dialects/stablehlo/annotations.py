"""Annotations that divide the tensors of a graph among several devices, in the text they have.

`sdy` is how jax writes them today; attributes and calls of `mhlo` are how it wrote them before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation

from .calls import CustomCallOp
from .shardings import MeshOp, ShardingAttr, ShardingConstraintOp

COUNTS = ("mhlo.num_partitions", "mhlo.num_replicas")
SHARDING, SDY_SHARDING = "mhlo.sharding", "sdy.sharding"
# Custom calls that convert between a tensor and a device's part of it.
PARTS = ("SPMDFullToShardShape", "SPMDShardToFullShape")


def devices_of_meshes(module: ModuleOp) -> dict[str, int]:
    meshes = (op for op in module.ops if isinstance(op, MeshOp))
    return {op.sym_name.data: _count_axis_devices(op.axes.data) for op in meshes}


def annotations_of(op: Operation, meshes: Mapping[str, int]) -> Iterator[str]:
    """Yield the operation's annotations that divide tensors among several devices."""
    if isinstance(op, ModuleOp):
        for name in COUNTS:
            count = op.attributes.get(name)
            if isinstance(count, IntegerAttr) and count.value.data > 1:
                yield f"`{name} = {count.value.data}`"
    elif isinstance(op, MeshOp) and meshes.get(op.sym_name.data, 1) > 1:
        yield f"`sdy.mesh @{op.sym_name.data} = <{op.axes.data}>`"
    elif isinstance(op, ShardingConstraintOp) and _is_dividing(op.sharding.data, meshes):
        yield f"`sdy.sharding_constraint <{op.sharding.data}>`"
    elif isinstance(op, CustomCallOp) and op.call_target_name.data in PARTS:
        yield f"`stablehlo.custom_call @{op.call_target_name.data}`"
    for attributes in _dictionaries(op):
        old, new = attributes.get(SHARDING), attributes.get(SDY_SHARDING)
        if isinstance(old, StringAttr) and _count_devices(old.data) > 1:
            yield f'`{SHARDING} = "{old.data}"`'
        if isinstance(new, ShardingAttr) and _is_dividing(new.data, meshes):
            yield f"`{SDY_SHARDING}<{new.data}>`"


def _dictionaries(op: Operation) -> Iterator[Mapping[str, Attribute]]:
    """Yield the attributes of an operation, and of a function's arguments and results."""
    yield op.attributes
    if isinstance(op, func.FuncOp):
        for each in (op.arg_attrs, op.res_attrs):
            for part in each if isinstance(each, ArrayAttr) else ():
                yield part.data if isinstance(part, DictionaryAttr) else {}


def _is_dividing(sharding: str, meshes: Mapping[str, int]) -> bool:
    """Does `@mesh, [{"x"}, {}]` or `mesh<["x"=2]>, [{"x"}, {}]` name an axis of several devices?"""
    mesh, _, dimensions = sharding.partition(", [")
    name = mesh.removeprefix("@").strip('"')
    devices = meshes.get(name, 1) if mesh.startswith("@") else _count_axis_devices(mesh)
    return '"' in dimensions and devices > 1


def _count_axis_devices(axes: str) -> int:
    """Count the devices of `["x"=2, "y"=4]`; a mesh without axes has one."""
    return prod(int(size) for size in re.findall(r'"\s*=\s*(\d+)', axes))


def _count_devices(sharding: str) -> int:
    """Count the devices of `{devices=[2,1]<=[2]}`; 0 for `{replicated}`, `{maximal device=0}` and
    `{manual}`.
    """
    found = re.search(r"devices=\[([\d,]+)\]", sharding)
    return prod(map(int, found.group(1).split(","))) if found is not None else 1
