"""Files that are cut, damaged or lie: a diagnostic, and never anything else."""

from __future__ import annotations

import copy
import random
import tracemalloc

import numpy as np
import pytest

import ttl
from graph_texts import binary, stitched
from ttgraph.flatbuffer import Runtime
from ttgraph.flatbuffer.reader import Malformed, read_binary
from ttgraph.flatbuffer.writer import _Writer, write_binary
from ttgraph.stablehlo import read_module
from ttl.diagnostics import UsageError

PLAIN = """
func.func @main(%a: tensor<4x6xf32>, %n: tensor<6xi32>) -> (tensor<6x4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %table = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %0 = stablehlo.add %n, %table : tensor<6xi32>
  %1 = stablehlo.convert %0 : (tensor<6xi32>) -> tensor<6xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.multiply %a, %2 : tensor<4x6xf32>
  %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %5 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return %4, %5 : tensor<6x4xf32>, tensor<4xf32>
}
"""  # noqa: E501
LIMIT = 64 * 2**20


def loaded(data: bytes) -> Runtime | None:
    """The runtime, or None if it was refused with the right code; anything else is a fault."""
    try:
        return Runtime(data, memory_bytes=LIMIT)
    except ttl.UsageError as error:
        assert error.diagnostics[0].code.code in ("TTL6020", "TTL6006")
        return None


def test_every_beginning_of_a_file_is_refused() -> None:
    data = binary(PLAIN)
    for length in range(len(data)):
        with pytest.raises(Malformed):
            _fully(data[:length])


def _fully(data: bytes) -> None:
    """The end of a file may be padding or text that nobody needs: then the rest reads as before."""
    if read_binary(data) == read_binary(binary(PLAIN)):
        raise Malformed("only unused bytes are missing")


