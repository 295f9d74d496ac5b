"""Flatbuffers run: plain calls against numpy, kernels, shards, several outputs, a new process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import graph_resolver
import ttl
from graph_texts import RESOLVER, SHARDED, TWO_OUTPUTS, binary, parsed, stitched
from recorded_events import events_of
from ttgraph.flatbuffer import Runtime, compile_module
from ttgraph.flatbuffer.reader import read_binary
from ttgraph.flatbuffer.writer import write_binary
from ttgraph.passes.pipelines import GRAPH
from ttl.cli import main
from ttl.driver.specs import TensorSpec, compile_from_spec
from ttl.semantics.dtypes import DTYPES
from ttl.trace import EventKind, Recorder

BF16 = ml_dtypes.bfloat16


def rounded(values):
    return values.astype(BF16).astype(np.float32)


def drawn(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)


@pytest.mark.parametrize("shape", [(64, 32), (128, 64)])
def test_a16_operations_and_the_kernel_between_them(shape) -> None:
    a, b, c = (drawn(*shape, seed=n, dtype=BF16) for n in range(3))
    recorder = Recorder()
    (found,) = Runtime(binary(stitched(*shape))).run([a, b, c], recorder=recorder)
    sums = rounded(rounded(a.astype(np.float32) + b) + b) + c.astype(np.float32)
    assert found.dtype == BF16
    assert (found == sums.astype(BF16)).all()
    pushed = [e for e in events_of(recorder) if e.kind is EventKind.BUFFER_PUSH]
    assert {event.subject for event in pushed} == {"a_dfb", "b_dfb", "out_dfb"}


def test_a16_several_outputs_have_buffers_of_their_own() -> None:
    a, b, out = (drawn(96, 32, seed=n) for n in range(3))
    total, product, same = Runtime(binary(TWO_OUTPUTS)).run([a, b, out])
    sums, products = a + b, a * b
    assert (total == sums + products + sums).all()
    assert (product == sums * products).all()
    assert (same == out).all()


@pytest.mark.parametrize(
    ("text", "name"), [(stitched(64, 32), "add"), (TWO_OUTPUTS, "sum_and_product")]
)
def test_nothing_of_an_operation_is_lost_on_the_way(text, name) -> None:
    """What the executor gets from the file is what it gets from the compiler."""
    runtime = Runtime(binary(text))
    (operation,) = next(iter(runtime._kernels.values()))
    specs = [TensorSpec(each.shape, DTYPES[each.dtype]) for each in operation.operands]
    compiled = compile_from_spec(graph_resolver.OPERATIONS[name], specs)
    assert operation == replace(compiled, operands=operation.operands)


def test_a_tensor_in_shards_stays_in_its_shards() -> None:
    runtime = Runtime(binary(SHARDED))
    described = runtime.programs[0].described(runtime.programs[0].inputs)
    for each in described:
        config = each.memory_config
        assert (config.memory_layout.name, config.buffer_type.name) == ("HEIGHT_SHARDED", "L1")
        assert repr(config.shard_spec.grid) == "{[0-0 - 1-0]}"
        assert config.shard_spec.shape == [32, 64]
    a, b, out = (drawn(64, 64, seed=n, dtype=BF16) for n in range(3))
    (found,) = runtime.run([a, b, out])
    assert (found == (a.astype(np.float32) + b).astype(BF16)).all()


def test_kernels_with_semaphores() -> None:
    """An artifact of version 2, of kernels that wait for each other on four nodes."""
    text = MULTICAST.format("tensor<32x64xbf16>", "tensor<32x256xbf16>")
    made = compile_module(parsed(text), python_module=RESOLVER, python_function="multicast")
    a = drawn(32, 64, dtype=BF16)
    (found,) = Runtime(made).run([a])
    assert (found == np.tile(a, (1, 4))).all()


def test_kernels_with_pipes() -> None:
    """Their scratch memory and semaphores come from the file; counters start at 0 in every run."""
    text = MULTICAST.format(*["tensor<32x128xf32>"] * 2).replace('"multicast"', '"spread"')
    runtime = Runtime(binary(text))
    a = drawn(32, 128)
    for _ in range(2):
        (found,) = runtime.run([a])
        assert (found == a + np.tile(a[:, :32], (1, 4))).all()


def test_a_set_of_rectangles_runs_on_each() -> None:
    """The rows of the grid as two rectangles: the kernels do not talk to each other."""
    value = read_binary(binary(stitched(64, 64)))
    ranges = [{"start_coord": {"x": 0, "y": y}, "end_coord": {"x": 1, "y": y}} for y in range(2)]
    for program in _generics(value):
        for each in (*program["kernels"], *program["cbs"]):
            each["core_ranges" if "core_ranges" in each else "core_range"]["core_ranges"] = ranges
    a, b, c = (drawn(64, 64, seed=n, dtype=BF16) for n in range(3))
    files = (binary(stitched(64, 64)), write_binary(value))
    whole, parts = (Runtime(data).run([a, b, c])[0] for data in files)
    assert (whole == parts).all()


def _generics(value):
    for operation in value["programs"][0]["operations"]:
        if "GenericOp" in operation["type"]:
            yield operation["type"]["GenericOp"]["program"]["ProgramDescriptor"]


# Plain calls --------------------------------------------------------------------------------------

MULTICAST = """
func.func @main(%a: {0}) -> {1} {{
  %0 = stablehlo.custom_call @tt.tt_lang_op(%a) {{api_version = 0 : i32, mhlo.frontend_attributes = {{arg_roles = "in,out", kernel_id = "multicast", shard_spec = "", version_tag = "t"}}}} : ({0}) -> {1}
  return %0 : {1}
}}
"""  # noqa: E501

CALLS = """
func.func @main(%a: tensor<2x40x24xf32>, %b: tensor<2x24x40xf32>, %n: tensor<40xi64>, %p: tensor<40xi1>) -> (tensor<2x40x40xf32>, tensor<2x40xf32>, tensor<80x24xf32>, tensor<3x24xf32>, tensor<40x2xi32>, tensor<40xf32>, tensor<40xi1>, tensor<2x40x24xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %table = stablehlo.constant dense<[[1, 2], [-3, 4]]> : tensor<2x2xi64>
  %product = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x40x24xf32>, tensor<2x24x40xf32>) -> tensor<2x40x40xf32>
  %most = stablehlo.reduce(%product init: %least) applies stablehlo.maximum across dimensions = [2] : (tensor<2x40x40xf32>, tensor<f32>) -> tensor<2x40xf32>
  %wide = stablehlo.broadcast_in_dim %most, dims = [0, 1] : (tensor<2x40xf32>) -> tensor<2x40x40xf32>
  %less = stablehlo.subtract %product, %wide : tensor<2x40x40xf32>
  %e = stablehlo.exponential %less : tensor<2x40x40xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x40x40xf32>, tensor<f32>) -> tensor<2x40xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<2x40xf32>) -> tensor<2x40x40xf32>
  %soft = stablehlo.divide %e, %sums : tensor<2x40x40xf32>
  %flat = stablehlo.reshape %a : (tensor<2x40x24xf32>) -> tensor<80x24xf32>
  %part = stablehlo.slice %flat [1:80:40, 0:24] : (tensor<80x24xf32>) -> tensor<2x24xf32>
  %row = stablehlo.slice %flat [5:6, 0:24] : (tensor<80x24xf32>) -> tensor<1x24xf32>
  %three = stablehlo.concatenate %part, %row, dim = 0 : (tensor<2x24xf32>, tensor<1x24xf32>) -> tensor<3x24xf32>
  %count = stablehlo.iota dim = 0 : tensor<40x2xi32>
  %x = stablehlo.convert %n : (tensor<40xi64>) -> tensor<40xf32>
  %r = stablehlo.rsqrt %x : tensor<40xf32>
  %chosen = stablehlo.select %p, %x, %r : tensor<40xi1>, tensor<40xf32>
  %four = stablehlo.constant dense<4> : tensor<40xi64>
  %gt = stablehlo.compare GT, %n, %four, SIGNED : (tensor<40xi64>, tensor<40xi64>) -> tensor<40xi1>
  %any = stablehlo.or %gt, %p : tensor<40xi1>
  %half = stablehlo.constant dense<5.000000e-01> : tensor<2x40x24xf32>
  %m0 = stablehlo.minimum %a, %half : tensor<2x40x24xf32>
  %m1 = stablehlo.tanh %m0 : tensor<2x40x24xf32>
  %m2 = stablehlo.power %half, %m1 : tensor<2x40x24xf32>
  %m3 = stablehlo.logistic %m2 : tensor<2x40x24xf32>
  %m4 = stablehlo.negate %m3 : tensor<2x40x24xf32>
  %m5 = stablehlo.floor %a : tensor<2x40x24xf32>
  %m6 = stablehlo.multiply %m4, %m5 : tensor<2x40x24xf32>
  return %soft, %sum, %flat, %three, %count, %chosen, %any, %m6 : tensor<2x40x40xf32>, tensor<2x40xf32>, tensor<80x24xf32>, tensor<3x24xf32>, tensor<40x2xi32>, tensor<40xf32>, tensor<40xi1>, tensor<2x40x24xf32>
}
"""  # noqa: E501


def test_plain_calls_are_those_of_numpy() -> None:
    a, b = drawn(2, 40, 24), drawn(2, 24, 40, seed=1)
    n, p = np.arange(1, 41), np.arange(40) % 3 == 0
    found = Runtime(binary(CALLS)).run([a, b, n, p])
    product = a @ b
    e = np.exp(product - product.max(axis=2, keepdims=True))
    flat = a.reshape(80, 24)
    wanted = [
        e / e.sum(axis=2, keepdims=True),
        e.sum(axis=2),
        flat,
        np.concatenate([flat[1:80:40], flat[5:6]]),
        np.repeat(np.arange(40)[:, None], 2, axis=1),
        np.where(p, n, 1 / np.sqrt(n)),
        (n > 4) | p,
        -1 / (1 + np.exp(-(0.5 ** np.tanh(np.minimum(a, 0.5))))) * np.floor(a),
    ]
    assert [array.dtype for array in found] == [np.float32] * 4 + [np.int32, np.float32, BF16] + [
        np.float32
    ]
    for array, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(array.astype(np.float64), right, rtol=2e-5, atol=2e-6)


def test_what_was_64_bits_must_fit() -> None:
    runtime = Runtime(binary(CALLS))
    arrays = [drawn(2, 40, 24), drawn(2, 24, 40), np.full(40, 2**40), np.ones(40, bool)]
    with pytest.raises(ttl.UsageError, match="input 2 of `main` has numbers that int32 cannot"):
        runtime.run(arrays)
    for wrong, message in ((1.5, "not whole"), (np.nan, "not whole"), ("a", "has no numbers")):
        arrays[2] = np.full(40, wrong)
        with pytest.raises(ttl.UsageError, match=message):
            runtime.run(arrays)
    with pytest.raises(ttl.UsageError, match="there are 1 programs, and not one 1"):
        runtime.run(arrays, program=1)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(64, 32)] * 2, "`main` has 3 inputs, not 2"),
        ([(64, 32), (64, 33), (64, 32)], r"input 1 of `main` has shape \(64, 33\), not \(64, 32\)"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(shapes, message) -> None:
    with pytest.raises(ttl.UsageError, match=message):
        Runtime(binary(stitched(64, 32))).run([drawn(*shape) for shape in shapes])


CONSTANTS = {
    "f32": ("dense<[0.1, -2.5, 0.0]>", [0.1, -2.5, 0.0]),
    "f64": ("dense<[0.1, -2.5, 0.0]>", [0.1, -2.5, 0.0]),
    "bf16": ("dense<[1.5, -2.5, 0.0]>", [1.5, -2.5, 0.0]),
    "f16": ("dense<[1.5, -2.5, 0.0]>", [1.5, -2.5, 0.0]),
    "i64": ("dense<[1, -2, 7]>", [1, -2, 7]),
    "i32": ("dense<7>", [7, 7, 7]),
    "i8": ("dense<[1, -2, 7]>", [1, -2, 7]),
    "ui8": ("dense<[1, 255, 7]>", [1, 255, 7]),
    "ui16": ("dense<[1, 65535, 7]>", [1, 65535, 7]),
    "i1": ("dense<[true, false, true]>", [1, 0, 1]),
    "i1 ": ("dense<true>", [1, 1, 1]),
}


def test_constants_of_every_type() -> None:
    lines = [
        f"%{n} = stablehlo.constant {value[0]} : tensor<3x{type.strip()}>"
        for n, (type, value) in enumerate(CONSTANTS.items())
    ]
    names = ", ".join(f"%{n}" for n in range(len(CONSTANTS)))
    types = ", ".join(f"tensor<3x{type.strip()}>" for type in CONSTANTS)
    body = "\n".join([*lines, f"return {names} : {types}"])
    found = Runtime(binary(f"func.func @main() -> ({types}) {{\n{body}\n}}")).run([])
    for array, (_, wanted) in zip(found, CONSTANTS.values(), strict=True):
        np.testing.assert_allclose(array.astype(np.float64), wanted, rtol=1e-7)


def test_a_fault_of_a_kernel_is_shown_at_its_line() -> None:
    """The compute kernel takes one block less than it is given."""
    value = read_binary(binary(TWO_OUTPUTS))
    compute = next(_generics(value))["kernels"][0]
    compute["rt_args"][0]["args"][-1]["arg"] = {"KernelArgScalar": {"value": 1}}
    arrays = [drawn(96, 32, seed=n) for n in range(3)]
    with pytest.raises(ttl.KernelFault) as caught:
        Runtime(write_binary(value)).run(arrays)
    text = str(caught.value)
    assert "graph_resolver.py" in text and "total_dfb" in text


# Another process ----------------------------------------------------------------------------------

CHILD = """
import sys
import numpy as np
from ttl.driver.specs import TensorSpec, compile_from_spec
from ttgraph.flatbuffer import Runtime
outputs = Runtime.from_file(sys.argv[1]).run([np.full((64, 32), n, np.float32) for n in (1, 2, 4)])
assert (outputs[0] == 9).all()
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "xdsl", "flatbuffers"}))
print("graph_resolver" in sys.modules)
"""


def test_a17_a_file_runs_where_nothing_of_the_program_is(tmp_path: Path) -> None:
    """No torch, no compiler and no user code are loaded; the kernels come from the file."""
    file = tmp_path / "model.ttnn"
    file.write_bytes(binary(stitched(64, 32)))
    command = [sys.executable, "-c", CHILD, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\nFalse\n"


def test_opt_writes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, file = tmp_path / "graph.mlir", tmp_path / "model.ttnn"
    graph.write_text(stitched(64, 32))
    names = [f"{n}{{python-module={RESOLVER}}}" if "resolve" in n else n for n in GRAPH]
    assert main(["opt", str(graph), "-p", ",".join(names), "--flatbuffer", str(file)]) == 0
    assert file.read_bytes() == binary(stitched(64, 32))
    assert main(["opt", str(graph), "--flatbuffer", str(file)]) == 1
    assert "tensor<64x32xbf16> has no layout" in capsys.readouterr().err
    assert main(["opt", str(graph), "-p", ",".join(GRAPH[:-2]), "--flatbuffer", str(file)]) == 1
    assert "ttnn.tt_lang_op cannot be written to a flatbuffer" in capsys.readouterr().err


def test_a17_the_command_runs_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: str(tmp_path / name) for name in ("model.ttnn", "in.npz", "out.npz", "trace")}
    Path(files["model.ttnn"]).write_bytes(binary(stitched(64, 32)))
    arrays = [drawn(64, 32, seed=n) for n in range(3)]
    np.savez(files["in.npz"], *arrays)
    command = ["run-flatbuffer", files["model.ttnn"]]
    given = ["--inputs", files["in.npz"], "--outputs", files["out.npz"], "--trace", files["trace"]]
    assert main([*command, *given]) == 0
    (direct,) = Runtime(binary(stitched(64, 32))).run(arrays)
    assert (np.load(files["out.npz"])["arr_0"] == direct.astype(np.float32)).all()
    assert "buffer_push" in Path(files["trace"]).read_text()
    np.savez(files["in.npz"], *(each.astype(BF16) for each in arrays))
    assert main([*command, *given]) == 0
    assert (np.load(files["out.npz"])["arr_0"] == direct.astype(np.float32)).all()
    with pytest.raises(SystemExit):
        main([*command, "--seed", "-1"])
    capsys.readouterr()
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("output 0 (64, 32) bfloat16:\n[[")
    assert main([*command, "--inputs", files["model.ttnn"]]) == 1
    assert "is no archive of arrays: numpy did not write it" in capsys.readouterr().err
    np.savez(files["in.npz"], arrays[0])
    assert main([*command, *given]) == 1
    assert "has arr_0, and not arr_0, arr_1, arr_2" in capsys.readouterr().err
    assert main(["run-flatbuffer", str(tmp_path / "missing.ttnn")]) == 1
    assert "error[TTL6003]" in capsys.readouterr().err


def test_a16_each_operation_is_resolved_once_and_running_resolves_nothing() -> None:
    graph_resolver.ASKED.clear()
    made = compile_module(parsed(stitched(64, 32)), python_module="graph_resolver")
    assert [asked["operation_id"] for asked in graph_resolver.ASKED] == ["add"]
    Runtime(made).run([drawn(64, 32)] * 3)
    assert len(graph_resolver.ASKED) == 1
