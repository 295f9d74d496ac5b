"""What assembly takes from the attributes of a lowered module."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, UnitAttr, i64

from golden.example_programs import example_module
from ttl.artifact import CompiledOperation, CoreArguments
from ttl.codegen import assemble
from ttl.dialects import emitc, ttl
from ttl.passes import PIPELINE


def words(*numbers: int) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(number, i64) for number in numbers])


def assembled(**arguments: ArrayAttr[IntegerAttr]) -> CompiledOperation:
    """An example on its 2x2 nodes, its reader with these runtime arguments."""
    module = example_module("elementwise", after=PIPELINE[-1])
    for file in module.ops:
        if isinstance(file, emitc.FileOp) and file.id.data == "read" and arguments:
            file.attributes["ttl.runtime_args"] = DictionaryAttr(arguments)
    last = [op for op in module.ops if isinstance(op, ttl.DeclareBufferOp)][-1]
    last.compiler_allocated = UnitAttr()
    return assemble("example", module, ())


def test_the_words_of_each_argument_are_those_of_the_nodes_in_order() -> None:
    compute, read, write = assembled(b=words(1, 2, 3, 4), a=words(5, 6, 7, 8)).kernels
    assert read.runtime_arg_names == ("b", "a")
    assert read.runtime_args == (
        CoreArguments((0, 0), (1, 5)),
        CoreArguments((1, 0), (2, 6)),
        CoreArguments((0, 1), (3, 7)),
        CoreArguments((1, 1), (4, 8)),
    )
    assert (compute.runtime_args, write.runtime_args) == ((), ())


def test_without_the_attribute_there_are_no_arguments() -> None:
    _, read, _ = assembled().kernels
    assert (read.runtime_arg_names, read.runtime_args) == ((), ())


def test_the_buffers_of_the_compiler_are_told_apart() -> None:
    assert [buffer.compiler_allocated for buffer in assembled().buffers] == [
        False,
        False,
        False,
        True,
    ]