def damaged(data: bytes, generator: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(generator.choice((1, 1, 2, 8))):
        position = generator.randrange(len(changed))
        changed[position] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
    if generator.random() < 0.2:
        start = generator.randrange(len(changed))
        del changed[start : start + generator.randrange(1, 16)]
    return bytes(changed)


def test_damaged_bytes_are_refused_or_run() -> None:
    data, generator = binary(PLAIN), random.Random(20260823)
    inputs = [np.ones((4, 6), np.float32), np.ones(6, np.int32)]
    ran = refused = 0
    for _ in range(1500):
        runtime = loaded(damaged(data, generator))
        if runtime is None:
            refused += 1
            continue
        try:
            runtime.run(inputs)
            ran += 1
        except ttl.UsageError:  # other shapes, or numbers that an operation has no meaning for
            refused += 1
    assert ran > 50 and refused > 500


def test_damaged_kernels_are_refused_or_load() -> None:
    """Not run: the C++ may be damaged too."""
    data, generator = binary(stitched(64, 32)), random.Random(7)
    found = [loaded(damaged(data, generator)) is None for _ in range(700)]
    assert 50 < sum(found) < 650


def test_random_bytes_behind_a_right_head() -> None:
    generator = random.Random(3)
    for _ in range(1000):
        body = generator.randbytes(generator.randrange(300))
        assert loaded(generator.randrange(64).to_bytes(4, "little") + b"TTNN" + body) is None


def test_work_and_memory_do_not_grow_with_the_numbers_in_a_file() -> None:
    """Each of many vectors claims to be as long as the file."""
    value = read_binary(binary(PLAIN))
    reference = value["programs"][0]["inputs"][0]
    value["programs"][0]["inputs"] = [reference] * 2000
    data = bytearray(write_binary(value))
    marker = struct_of(reference["desc"]["shape"])
    start = data.index(marker)
    data[start : start + 4] = (2**30).to_bytes(4, "little")
    tracemalloc.start()
    try:
        assert loaded(bytes(data)) is None
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def struct_of(shape: list[int]) -> bytes:
    return b"".join(number.to_bytes(4, "little") for number in (len(shape), *shape))


def test_tables_that_share_others_many_times_are_refused(monkeypatch) -> None:
    """A file of a megabyte that is gigabytes to whoever reads it."""
    value = copy.deepcopy(read_binary(binary(PLAIN)))
    operation = {**programs(value)["operations"][0], "debug_info": "x" * 10**6}
    programs(value)["operations"] = [operation] * 2000
    written, plain = {}, _Writer.table

    def shared(self, name, value):
        if name != "Operation":
            return plain(self, name, value)
        if id(value) not in written:
            written[id(value)] = plain(self, name, value)
        return written[id(value)]

    monkeypatch.setattr(_Writer, "table", shared)
    data = write_binary(value)
    assert len(data) < 1.1 * 10**6
    with pytest.raises(ttl.UsageError, match="refer to each other too often"):
        Runtime(data)


# Files that are whole and lie ---------------------------------------------------------------------


def programs(value):
    return value["programs"][0]


def operation(value, table, number=0):
    found = [op["type"] for op in programs(value)["operations"] if table in op["type"]]
    return found[number][table]


def descriptor(value):
    return operation(value, "GenericOp")["program"]["ProgramDescriptor"]


def kernel(value, number):
    return descriptor(value)["kernels"][number]


def description(value):
    """Of the first input, wherever it stands."""
    return programs(value)["inputs"][0]["desc"]


def empty_description(value):
    return operation(value, "EmptyOp")["out"]["desc"]


LIES = {
    "no version": lambda v: v.update(version=None),
    "version 9.0.0": lambda v: v.update(version={"major": 9, "minor": 0, "patch": 0}),
    "has no program": lambda v: v.update(programs=[]),
    "has no type": lambda v: programs(v)["operations"][0].update(type=None),
    "a tensor is missing": lambda v: operation(v, "ToLayoutOp").update({"in": None}),
    "is used while it does not exist": lambda v: programs(v)["operations"].insert(
        0, {"type": {"DeallocateOp": {"in": operation(v, "EmptyOp")["out"]}}}
    ),
    "is made while it exists": lambda v: programs(v)["operations"].append(
        {"type": {"EmptyOp": {"out": programs(v)["outputs"][0]}}}
    ),
    "is no shape of a tensor": lambda v: description(v).update(shape=[-1, 32]),
    r"to_layout gives|\(64, 32\), not": lambda v: description(v).update(shape=[2**30, 2**30]),
    "tiles of 16x16": lambda v: description(v)["layout"]["memory_desc"].update(
        tile_shape={"y": 16, "x": 16}
    ),
    "has no layout": lambda v: description(v).update(layout=None),
    "tensors of BFP_Float2": lambda v: description(v)["layout"]["memory_desc"].update(
        data_type="BFP_Float2"
    ),
    "HEIGHT_SHARDED without a shard spec": lambda v: description(v)["layout"]["memory_desc"][
        "memory_config"
    ].update(tensor_memory_layout="HeightSharded"),
    "bytes of memory, and there are": lambda v: programs(v)["operations"].insert(
        0,
        {
            "type": {
                "FullOp": {
                    "fill_value": 1.0,
                    "out": {
                        "global_id": 999,
                        "desc": {**copy.deepcopy(description(v)), "shape": [2**20, 2**20]},
                    },
                }
            }
        },
    ),
    "without a program for one device": lambda v: operation(v, "GenericOp").update(program=None),
    "without kernels": lambda v: descriptor(v).update(kernels=[], cbs=[]),
    "two kernels for the same processor": lambda v: descriptor(v)["kernels"].append(kernel(v, 0)),
    "is a path": lambda v: kernel(v, 0).update(source_type="FILE_PATH"),
    "no configuration": lambda v: kernel(v, 0).update(config=None),
    "do not begin with all its buffers": lambda v: kernel(v, 0)["ct_args"]["args"].pop(),
    "accessor of tensor 7 of 3": lambda v: kernel(v, 1)["ct_args"]["args"][3].update(
        arg={"KernelArgTensorAccessorArgs": {"operand_index": 7}}
    ),
    "2 accessors for 3 tensors": lambda v: kernel(v, 1)["ct_args"]["args"].pop(),
    "arguments of a kernel that are not known": lambda v: kernel(v, 1)["ct_args"]["args"].append(
        {"arg": {"KernelArgScalar": {"value": 1}}}
    ),
    "address of tensor 3 of 3": lambda v: kernel(v, 1)["common_rt_args"]["args"].append(
        {"arg": {"KernelArgBufferAddressOfTensor": {"tensor_idx": 3}}}
    ),
    "a runtime argument that is a": lambda v: kernel(v, 1).update(
        rt_args=[
            {
                "core_coord": {"x": 0, "y": 0},
                "args": [{"arg": {"KernelArgBufferAddress": {"buffer_address": 0}}}],
            }
        ]
    ),
    "without a value": lambda v: kernel(v, 1)["ct_args"]["args"].append({"arg": None}),
    "core .* is not in the": lambda v: _move(v, {"x": 60, "y": 60}),
    "there are no cores": lambda v: _move(v, {"x": 2**60, "y": 0}),
    "set of cores is missing": lambda v: kernel(v, 0).update(core_ranges=None),
    "on different cores": lambda v: kernel(v, 0)["core_ranges"]["core_ranges"].append(
        {"start_coord": {"x": 4, "y": 4}, "end_coord": {"x": 4, "y": 4}}
    ),
    "bytes in pages of 0": lambda v: descriptor(v)["cbs"][0]["formats"][0].update(page_size=0),
    "buffer of 4095 bytes": lambda v: descriptor(v)["cbs"][0].update(total_size=4095),
    "several formats": lambda v: descriptor(v)["cbs"][0].update(formats=[]),
    "mesh of 1x4 devices": lambda v: programs(v).update(mesh_shape={"y": 1, "x": 4}),
    "numbers of circular buffers": lambda v: _renumber(v, 77),
    "semaphores": lambda v: descriptor(v)["semaphores"].append(
        {
            "id": 99,
            "core_type": "WORKER",
            "core_ranges": kernel(v, 0)["core_ranges"],
            "initial_value": 0,
        }
    ),
    "semaphore 5 is used and not made": lambda v: operation(v, "GenericOp").update(
        additional_args=[{"GlobalSemaphoreRef": {"global_id": 5}}]
    ),
    "is not the name of a device header": lambda v: kernel(v, 0).update(
        source='#include "/etc/passwd"'
    ),
    "compiled for blackhole, not wormhole_b0": lambda v: _repeat(v, '{"target": "blackhole"}'),
}


def _move(value, corner):
    for part in (*descriptor(value)["kernels"], *descriptor(value)["cbs"]):
        ranges = part.get("core_ranges") or part["core_range"]
        ranges["core_ranges"] = [{"start_coord": corner, "end_coord": corner}]


def _repeat(value, debug):
    """The kernels once more, after themselves."""
    operations = programs(value)["operations"]
    (position,) = [n for n, op in enumerate(operations) if "GenericOp" in op["type"]]
    operations.insert(position + 1, {**operations[position], "debug_info": debug})


def _renumber(value, index):
    descriptor(value)["cbs"][0]["formats"][0]["buffer_index"] = index
    for each in descriptor(value)["kernels"]:
        each["ct_args"]["args"][0]["arg"] = {"KernelArgCBBufferIndex": {"buffer_index": index}}


@pytest.mark.parametrize("message", LIES)
def test_a_file_that_lies_is_refused(message) -> None:
    value = copy.deepcopy(read_binary(binary(stitched(64, 32))))
    LIES[message](value)
    with pytest.raises(ttl.UsageError, match=message):
        Runtime(write_binary(value))


def test_a_tensor_has_one_description() -> None:
    """Written as two tables, which the writer does not do by itself."""
    value = copy.deepcopy(read_binary(binary(PLAIN)))
    other = copy.deepcopy(description(value))
    other["shape"] = [6, 4]
    programs(value)["outputs"] = [{"global_id": 1000, "desc": other}]
    data = bytearray(write_binary(value))
    first = programs(value)["inputs"][0]["global_id"]
    start = data.index((1000).to_bytes(4, "little"))
    data[start : start + 4] = first.to_bytes(4, "little")
    with pytest.raises(ttl.UsageError, match=f"tensor {first} has two descriptions"):
        Runtime(bytes(data))


def test_names_for_messages_may_be_anything() -> None:
    value = read_binary(binary(stitched(64, 32)))
    arrays = [np.ones((64, 32), np.float32)] * 3
    for debug in ("", "nonsense", "[" * 10**5, '{"kernels": 5, "buffers": [{"span": [1]}]}'):
        for each in programs(value)["operations"]:
            each["debug_info"] = debug
        (found,) = Runtime(write_binary(value)).run(arrays)
        assert (found == 4).all()


def test_a_string_that_is_not_closed_is_found_at_once() -> None:
    """The parser of xDSL would take time exponential in its length."""
    with pytest.raises(UsageError, match=r"TTL8001.*this string is not closed"):
        read_module('module attributes {a = "' + "a" * 200)
    read_module('module { // a "comment\n}')


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("\\ = tensor<64x32xbf16>", 1, 1, "Unexpected character"),
        ('\n  \\ loc("x.py":1:1)', 2, 3, "Unexpected character"),
        ("module {\n  \\\n}", 2, 3, "Unexpected character"),
        ("module {\n} \\", 2, 3, "Unexpected character"),
        ("", 1, 1, "Could not parse"),
        ("#a = " + "[" * 3000, 1, None, "nested too deeply"),
        ('"builtin.module"() ({' * 2000, 1, None, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_ir_is_refused_at_its_place(
    text: str, line: int, column: int | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_module(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code.code == "TTL8001" and diagnostic.primary is not None
    assert diagnostic.primary.span.line == line
    assert column in (None, diagnostic.primary.span.column)


@pytest.mark.parametrize(
    "operation",
    [
        "stablehlo.add %a, %n : (tensor<4xf32>, tensor<6xi32>) -> tensor<4xf32>",
        "stablehlo.add %undefined, %a : tensor<4xf32>",
    ],
)
def test_a_module_that_is_wrong(operation: str) -> None:
    text = "func.func @main(%a: tensor<4xf32>, %n: tensor<6xi32>) {\n"
    with pytest.raises(UsageError, match="TTL8001"):
        read_module(f"{text} %1 = {operation}\n return\n}}")
