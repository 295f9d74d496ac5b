"""From StableHLO to ttnn.generic: what stays, what is checked, what is refused."""

from __future__ import annotations

import copy
import json

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.utils.exceptions import VerifyException

import graph_resolver
import ttl
from graph_texts import lowered, parsed, stitched
from ttgraph.dialects import make_context, ttir, ttnn
from ttgraph.passes import find_pass, run_passes
from ttl.artifact import ThreadKind, read_artifact
from ttl.dialects import print_module

TYPE = "tensor<64x32xbf16>"


def operations(module, kind):
    return [op for op in module.walk() if isinstance(op, kind)]


def apply(name, module, **options):
    run_passes([find_pass(name)(**options)], make_context(), module)
    return module


CALL = """
func.func @main(%a: tensor<64x32xbf16>, %b: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
  %0 = stablehlo.custom_call @tt.tt_lang_op(OPERANDS) {api_version = 0 : i32, mhlo.frontend_attributes = {ATTRIBUTES}} : (TYPES) -> tensor<64x32xbf16>
  return %0 : tensor<64x32xbf16>
}
"""  # noqa: E501


def call(attributes, count=2):
    text = CALL.replace("ATTRIBUTES", attributes)
    text = text.replace("OPERANDS", ", ".join(["%a", "%b", "%a", "%b"][:count]))
    return parsed(text.replace("TYPES", ", ".join([TYPE] * count)))


def test_a07_attributes_come_through_byte_for_byte() -> None:
    odd = r"a.b/c-\22d\22 \5C é"
    given = f'arg_roles = " in ,out", kernel_id = "{odd}", shard_spec = "{odd}", version_tag = "t"'
    module = call(given)
    for name in ("shlo-to-ttir", "ttnn-layout", "ttir-to-ttnn", "ttnn-deallocate"):
        apply(name, module)
    (op,) = operations(module, ttnn.TTLangOp)
    assert op.arg_roles.data == " in ,out"
    assert op.kernel_id.data == op.text_of("shard_spec") == 'a.b/c-"d" \\ é'
    assert op.version_tag.data == "t"
    assert op.kernel_artifact is None


@pytest.mark.parametrize(
    ("attributes", "count", "message"),
    [
        ('kernel_id = "k", version_tag = "t"', 2, "no `arg_roles`"),
        ('arg_roles = "in,out", version_tag = "t"', 2, "no `kernel_id`"),
        ('arg_roles = "in,out", kernel_id = "k", version_tag = ""', 2, "no `version_tag`"),
        ('arg_roles = "in,in", kernel_id = "k", version_tag = "t"', 2, "0 operands are `out`"),
        ('arg_roles = "in,out,out", kernel_id = "k", version_tag = "t"', 3, "it has 1 results"),
        ('arg_roles = "in,out", kernel_id = "k", version_tag = "t"', 3, "it has 3 operands"),
        ('arg_roles = "in,in,in,out", kernel_id = "k", version_tag = "t"', 2, "it has 2 operands"),
    ],
)
def test_a06_wrong_calls_are_refused(attributes, count, message) -> None:
    with pytest.raises(ttl.CompileError, match=f"TTL7021.*{message}"):
        apply("shlo-to-ttir", call(attributes, count))


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("stablehlo.custom_call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>", "a call of @f"),
        ("arith.addf %s, %s : f32", "arith.addf"),
    ],
)
def test_what_has_no_counterpart_is_named(operation, message) -> None:
    text = "func.func @main(%a: tensor<4xf32>, %n: tensor<4xi32>, %s: f32) {\n"
    module = parsed(f"{text} %0 = {operation}\n return\n}}")
    with pytest.raises(ttl.CompileError, match=f"TTL7020.*{message}"):
        apply("shlo-to-ttir", module)


def test_sizes_that_are_not_known_are_refused() -> None:
    text = "func.func @main(%a: tensor<?x4xf32>) {\nreturn\n}"
    with pytest.raises(ttl.CompileError, match="only fixed sizes are lowered"):
        apply("ttnn-layout", parsed(text))


