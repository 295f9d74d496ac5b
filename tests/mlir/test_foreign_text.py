"""Text of other tools goes in and comes out: what is computed, what is kept, what is refused."""

import numpy as np
import pytest

from mlir.corpus import Section, outcome, sections
from ttgraph.d2m_graph import run_ttir
from ttgraph.dialects import make_context
from ttl.cli import main, opt_main
from ttl.diagnostics import CompileError, UsageError
from ttl.dialects import print_module
from ttl.dialects.foreign.kept import KeptOp
from ttl.dialects.reading import parse_module

KEPT = """
#l1 = #ttcore.memory_space<l1>
#dram = #ttnn.buffer_type<dram>
#layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x32xf32, #dram>, <interleaved>>
module attributes {ttcore.system_desc = #ttcore.system_desc<[{role = host}], [{arch = <wormhole_b0>, grid = 8x8}], [0]>} {
  ttcore.device @default_device = <workerGrid = #ttcore.grid<8x8>, meshShape = , chipIds = [0]>
  func.func @layouts(%a: tensor<32x32xf32, #layout>, %d: !ttnn.device) -> tensor<32x32xf32, #layout> {
    %0 = "ttnn.to_layout"(%a, %d) <{layout = #ttnn.layout<tile>, dtype = #ttcore.supportedDataTypes<f32>}> : (tensor<32x32xf32, #layout>, !ttnn.device) -> tensor<32x32xf32, #layout>
    return %0 : tensor<32x32xf32, #layout>
  }
  func.func @threads(%a: memref<1x1x2x4x!ttcore.tile<32x32, f32>, #ttcore.shard<16384x4096, 1>, #l1>, %b: memref<1x1x2x4x!ttcore.tile<32x32, f32>, #ttcore.view<4>, #l1>) {
    d2m.generic {block_factors = [], grid = #ttcore.grid<1x1>, indexing_maps = [], iterator_types = [], threads = [#d2m.thread<unified>]}
        ins(%a : memref<1x1x2x4x!ttcore.tile<32x32, f32>, #ttcore.shard<16384x4096, 1>, #l1>)
        outs(%b : memref<1x1x2x4x!ttcore.tile<32x32, f32>, #ttcore.view<4>, #l1>) {
    ^unified0:
      %in = d2m.get_cb(0) : !d2m.cb<memref<2x4x!ttcore.tile<32x32, f32>, #l1>>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %c1 step %c1 {
        d2m.remote_load %a[%i, %c0] into %in : memref<1x1x2x4x!ttcore.tile<32x32, f32>, #ttcore.shard<16384x4096, 1>, #l1> into !d2m.cb<memref<2x4x!ttcore.tile<32x32, f32>, #l1>>
      } {d2m.blocking_loop = 1}
    }
    return
  }
  func.func private @kernel() attributes {ttkernel.arg_spec = #ttkernel.arg_spec<ct_args = [<arg_type = cb_port, operand_index = 0>]>, ttkernel.thread = #ttkernel.thread<noc>} {
    %n = arith.constant 4 : i32
    %cb = "ttkernel.get_compile_time_arg_val"() <{arg_index = 0 : i32}> : () -> !ttkernel.cb<4, !ttcore.tile<32x32, f32>>
    ttkernel.cb_wait_front(%cb, %n) : (!ttkernel.cb<4, !ttcore.tile<32x32, f32>>, i32) -> ()
    return
  }
}
"""  # noqa: E501


def read(text, *, unregistered=False):
    context = make_context()
    context.allow_unregistered = unregistered
    module = parse_module(text, "text.mlir", context)
    module.verify()
    return module


def test_kept_text_comes_out_as_it_went_in():
    printed = print_module(read(KEPT))
    assert printed == print_module(read(printed))
    for part in (
        "d2m.remote_load %a[%i, %c0] into %in : memref<",
        "#ttcore.system_desc<[{role = host}], [{arch = <wormhole_b0>, grid = 8x8}], [0]>",
        "memref<32x32xf32, #ttnn.buffer_type<dram>>, <interleaved>",
        "!ttkernel.cb<4, !ttcore.tile<32x32, f32>>",
        "ttcore.device @default_device = <workerGrid = #ttcore.grid<8x8>",
        "{d2m.blocking_loop = 1",
    ):
        assert part in printed


