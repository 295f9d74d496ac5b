"""What stands at which slot of the file, read with a reader that knows nothing of the schema.

The slots and tags here are written down a second time on purpose: they are those of tt-mlir.
"""

from __future__ import annotations

import struct

import numpy as np
import pytest

import ttl
from graph_texts import TWO_OUTPUTS, binary, parsed, stitched
from ttgraph.flatbuffer import Runtime, compile_module, emit_flatbuffer
from ttgraph.flatbuffer.reader import read_binary
from ttgraph.flatbuffer.schema import (
    ENUMS,
    OWN_TAGS,
    STRUCTS,
    TABLES,
    UNIONS,
    UPSTREAM,
    slots,
)
from ttgraph.flatbuffer.writer import write_binary


class Table:
    """A table at a position: `table[slot]` is where the field is, or None."""

    def __init__(self, data: bytes, position: int):
        self.data, self.position = data, position

    def u(self, form: str, position: int) -> int:
        return struct.unpack_from("<" + form, self.data, position)[0]

    def __getitem__(self, slot: int) -> int | None:
        vtable = self.position - self.u("i", self.position)
        if 4 + 2 * slot >= self.u("H", vtable):
            return None
        offset = self.u("H", vtable + 4 + 2 * slot)
        return self.position + offset if offset else None

    def number(self, slot: int, form: str = "I") -> int:
        place = self[slot]
        return 0 if place is None else self.u(form, place)

    def table(self, slot: int) -> Table:
        place = self[slot]
        assert place is not None
        return Table(self.data, place + self.u("I", place))

    def vector(self, slot: int) -> tuple[int, int]:
        """Where the elements begin, and how many there are."""
        place = self[slot]
        if place is None:
            return 0, 0
        start = place + self.u("I", place)
        return start + 4, self.u("I", start)

    def tables(self, slot: int) -> list[Table]:
        start, count = self.vector(slot)
        places = range(start, start + 4 * count, 4)
        return [Table(self.data, place + self.u("I", place)) for place in places]

    def text(self, slot: int) -> str:
        start, count = self.vector(slot)
        return self.data[start : start + count].decode()


def root(data: bytes) -> Table:
    return Table(data, struct.unpack_from("<I", data, 0)[0])


TTNN_BINARY = {"version": 0, "schema_hash": 1, "mlir": 4, "programs": 5}
PROGRAM = {"name": 0, "inputs": 1, "outputs": 2, "operations": 3, "mesh_shape": 7}
# The tag of the union is at slot 0, the table at slot 1.
ELTWISE_BINARY, DEALLOCATE, EMPTY, GENERIC, TO_LAYOUT = 36, 29, 43, 52, 111


def program_of(text: str) -> Table:
    (program,) = root(binary(text)).tables(TTNN_BINARY["programs"])
    return program


def operations_of(program: Table) -> list[tuple[int, Table]]:
    return [(op.number(0, "B"), op.table(1)) for op in program.tables(PROGRAM["operations"])]


def test_a14_the_file_and_its_program() -> None:
    data = binary(stitched(64, 32))
    assert data[4:8] == b"TTNN"
    program = program_of(stitched(64, 32))
    assert program.text(PROGRAM["name"]) == "main"
    assert len(program.tables(PROGRAM["inputs"])) == 3
    assert len(program.tables(PROGRAM["outputs"])) == 1
    mesh = program[PROGRAM["mesh_shape"]]
    assert struct.unpack_from("<ii", data, mesh) == (1, 1)
    tags = [tag for tag, _ in operations_of(program)]
    kept = [tag for tag in tags if tag != DEALLOCATE]
    assert kept == [TO_LAYOUT] * 3 + [ELTWISE_BINARY, EMPTY, GENERIC, ELTWISE_BINARY, TO_LAYOUT]


def test_a14_a_tensor() -> None:
    """TensorRef{global_id, desc}, TensorDesc{shape, mesh_shape, layout, ...} and below."""
    argument = program_of(stitched(64, 32)).tables(PROGRAM["inputs"])[0]
    description = argument.table(1)
    start, count = description.vector(0)
    assert struct.unpack_from(f"<{count}i", argument.data, start) == (64, 32)
    memory = description.table(2).table(1)
    assert struct.unpack_from("<ii", argument.data, memory[1]) == (1, 1)  # rows
    assert memory.number(2, "H") == 2  # BFloat16
    assert memory.table(3).number(0, "H") == 0  # interleaved
    assert memory.table(3).number(1, "H") == 0  # DRAM


def generic_of(text: str) -> Table:
    return next(op for tag, op in operations_of(program_of(text)) if tag == GENERIC)