# Verifiers ----------------------------------------------------------------------------------------

VERIFIED = [
    (0, '"in"', 1, "tt-lang kernel must have at least one input operand."),
    (2, '""', 1, "`arg_roles` attribute must not be empty."),
    (2, '"in,in,out"', 1, "`arg_roles` token count (3) must match number of inputs (2)."),
    (
        3,
        '"in, out, in"',
        1,
        '`arg_roles` must list all "in" operands before any "out" operand '
        "(destination-passing-style ordering).",
    ),
    (2, '"in,inout"', 1, '`arg_roles` token must be "in" or "out", got: "inout".'),
    (2, '"out,out"', 1, 'number of "out" roles (2) must match number of results (1).'),
    (2, '"in,in"', 0, 'tt-lang kernel must have at least one operand tagged "out" ('),
]


@pytest.mark.parametrize("dialect", ["ttir", "ttnn"])
@pytest.mark.parametrize(("inputs", "roles", "results", "message"), VERIFIED)
def test_a08_verifiers(dialect, inputs, roles, results, message) -> None:
    assert message in verified(dialect, inputs, roles, results)


@pytest.mark.parametrize("dialect", ["ttir", "ttnn"])
@pytest.mark.parametrize("name", ["kernel_id", "version_tag"])
def test_a08_names_are_not_empty(dialect, name) -> None:
    found = verified(dialect, 2, '"in,out"', 1, **{name: '""'})
    assert found == f"'{dialect}.tt_lang_op' op `{name}` attribute must not be empty."


@pytest.mark.parametrize("dialect", ["ttir", "ttnn"])
def test_a08_a_right_one_verifies(dialect) -> None:
    assert verified(dialect, 3, '"in,out,out"', 2) == ""


def verified(dialect, inputs, roles, results, kernel_id='"k"', version_tag='"t"'):
    given = f"arg_roles = {roles}, kernel_id = {kernel_id}, version_tag = {version_tag}"
    types = ", ".join([TYPE] * inputs)
    names = ", ".join(["%a"] * inputs)
    left = f"{', '.join(f'%{n}' for n in range(results))} = " if results else ""
    outs = f"({', '.join([TYPE] * results)})"
    op = f"{left}{dialect}.tt_lang_op({names}) {{{given}}} : ({types}) -> {outs}"
    module = parsed(f"func.func @main(%a: {TYPE}) {{\n{op}\nreturn\n}}")
    try:
        module.verify()
    except VerifyException as error:
        return str(error).splitlines()[-1].strip().removeprefix("Operation does not verify: ")
    return ""


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            "ttir.add(%a, %b) : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x8xf32>",
            "8, 3 do not",
        ),
        (
            "ttnn.matmul(%a, %b) : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>",
            "4x8 @ 4x3",
        ),
        ("ttir.neg(%a) : (tensor<4x8xf32>) -> tensor<8x4xf32>", r"the shape \(4, 8\)"),
        (
            "ttir.permute(%a) {permutation = array<i64: 0, 0>} : "
            "(tensor<4x8xf32>) -> tensor<4x4xf32>",
            "no permutation",
        ),
        ("ttir.permute(%a) : (tensor<4x8xf32>) -> tensor<8x4xf32>", "`permutation` is missing"),
        ("ttir.concat(%a) {dim = 0.5} : (tensor<4x8xf32>) -> tensor<4x8xf32>", "the kind int"),
        (
            "ttnn.sum(%a) {dim_arg = array<i64: 2>, keep_dim = true} : "
            "(tensor<4x8xf32>) -> tensor<4x8xf32>",
            "not dimensions of 4x8",
        ),
        (
            "ttnn.reshape(%a) {shape = array<i64: 3, 3>} : (tensor<4x8xf32>) -> tensor<3x3xf32>",
            "not as many elements",
        ),
        (
            "ttnn.expand(%a) {shape = array<i64: 4, 9>} : (tensor<4x8xf32>) -> tensor<4x9xf32>",
            "sizes 8, 9",
        ),
        (
            "ttnn.slice(%a) {begins = array<i64: 0, 0>, ends = array<i64: 5, 8>, "
            "step = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<5x8xf32>",
            "no slice of 4",
        ),
        (
            "ttnn.where(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>",
            "2 operands, not 3",
        ),
    ],
)
def test_graph_operations_are_verified(operation, message) -> None:
    text = "func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x3xf32>) {\n"
    with pytest.raises(VerifyException, match=message):
        parsed(f"{text}%0 = {operation}\nreturn\n}}").verify()


