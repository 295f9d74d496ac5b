"""Reports of a running kernel: scopes of signposts, marks, prints and assertions."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ttl.dialects import emitc, ttkernel, ttl

from ..module_pass import Maker
from .cpp_control_flow import declare_variables
from .cpp_expressions import opaque_call
from .cpp_file import FileMaker, verbatim


def scope(file: FileMaker, op: emitc.VerbatimOp, make: Maker) -> None:
    """Write C++ text; before a scope begins, declare variables for values used after it."""
    escaping = _escaping(op) if op.value.data == "{" else []
    for value, variable in zip(escaping, declare_variables(file, escaping, make), strict=True):
        file.escaping[value] = variable
    verbatim(make, op.value.data)


def mark(file: FileMaker, op: ttkernel.MarkOp, make: Maker) -> None:
    operands = [file.values[value] for value in op.values]
    make.add(ttkernel.MarkOp.create(operands=operands, properties=dict(op.properties)))


def dprint(file: FileMaker, op: ttkernel.DprintOp, make: Maker) -> None:
    """Print; the format is a C++ string, arguments are scalars or C++ texts about a buffer."""
    file.includes.add(ttkernel.DPRINT)
    if thread := op.processor.data:
        file.includes.add(ttkernel.arguments_include(file.thread))
    arguments = [file.values[value] for value in op.values]
    if op.literals is not None:
        owner = arguments[0].owner
        assert isinstance(owner, emitc.LiteralOp)
        name = owner.value.data
        arguments = [file.literal(text.data.replace("%", name), make) for text in op.literals]
    text = file.literal(_cpp_string(op.format.data), make)
    callee = f"DPRINT_{thread}" if thread else "DPRINT"
    opaque_call(make, callee, [text, *arguments])


def check(file: FileMaker, op: ttl.AssertOp, make: Maker) -> None:
    """Assert; on the chip this costs nothing unless the watcher is on."""
    file.includes.add(ttkernel.ASSERT)
    opaque_call(make, "ASSERT", [file.values[op.condition]])


def _cpp_string(text: str) -> str:
    """Quote text; other than printable ASCII is in octal escapes, which end after three digits."""
    shown = {"\n": "\\n", '"': '\\"', "\\": "\\\\", "?": "\\?"}
    return (
        '"'
        + "".join(
            shown.get(chr(byte)) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
            for byte in text.encode()
        )
        + '"'
    )


def _escaping(start: emitc.VerbatimOp) -> list[SSAValue]:
    """Return scalars that are made before the end of the scope and used after it."""
    inside: dict[Operation, None] = {}
    depth, op = 1, start.next_op
    while op is not None and depth:
        if isinstance(op, emitc.VerbatimOp):
            depth += {"{": 1, "}": -1}.get(op.value.data, 0)
        inside[op] = None
        op = op.next_op
    block = start.parent
    assert block is not None
    return [
        result
        for each in inside
        if not isinstance(each, arith.ConstantOp)
        for result in each.results
        if any(block.find_ancestor_op_in_block(use.operation) not in inside for use in result.uses)
    ]