def test_corpus_counts(tmp_path):
    (tmp_path / "a.mlir").write_text(f'{KEPT}\n// -----\nmodule {{ "no.op"() : () -> () }}\n')
    found = [outcome(each) for each in sections(tmp_path)]
    assert [each.stage for each in found] == ["round-trips", "none"]
    assert "no.op is not among" in found[1].cause


def test_corpus_names_what_passes_miss(tmp_path):
    text = '"ttir.sampling"(%a) : (tensor<4xf32>) -> tensor<4xf32>'
    text = f"func.func @f(%a: tensor<4xf32>) {{ %0 = {text}\n return }}"
    found = outcome(Section(tmp_path, 0, text), "ttir-to-ttir-decomposition")
    assert found.cause == "passes: `ttir.sampling` is read, but not computed"


def test_attributes_that_do_not_fit_are_named(tmp_path):
    step = "dim = 0 : i32, begin = 0 : i32, end = 4 : i32, step = 0 : i32"
    text = f'"ttir.index"(%a) <{{{step}}}> : (tensor<4xf32>) -> tensor<4xf32>'
    text = f"func.func @f(%a: tensor<4xf32>) {{ %0 = {text}\n return }}"
    found = outcome(Section(tmp_path, 0, text), "ttir-to-ttir-decomposition")
    assert "its attributes do not fit its operands" in found.cause


def test_a_name_of_nobody_is_refused_unless_allowed():
    text = '"other.thing"() {a = #other.b<1 x>} : () -> ()'
    with pytest.raises(UsageError, match="other"):
        read(text)
    assert '"other.thing"() {a = #other.b<1 x>}' in print_module(read(text, unregistered=True))


GRAPH = """
func.func @main(%a: tensor<32x64xf32>, %b: tensor<32x64xf32>) -> tensor<32x32xf32> {{
  %0 = "ttir.matmul"(%a, %b) <{{{attributes}}}> : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}}"""  # noqa: E501


def test_attributes_are_honoured_or_refused():
    a, b = (np.random.default_rng(n).uniform(-1, 1, (32, 64)).astype(np.float32) for n in range(2))
    (found,) = run_ttir(read(GRAPH.format(attributes="transpose_b = true")), [a, b])
    np.testing.assert_allclose(found, a @ b.T, atol=2e-2)
    context = make_context()
    wrong = parse_module(GRAPH.format(attributes="transpose_c = true"), "g.mlir", context)
    with pytest.raises(CompileError, match="transpose_c"):
        run_ttir(wrong, [a, b])


def test_constants_run():
    text = """
    func.func @main(%a: tensor<32x32xf32>) -> tensor<32x32xf32> {
      %0 = "ttir.constant"() <{value = dense<1.5> : tensor<32x32xf32>}> : () -> tensor<32x32xf32>
      %1 = "ttir.add"(%a, %0) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      return %1 : tensor<32x32xf32>
    }"""
    (found,) = run_ttir(read(text), [np.ones((32, 32), np.float32)])
    assert (found == 2.5).all()


def test_a_splat_is_held_once():
    text = '%0 = "ttir.constant"() <{value = dense<6.0> : tensor<98x100000xf32>}> : () -> tensor<98x100000xf32>'  # noqa: E501
    module = read(text)
    (op,) = module.ops
    assert len(op.value.data.data) == 4
    assert "dense<6.000000e+00> : tensor<98x100000xf32>" in print_module(module)


@pytest.fixture
def file(tmp_path):
    def write(text):
        (tmp_path / "a.mlir").write_text(text)
        return str(tmp_path / "a.mlir")

    return write


def test_flatbuffer_of_nothing_is_refused(file, tmp_path, capsys):
    assert main(["opt", file("module {}"), "--flatbuffer", str(tmp_path / "a.ttnn")]) == 1
    assert "has no function" in capsys.readouterr().err
    assert not (tmp_path / "a.ttnn").exists()