def test_the_text_of_all_stages_reads_back() -> None:
    for name in ("shlo-to-ttir", "ttnn-layout", "ttnn-resolve-tt-lang-kernels"):
        text = print_module(lowered(stitched(64, 32), name))
        assert print_module(parsed(text)) == text
    text = print_module(lowered(stitched(64, 32), "ttnn-lower-tt-lang-to-generic"))
    assert print_module(parsed(text)) == text


def test_numbers_that_are_no_numbers_read_back() -> None:
    op = "ttir.full() {fill_value = VALUE : f64, shape = []} : () -> tensor<f32>"
    text = f"func.func @f() {{\n%0 = {op}\nreturn\n}}"
    values = {"0xFFF0000000000000": "-inf", "0x7FF8000000000000": "nan", "0.1": "0.1"}
    for value, wanted in values.items():
        module = parsed(print_module(parsed(text.replace("VALUE", value))))
        (op,) = operations(module, ttir.MATH["full"])
        assert str(op.values()["fill_value"]) == wanted


# Layouts ------------------------------------------------------------------------------------------


def test_a09_operands_and_results_of_kernels_are_tiles() -> None:
    module = lowered(stitched(64, 32), "ttir-to-ttnn")
    (op,) = operations(module, ttnn.TTLangOp)
    layouts = [ttnn.layout_of(value.type) for value in (*op.inputs, *op.outputs)]
    assert all(layout is not None and layout.is_tiled for layout in layouts)
    moves = operations(module, ttnn.MATH["to_layout"])
    made_tiled = [bool(ttnn.layout_of(move.result.type).is_tiled) for move in moves]
    assert made_tiled == [True, True, True, False]  # three arguments, and the way back


# Resolving ----------------------------------------------------------------------------------------

RESOLVE = "ttnn-resolve-tt-lang-kernels"


def resolved(**options):
    module = lowered(stitched(64, 32), "ttnn-deallocate")
    return apply(RESOLVE, module, **{"python_module": "graph_resolver", **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mesh_shape": "1,,2"}, "mesh-shape contains an empty component"),
        ({"mesh_shape": "1,two"}, "'two' is not a non-negative integer"),
        ({"mesh_shape": "-1"}, "'-1' is not a non-negative integer"),
        (
            {"python_module": "no_such_module"},
            r"1 unresolved .* entry point is not importable: No module named 'no_such_module'",
        ),
        ({"python_function": "no_such"}, "entry point is not importable"),
        ({"python_function": "nothing"}, "returned an empty artifact for kernel 'add'"),
        ({"python_function": "failing"}, "tt-lang resolve failed for kernel 'add': KeyError"),
    ],
)
def test_a10_resolving_fails_with_these_words(options, message) -> None:
    with pytest.raises(ttl.CompileError, match=f"TTL7022.*{message}"):
        resolved(**options)


