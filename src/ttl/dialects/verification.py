"""Verify a finished module, in every compilation."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from .ttkernel import MarkOp

Key = tuple[object, ...]


def verify_module(module: ModuleOp) -> None:
    """Verify like `module.verify()`, and also that values are made before they are used.

    Definitions of emitc check only classes of types and properties: of operations that are equal in
    these, one is verified.
    """
    _Check().module(module)


@cache
def _known() -> set[Key]:
    """Return the forms of operations that verified; there are as many as forms of calls."""
    return set()


class _Check:
    """Walks a module; `visible` are the values that an operation may use, by identity."""

    def __init__(self) -> None:
        self.known = _known()
        self.visible: set[int] = set()

    def module(self, module: ModuleOp) -> None:
        (block,) = module.body.blocks
        self.block(block, module)
        for trait in module.traits:
            if not isinstance(trait, IsolatedFromAbove):  # all visible values are made inside
                trait.verify(module)

    def block(self, block: Block, parent: Operation) -> None:
        if block.last_op is None:
            block.verify()
        inside = [id(argument) for argument in block.args]
        self.visible.update(inside)
        for op in block.ops:
            if op.parent is not block:
                raise ValueError("an operation has another parent than the block it is in")
            self.operation(op, parent)
            results = [id(result) for result in op.results]
            self.visible.update(results)
            inside += results
        self.visible.difference_update(inside)

    def operation(self, op: Operation, parent: Operation) -> None:
        if not self.visible.issuperset(map(id, op._operands)):
            raise VerifyException(f"{op.name} uses a value that is not made before it")
        if type(op) is ModuleOp:
            self.module(op)
            return
        for region in op.regions:
            for block in region.blocks:
                if block.parent is not region:
                    raise ValueError("a block has another parent than the region it is in")
                self.block(block, op)
        if not op.name.startswith("emitc.") and type(op) is not MarkOp:
            op.verify(verify_nested_ops=False)
        elif (key := _key(op, parent)) not in self.known:
            op.verify(verify_nested_ops=False)
            self.known.add(key)


def _key(op: Operation, parent: Operation) -> Key:
    """Return everything a definition checks; the last two say whether it must end its block."""
    return (
        type(op),
        tuple([type(operand.type) for operand in op._operands]),
        tuple([type(result.type) for result in op.results]),
        tuple([(name, type(value)) for name, value in op.properties.items()]),
        tuple([len(region.blocks) for region in op.regions]) if op.regions else (),
        len(op._successors),
        op.next_op is None,
        type(parent),
    )