def kernels_of(generic: Table) -> list[Table]:
    assert generic.number(3, "B") == 1  # ProgramDescriptor; slots 1 and 2 are the union of vectors
    return generic.table(4).tables(0)


def arguments_of(args: Table) -> list[tuple[int, int]]:
    """(tag, number) of each KernelArg."""
    return [(arg.number(0, "B"), arg.table(1).number(0)) for arg in args.tables(0)]


def test_a14_kernels_hold_their_source_and_arguments() -> None:
    kernels = kernels_of(generic_of(stitched(64, 32)))
    configs = [kernel.number(2, "B") for kernel in kernels]
    assert configs == [1, 3, 4]  # compute, reader, writer
    for kernel in kernels:
        assert "void kernel_main()" in kernel.text(0)
        assert kernel[1] is None  # source_type: SOURCE_CODE is the default
        start, count = kernel.table(4).vector(0)
        assert count == 1
        assert struct.unpack_from("<4Q", kernel.data, start) == (0, 0, 1, 1)
    buffers, accessors = [(1, n) for n in range(3)], [(8, n) for n in range(3)]
    compute, reader, writer = (arguments_of(kernel.table(5)) for kernel in kernels)
    assert compute == buffers
    assert reader == writer == buffers + accessors
    common = [arguments_of(kernel.table(7)) for kernel in kernels]
    assert common == [[], [(3, 0), (3, 1)], [(3, 2)]]


def test_a14_buffers() -> None:
    descriptor = generic_of(stitched(64, 32)).table(4)
    assert descriptor.tables(1) == []
    for index, buffer in enumerate(descriptor.tables(2)):
        assert buffer.number(0) == 4096
        (form,) = buffer.tables(2)
        assert (form.number(0), form.number(1, "H"), form.number(2)) == (index, 2, 2048)


def test_a14_words_of_each_core_and_the_width_of_dst() -> None:
    """Rows differ between the nodes; f32 goes to DST in 32 bits."""
    compute, reader, _ = kernels_of(generic_of(TWO_OUTPUTS))
    cores = reader.tables(6)
    coordinates = [struct.unpack_from("<2Q", core.data, core[0]) for core in cores]
    assert coordinates == [(0, 0), (1, 0)]
    words = [[arg.table(1).number(0) for arg in core.tables(1)] for core in cores]
    assert sorted(words[0]) == [0, 2] and words[1] == [1, 1]
    assert {arg.number(0, "B") for core in cores for arg in core.tables(1)} == {7}
    config = compute.table(3)
    assert config.number(1, "B") == 1  # fp32_dest_acc_en


def test_a15_a_result_is_the_tensor_it_was_written_to() -> None:
    """The numbers of io_tensors go on; nothing is freed that is used, and nothing leaks."""
    program = program_of(TWO_OUTPUTS)
    generics = [op for tag, op in operations_of(program) if tag == GENERIC]
    first, second = ([ref.number(0) for ref in op.tables(0)] for op in generics)
    assert len(set(first)) == len(set(second)) == 4
    assert second[:2] == first[2:]
    assert not set(second[2:]) & set(first)
    freed = [op.table(0).number(0) for tag, op in operations_of(program) if tag == DEALLOCATE]
    returned = [ref.number(0) for ref in program.tables(PROGRAM["outputs"])]
    assert len(set(freed)) == len(freed)
    assert not set(freed) & set(returned)


def test_equal_graphs_give_equal_bytes() -> None:
    again = compile_module(parsed(TWO_OUTPUTS), python_module="graph_resolver")
    assert again == binary(TWO_OUTPUTS)


def test_programs_of_one_file_have_tensors_of_their_own() -> None:
    one, two = "tensor<4xf32>", "tensor<2x3xf32>"
    text = "\n".join(
        f"func.func @{name}(%a: {type}) -> {type} {{\n"
        f"%0 = stablehlo.negate %a : {type}\nreturn %0 : {type}\n}}"
        for name, type in (("one", one), ("two", two))
    )
    runtime = Runtime(binary(text))
    assert [program.name for program in runtime.programs] == ["one", "two"]
    array = np.ones((2, 3), np.float32)
    assert (runtime.run([array], program=1)[0] == -1).all()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("{kernels = [{colour = 3 : i64}]}", "a KernelDescriptor has no `colour`"),
        ('{kernels = [{source_type = "PATH"}]}', "there is no SourceType `PATH`"),
        ("{cbs = [{total_size = -1 : i64}]}", "-1 is no uint"),
        ("{kernels = [{source = 3 : i64}]}", "3 is no text"),
        ("{cbs = 3 : i64}", "3 is no list"),
        ("{kernels = [{config = {}}]}", "is no member of KernelConfig"),
    ],
)
def test_a_program_that_does_not_fit_the_schema_is_refused(program, message) -> None:
    operands = "() <{operandSegmentSizes = array<i32: 0, 0>}>"
    op = f'"ttnn.generic"{operands} {{program = {program}}} : () -> ()'
    with pytest.raises(ttl.CompileError, match=message):
        emit_flatbuffer(parsed(f"func.func @f() {{\n{op}\nreturn\n}}"))