def test_a10_a_resolver_that_breaks_when_it_is_imported(monkeypatch, tmp_path) -> None:
    (tmp_path / "broken_resolver.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ttl.CompileError, match="entry point is not importable: division by zero"):
        resolved(python_module="broken_resolver")


def test_a10_nothing_is_imported_where_all_is_resolved() -> None:
    module = resolved()
    before = print_module(module)
    apply(RESOLVE, module, python_module="no_such_module")
    assert print_module(module) == before
    apply(RESOLVE, parsed("func.func @f() {\nreturn\n}"), python_module="no_such_module")


def test_a10_arguments_of_the_resolver() -> None:
    graph_resolver.ASKED.clear()
    resolved(mesh_shape=(1, 4))
    (asked,) = graph_resolver.ASKED
    assert asked == {
        "operation_id": "add",
        "shapes": [[64, 32]] * 3,
        "version_tag": "0123456789ab",
        "mesh_shape": [1, 4],
        "arg_roles": "in,in,out",
    }


@pytest.mark.parametrize("spec", ["", "rows"])
def test_a10_keywords_of_the_resolver(spec) -> None:
    """All of them; shard_spec only if there is one."""
    text = stitched(64, 32).replace('shard_spec = ""', f'shard_spec = "{spec}"')
    module = lowered(text, "ttnn-deallocate")
    apply(RESOLVE, module, python_module="graph_resolver", python_function="describe")
    (op,) = operations(module, ttnn.TTLangOp)
    asked = json.loads(op.text_of("kernel_artifact"))
    layouts = asked.pop("layouts")
    assert asked == {
        "operation_id": "add",
        "version_tag": "0123456789ab",
        "shapes": [[64, 32]] * 3,
        "dtypes": ["bf16"] * 3,
        "mesh_shape": [1],
        "arg_roles": "in,in,out",
        **({"shard_spec": spec} if spec else {}),
    }
    assert len(layouts) == 3
    assert all(each.startswith("#ttnn.ttnn_layout<") and "tile<32x32" in each for each in layouts)


def test_a10_errors_of_the_kernel_are_shown_with_its_lines(monkeypatch) -> None:
    @ttl.operation(grid=(1, 1))
    def wrong(a, b, out):
        ttl.make_dataflow_buffer_like(a, shape=(1, 1, 1, 1))

    monkeypatch.setitem(graph_resolver.OPERATIONS, "add", wrong)
    with pytest.raises(ttl.CompileError) as caught:
        resolved()
    first, second = caught.value.diagnostics[:2]
    assert first.message == "tt-lang resolve failed for kernel 'add'"
    assert second.primary is not None and second.primary.span.file == __file__


# Artifacts ----------------------------------------------------------------------------------------

ARTIFACT = {
    "format_version": 2,
    "num_pipe_sync_semaphores": 0,
    "num_pipe_global_semaphores": 0,
    "pipe_sram_scratch_bytes": 0,
    "core_range": {"start": [0, 0], "end": [1, 1]},
    "cb_configs": [
        {"buffer_index": 0, "page_size": 2048, "total_size": 4096, "data_format": "BFloat16"}
    ],
    "kernels": [
        {
            "thread_type": "compute",
            "cpp_source": "",
            "tensor_indices": [0],
            "kernel_config": {"type": "ComputeKernelConfig"},
        }
    ],
}
DELETED = object()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format_version"], 3, "unsupported format_version (expected 1 or 2)"),
        (["format_version"], True, "unsupported format_version"),
        (["format_version"], DELETED, "unsupported format_version"),
        (["num_pipe_sync_semaphores"], DELETED, "missing key 'num_pipe_sync_semaphores'"),
        (["num_pipe_sync_semaphores"], 10**9, "is more than 1024"),
        (["pipe_sram_scratch_bytes"], -1, "= -1 is out of range for uint32_t"),
        (["core_range"], DELETED, "missing key 'core_range'"),
        (["core_range"], [], "core_range is not an object"),
        (["core_range", "start"], [0], "core_range.start must have 2 elements"),
        (["core_range", "start"], [0, 0.5], "core_range.start[1] is not an integer"),
        (["core_range", "start"], [0, -1], "core_range.start must not be negative"),
        (["core_range", "start"], [2, 0], "is after its end"),
        (["core_range_set"], [], "core_range_set has no rectangle"),
        (["cb_configs"], DELETED, "missing key 'cb_configs'"),
        (["cb_configs"], {}, "cb_configs is not an array"),
        (["cb_configs", 0, "page_size"], DELETED, "cb_configs[0]: missing key 'page_size'"),
        (["cb_configs", 0, "buffer_index"], -1, "= -1 is out of range for uint32_t"),
        (["cb_configs", 0, "total_size"], 2**32, "is out of range for uint32_t"),
        (["cb_configs", 0, "total_size"], 2049, "is a circular buffer of 2049 bytes in pages of"),
        (["cb_configs", 0, "data_format"], "Float128", "'Float128' is not one of"),
        (["kernels"], [], "kernels is empty"),
        (["kernels", 0], "", "kernels[0] is not an object"),
        (["kernels", 0, "cpp_source"], DELETED, "kernels[0]: missing key 'cpp_source'"),
        (["kernels", 0, "cpp_source"], 1, "kernels[0].cpp_source is not a string"),
        (["kernels", 0, "thread_type"], "ethernet", "'ethernet' is not one of compute, noc"),
        (["kernels", 0, "thread_type"], "noc", "does not fit thread_type 'noc'"),
        (["kernels", 0, "kernel_config"], DELETED, "missing key 'kernel_config'"),
        (["kernels", 0, "kernel_config", "type"], DELETED, "missing key 'type'"),
        (["kernels", 0, "kernel_config", "type"], "ReaderKernelConfig", "does not fit"),
        (["kernels", 0, "kernel_config", "fp32_dest_acc_en"], 1, "is not a boolean"),
        (["kernels", 0, "tensor_indices"], [-1], "out of range for uint32_t"),
        (["kernels", 0, "tensor_indices"], ["0"], "is not an integer"),
        (["kernels", 0, "tensor_indices"], [2], "names tensor 2 of 2"),
        (["pyttl"], [], "pyttl is not an object"),
        (["pyttl"], {"kernels": []}, "has 0 entries, and there are 1 kernels"),
        (["pyttl"], {"kernels": [{"runtime_args": [{"core": [0], "args": []}]}]}, "2 elements"),
    ],
)
def test_a13_malformed_artifacts(path, value, message) -> None:
    artifact = copy.deepcopy(ARTIFACT)
    *outer, last = path
    place = artifact
    for part in outer:
        place = place[part]
    if value is DELETED:
        del place[last]
    else:
        place[last] = value
    assert message in lowering_error(json.dumps(artifact))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "run ttnn-resolve-tt-lang-kernels first"),
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[1]", "the root is not an object"),
    ],
)
def test_a13_no_artifact_at_all(text, message) -> None:
    assert message in lowering_error(text)


def lowering_error(artifact: str) -> str:
    module = call('arg_roles = "in,out", kernel_id = "k", version_tag = "t"')
    for name in ("shlo-to-ttir", "ttir-to-ttnn"):
        apply(name, module)
    (op,) = operations(module, ttnn.TTLangOp)
    op.attributes["kernel_artifact"] = StringAttr(artifact)
    with pytest.raises(ttl.CompileError) as caught:
        apply("ttnn-lower-tt-lang-to-generic", module)
    assert caught.value.diagnostics[0].code.code == "TTL7023"
    return str(caught.value)


def test_a12_the_artifact_of_the_compiler_is_read() -> None:
    (op,) = operations(lowered(stitched(64, 32), RESOLVE), ttnn.TTLangOp)
    parsed_text = json.loads(op.text_of("kernel_artifact"))
    artifact = read_artifact(parsed_text)
    version_2 = {**parsed_text, "format_version": 2}
    del version_2["num_pipe_nets"]
    assert read_artifact(version_2) == artifact
    assert [kernel.thread for kernel in artifact.operation.kernels] == list(ThreadKind)
    assert artifact.core_ranges == (((0, 0), (1, 1)),)
    assert [buffer.total_bytes for buffer in artifact.operation.buffers] == [4096] * 3
