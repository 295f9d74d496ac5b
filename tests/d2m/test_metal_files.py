"""Commands of ttmetal: as a flatbuffer, run from it and from text, at the addresses they name."""

import re

import numpy as np
import pytest

from kernels_d2m import elementwise
from stages_d2m import array, initial, parse
from ttgraph.flatbuffer import MetalRuntime
from ttgraph.flatbuffer.metal_schema import METAL_BINARY, METAL_IDENTIFIER
from ttgraph.flatbuffer.reader import read_binary
from ttgraph.flatbuffer.writer import write_binary
from ttgraph.metal_program import run_metal
from ttl import host
from ttl.cli import main
from ttl.diagnostics import CompileError, UsageError

GRAPH = """
func.func @main(%a: tensor<64x96xf32>, %b: tensor<96x64xf32>) -> tensor<64x64xf32> {
  %0 = "ttir.matmul"(%a, %b) : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  %1 = "ttir.constant"() <{value = dense<2.0> : tensor<64x64xf32>}> : () -> tensor<64x64xf32>
  %2 = "ttir.multiply"(%0, %1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %2 : tensor<64x64xf32>
}
"""
# With a move of elements, which the host does.
MOVED = GRAPH.replace("-> tensor<64x64xf32> {", "-> tensor<128x32xf32> {").replace(
    "  func.return %2 : tensor<64x64xf32>",
    '  %3 = "ttir.reshape"(%2) <{shape = [128 : i32, 32 : i32]}> : (tensor<64x64xf32>) -> '
    "tensor<128x32xf32>\n  func.return %3 : tensor<128x32xf32>",
)
LOWERED = ["-ttir-to-ttmetal-backend", "-ttmetal-to-flatbuffer-bin"]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


A, B = numbers(64, 96), numbers(96, 64)


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    """As the guide writes it: ttc test.mlir -ttir-to-ttmetal-backend ... -o out.ttb"""
    folder = tmp_path_factory.mktemp("metal")
    (folder / "test.mlir").write_text(GRAPH)
    assert main(["opt", str(folder / "test.mlir"), *LOWERED, "-o", str(folder / "out.ttb")]) == 0
    return (folder / "out.ttb").read_bytes()


def test_a_graph_runs_from_its_file(binary):
    assert binary[4:8] == b"TTM0"
    runtime = MetalRuntime(binary)
    assert [each.shape for each in runtime.inputs] == [(64, 96), (96, 64)]
    (found,) = runtime.run([A, B])
    np.testing.assert_array_equal(found, 2 * (A @ B))
    with pytest.raises(UsageError, match="shape"):
        runtime.run([B, A])


def test_it_is_written_the_same_again(binary):
    value = read_binary(binary, METAL_BINARY, METAL_IDENTIFIER)
    again = write_binary(value, METAL_BINARY, METAL_IDENTIFIER)
    once_more = read_binary(again, METAL_BINARY, METAL_IDENTIFIER)
    assert write_binary(once_more, METAL_BINARY, METAL_IDENTIFIER) == again
    assert value["system_desc"]["chip_descs"][0]["grid_size"] == {"y": 8, "x": 8}