# The schema itself --------------------------------------------------------------------------------


def test_slots_of_the_public_tables() -> None:
    """As tt-mlir's notes list them, written down here once more."""
    listed = {
        "TTNNBinary": "version schema_hash ttmlir_git_hash system_desc mlir programs",
        "Program": "name inputs outputs operations dylibs debug_info private mesh_shape "
        "semaphore_inputs",
        "Operation": "type type debug_info loc_info",
        "TensorRef": "global_id desc",
        "TensorDesc": "shape mesh_shape layout shard_status local_shape",
        "LayoutDesc": "oob_val memory_desc",
        "MemoryDesc": "storage_type tile_shape data_type memory_config",
        "MemoryConfig": "tensor_memory_layout buffer_type shard_spec nd_shard_spec",
        "GenericOp": "io_tensors additional_args additional_args program program",
        "ProgramDescriptor": "kernels semaphores cbs",
        "KernelDescriptor": "source source_type config config core_ranges ct_args rt_args "
        "common_rt_args",
        "KernelArgs": "args",
        "CoreArgs": "core_coord args",
        "KernelCBDescriptor": "total_size core_range formats buffer",
        "KernelCBFormat": "buffer_index dtype page_size",
        "SemaphoreDescriptor": "id core_type core_ranges initial_value",
        "KernelArgTensorAccessorArgs": "operand_index",
    }
    assert set(listed) == set(UPSTREAM)
    for table, fields in listed.items():
        names = fields.split()
        assert [names[slot] for _, _, _, slot in slots(table)] == [f[0] for f in TABLES[table]]
        assert len(names) == sum(2 if f[1].strip("[]") in UNIONS else 1 for f in TABLES[table])


def test_tags_of_the_public_unions() -> None:
    assert {name: tag for name, tag in UNIONS["OpType"].items() if tag < OWN_TAGS} == {
        "DeallocateOp": 29,
        "EltwiseBinaryOp": 36,
        "EltwiseUnaryOp": 40,
        "EmptyOp": 43,
        "FromDeviceOp": 48,
        "FullOp": 49,
        "GenericOp": 52,
        "GetDeviceOp": 53,
        "MatmulOp": 62,
        "ToDeviceOp": 110,
        "ToLayoutOp": 111,
        "ToMemoryConfigOp": 112,
        "TypecastOp": 114,
        "CreateGlobalSemaphoreOp": 128,
    }
    arguments = (
        "CBBufferIndex BufferAddress BufferAddressOfTensor SemaphoreAt NamedArgument "
        "GlobalSemaphore Scalar TensorAccessorArgs"
    )
    assert UNIONS["KernelArgType"] == {
        f"KernelArg{name}": tag for tag, name in enumerate(arguments.split(), 1)
    }
    assert list(UNIONS["KernelConfig"]) == [
        f"{kind}KernelConfig" for kind in ("Compute", "DataMovement", "Reader", "Writer")
    ]
    types = (
        "Float32 Float16 BFloat16 BFP_Float8 BFP_BFloat8 BFP_Float4 BFP_BFloat4 BFP_Float2 "
        "BFP_BFloat2 UInt32 UInt16 UInt8 Int32"
    )
    assert ENUMS["DataType"] == ("ushort", {n: i for i, n in enumerate(types.split())})
    assert ENUMS["SourceType"][1] == {"FILE_PATH": 0, "SOURCE_CODE": 1}
    assert STRUCTS["CoreRange"] == (("start_coord", "CoreCoord"), ("end_coord", "CoreCoord"))
    assert STRUCTS["CoreCoord"] == (("x", "ulong"), ("y", "ulong"))


def test_a_call_that_is_only_named_is_refused() -> None:
    value = read_binary(binary(stitched(64, 32)))
    value["programs"][0]["operations"][0]["type"] = {"GetDeviceOp": {}}
    with pytest.raises(ttl.UsageError, match="operation 0: GetDeviceOp is a call of tt-mlir"):
        Runtime(write_binary(value))