MOVED = """
func.func @f(%a: tensor<32x64xf32>) -> tensor<64x32xf32> {
  %0 = "ttir.transpose"(%a) <{dim0 = 0 : si32, dim1 = 1 : si32}> : (tensor<32x64xf32>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
"""  # noqa: E501


def test_a_graph_that_the_host_does_alone_passes(file, capsys):
    assert main(["opt", file(MOVED), "--ttir-to-ttmetal-pipeline"]) == 0
    assert "ttir.permute" in capsys.readouterr().out


def test_what_a_pass_does_not_compute_is_named(file, capsys):
    assert main(["opt", file(KEPT), "-p", "d2m-allocate"]) == 1
    assert "TTL" in (err := capsys.readouterr().err) and "KeyError" not in err


@pytest.mark.parametrize(
    "text",
    [
        "!t = !ttcore.tile<32x32, f32>\n"
        "func.func @f(%a: !t) { %0 = arith.addf %a, %a : !t\n return }",
        "func.func @f(%a: !ttkernel.cb<abc def>) { return }",
    ],
)
def test_no_traceback(file, capsys, text):
    assert main(["opt", file(text)]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


def test_in_the_manner_of_mlir_opt(file, tmp_path, capsys):
    wrong = '// expected-error @+1 {{foo.bar is not among}}\n"foo.bar"() : () -> ()'
    both = file(f"{MOVED}// -----\n{wrong}\n")
    out = tmp_path / "out.mlir"
    words = ["--split-input-file", "--verify-diagnostics", "--ttir-to-ttir-decomposition"]
    assert opt_main([both, *words, "-o", str(out), "--mlir-print-ir-before-all"]) == 0
    assert "ttir.permute" in out.read_text()
    assert "IR before ttir-to-ttir-decomposition" in capsys.readouterr().err
    assert opt_main([both, "--split-input-file"]) == 1
    assert opt_main([file("// expected-error {{no}}\nmodule {}"), "--verify-diagnostics"]) == 1
    assert "was not reported" in capsys.readouterr().err


def test_one_dash_as_in_the_guide(file, capsys):
    assert opt_main([file(MOVED), "-ttir-to-ttmetal-frontend", "-print-ir-after-all"]) == 0
    assert "IR after ttir-to-d2m" in capsys.readouterr().err


def test_generic_text_and_what_failed(file, capsys):
    text = '%0 = "ttir.sampling"() : () -> tensor<4xf32>'
    words = ["--ttir-to-ttir-decomposition", "--mlir-print-ir-after-failure"]
    assert opt_main([file(text), *words]) == 1
    assert "IR after ttir-to-ttir-decomposition failed" in capsys.readouterr().err
    assert opt_main([file(MOVED), "--mlir-print-op-generic"]) == 0
    assert '"func.func"' in capsys.readouterr().out


def test_kept_operations_have_their_values():
    (op,) = (each for each in read(KEPT).walk() if each.name == "d2m.remote_load")
    assert isinstance(op, KeptOp) and len(op.operands) == 4


def test_corpus_runs_what_it_reads(tmp_path):
    """It runs, or what is missing is named; a module may stand in that of a device."""
    add = '%0 = "ttir.{}"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>'
    head = "func.func @f(%a: tensor<4xf32>) -> tensor<4xf32>"
    graph = f"{head} {{{{ {add}\n return %0 : tensor<4xf32> }}}}"
    inside = f"ttcore.device_module {{{{ builtin.module {{{{ {graph} }}}} }}}}"
    kernel = "ttkernel.noc_async_read_barrier_with_trid(%t, %n) : (i32, i8) -> ()"
    kernel = f"func.func @k(%t: i32, %n: i8) {{\n{kernel}\n return }}"
    for text, wanted in (
        (graph.format("add"), ""),
        (inside.format("add"), ""),
        (inside.format("sampling"), "run: `ttir.sampling` is read, but not computed"),
        (kernel, "run: pass `convert-ttkernel-to-emitc` cannot work on this IR: it does not"),
    ):
        found = outcome(Section(tmp_path, 0, text), is_run=True)
        assert found.stage == "round-trips"
        assert found.cause.startswith(wanted) and bool(found.cause) == bool(wanted)