@pytest.mark.parametrize("suffix", ["ttb", "mlir"])
def test_the_command_line_runs_both(suffix, binary, tmp_path, capsys):
    file = tmp_path / f"test.{suffix}"
    file.write_bytes(binary if suffix == "ttb" else GRAPH.encode())
    np.savez(tmp_path / "in.npz", A, B)
    given = ["--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "out.npz")]
    assert main(["run-metal", str(file), *given]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["arr_0"], 2 * (A @ B))
    np.savez(tmp_path / "in.npz", B)
    assert main(["run-metal", str(file), *given]) == 1
    assert "has (96, 64), and not (64, 96), (96, 64)" in capsys.readouterr().err


def test_a_program_of_threads_runs_from_its_text(monkeypatch, tmp_path, capsys):
    file = tmp_path / "test.mlir"
    file.write_text(initial(elementwise("+"), monkeypatch, tmp_path))
    assert main(["run-metal", str(file), "--outputs", str(tmp_path / "out.npz")]) == 0
    assert main(["opt", str(file), *LOWERED, "-o", str(tmp_path / "out.ttb")]) == 0
    again = tmp_path / "again.npz"
    assert main(["run-metal", str(tmp_path / "out.ttb"), "--outputs", str(again)]) == 0
    first = np.load(tmp_path / "out.npz")["arr_0"]
    assert first.any()
    np.testing.assert_array_equal(np.load(again)["arr_0"], first)


def test_fused_math_of_others(monkeypatch, tmp_path):
    """Several operations in one linalg.generic, some of them arith, as in graphs of tt-mlir."""
    text = initial(elementwise("+"), monkeypatch, tmp_path)
    tile = re.search(r"(%\d+) = d2m.tile_add\((%\d+), (%\d+)\)[^\n]*", text)
    made = f"%m = arith.mulf {tile[2]}, {tile[3]} : !ttcore.tile<32x32, f32>\n"
    made += f"{tile[1]} = arith.addf %m, {tile[2]} : !ttcore.tile<32x32, f32>"
    file = tmp_path / "test.mlir"
    file.write_text(text.replace(tile[0], made))
    shape = tuple(map(int, re.search(r"%lhs: tensor<(\d+)x(\d+)xf32>", text).groups()))
    x, y = numbers(*shape), numbers(*shape) + 1
    np.savez(tmp_path / "in.npz", x, y)
    out = str(tmp_path / "out.npz")
    given = ["--inputs", str(tmp_path / "in.npz"), "--outputs", out]
    assert main(["run-metal", str(file), *given]) == 0
    np.testing.assert_array_equal(np.load(out)["arr_0"], x * y + x)


# Addresses ----------------------------------------------------------------------------------------


def final(monkeypatch, tmp_path):
    monkeypatch.setenv("TTLANG_FINAL_MLIR", str(tmp_path / "final.mlir"))
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    elementwise("+")(array(64, 64), array(64, 64), array(64, 64))
    return (tmp_path / "final.mlir").read_text()


def test_kernels_get_the_addresses_that_were_allocated(monkeypatch, tmp_path):
    text, seen = final(monkeypatch, tmp_path), []
    real = host.launch
    monkeypatch.setattr(
        host,
        "launch",
        lambda compiled, *args, **named: (
            seen.append([each.address for each in compiled.operands]),
            real(compiled, *args, **named),
        ),
    )
    out = array(64, 64) * 0
    run_metal(parse(text), [array(64, 64), array(64, 64), out])
    assert (out == 2).all()
    found = re.findall(r"create_buffer\((\d+) : i64\) : memref<\dx\dx", text)
    tiles = [int(each) for each in found]
    assert sorted(tiles) == tiles and len(set(tiles)) == 3
    (threads,) = (each for each in seen if len(each) == 3)
    assert threads == tiles


def test_buffers_at_one_place_are_refused(monkeypatch, tmp_path):
    text = final(monkeypatch, tmp_path)
    wrong = re.sub(r"create_buffer\(\d+ : i64\)", "create_buffer(64 : i64)", text)
    with pytest.raises(CompileError, match="at 64 of L1 overlaps one of") as refused:
        run_metal(parse(wrong), [array(64, 64)] * 3)
    assert refused.value.code == "TTL4001"
    wrong = re.sub(
        r"( *)(ttmetal.enqueue_program\(%\d+, %\d+, (%\d+)\).*)",
        r"\1ttmetal.deallocate_buffer(\3) : T\n\1\2",
        text,
        count=1,
    )
    type = re.search(r"create_buffer\(\d+ : i64\) : (memref<\dx\dx.*)", text)[1]
    with pytest.raises(CompileError, match="not created, or deallocated before"):
        run_metal(parse(wrong.replace(": T\n", f": {type}\n")), [array(64, 64)] * 3)


# What is no such file -----------------------------------------------------------------------------


def test_damaged_files(binary, tmp_path, capsys):
    for data, said in ((b"", "only 0 bytes"), (b"x" * 64, "identifier TTM0")):
        with pytest.raises(UsageError, match=said):
            MetalRuntime(data)
    (tmp_path / "x.ttb").write_bytes(binary[:999])
    assert main(["run-metal", str(tmp_path / "x.ttb")]) == 1
    assert "error[TTL6020]" in capsys.readouterr().err


def commands(value):
    (queue,) = value["programs"][0]["device_programs"][0]["command_queues"]
    return queue["commands"]


def of_kind(value, kind):
    return [each["type"][kind] for each in commands(value) if kind in each["type"]]


def overlapping(value):
    for each in of_kind(value, "CreateBufferCommand"):
        each["ref"]["address"] = 0


def kernels(value):
    return of_kind(value, "EnqueueProgramCommand")[0]["program"]["kernels"]


def changed_argument(value):
    kernels(value)[0]["args"]["ct_args"].reverse()


def other_cores(value):
    kernels(value)[0]["core_range_set"][0]["size"]["x"] = 99


def no_source(value):
    kernels(value)[0]["kernel"] = None


def reading_kernel(value):
    kernels(value)[0]["kernel"]["MetalKernelSource"]["source"] = '#include "/etc/passwd"'


def no_program(value):
    value["programs"] = []


def negative_shape(value):
    value["programs"][0]["inputs"][0]["desc"]["shape"] = [-1, 4]


def unknown_tensor(value):
    of_kind(value, "EnqueueWriteBufferCommand")[0]["src"]["global_id"] = 9999


MUTANTS = {
    overlapping: "overlaps",
    changed_argument: "compile-time arguments",
    other_cores: "cores",
    no_source: "without a value",
    reading_kernel: "not the name of a device header",
    no_program: "no program",
    negative_shape: "a tensor of shape",
    unknown_tensor: "9999",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.__name__)
def test_files_that_say_something_else(mutant, binary):
    value = read_binary(binary, METAL_BINARY, METAL_IDENTIFIER)
    mutant(value)
    with pytest.raises(UsageError, match=MUTANTS[mutant]):
        MetalRuntime(write_binary(value, METAL_BINARY, METAL_IDENTIFIER)).run([A, B])


def test_what_has_no_commands(tmp_path, capsys):
    file = tmp_path / "test.mlir"
    file.write_text(GRAPH)
    assert main(["opt", str(file), "--ttmetal-to-flatbuffer-bin", "-o", str(tmp_path / "o")]) == 1
    assert "lower it first: -ttir-to-ttmetal-backend" in capsys.readouterr().err
    file.write_text(MOVED)
    assert main(["opt", str(file), *LOWERED, "-o", str(tmp_path / "o")]) == 1
    assert "`ttir.reshape` is done by the host" in capsys.readouterr().err
    assert main(["run-metal", str(file)]) == 0
    assert "output 0 (128, 32) float32" in capsys.readouterr().out
