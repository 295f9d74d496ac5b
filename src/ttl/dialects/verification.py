"""The check of a finished module, which every compilation makes."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, ErasedSSAValue, Operation

from .emitc import CALLS_AND_VALUES, ENDS

Key = tuple[Any, ...]


def verify_module(module: ModuleOp) -> None:
    """As `module.verify()`, but of calls and values that are alike it looks at one only.

    What these may be says their definition, which knows nothing but types and properties.
    """
    _verify(module, set())


def _verify(op: Operation, known: set[Key]) -> None:
    for region in op.regions:
        for block in region.blocks:
            if block.parent is not region:
                raise ValueError("a block has another parent than the region it is in")
            _verify_block(block, known)
    op.verify(verify_nested_ops=False)


def _verify_block(block: Block, known: set[Key]) -> None:
    last = block.last_op
    if last is None:
        block.verify()
    for op in block.ops:
        if op.parent is not block:
            raise ValueError("an operation has another parent than the block it is in")
        if op.name not in (ENDS if op is last else CALLS_AND_VALUES):
            _verify(op, known)
            continue
        key = _key(op)
        if key not in known or any(isinstance(each, ErasedSSAValue) for each in op.operands):
            _verify(op, known)
            known.add(key)


def _key(op: Operation) -> Key:
    return (
        type(op),
        tuple([operand.type for operand in op.operands]),
        tuple([result.type for result in op.results]),
        tuple(op.properties.items()),
        tuple(op.attributes.items()),
        len(op.regions),
        len(op.successors),
    )
