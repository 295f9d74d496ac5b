"""C-3 to C-12, C-17: shapes, layouts, the IR of each stage and what is written to files."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from kernels_d2m import elementwise, every_dma, loopback, repeated
from pykernel.d2m_api import *
from pykernel.passes.pipelines import D2M, D2M_FRONTEND, D2M_MIDDLEEND
from stages_d2m import BLOCK, DEVICE, array, initial, lowered, parse, parse_own
from ttgraph.dialects import make_context
from ttgraph.metal_program import run_metal
from ttgraph.passes import find_pass
from ttgraph.passes.pipelines import PIPELINES
from ttl.cli import main
from ttl.codegen import print_file
from ttl.diagnostics import CompileError, RuleBroken, UsageError
from ttl.dialects import emitc, print_module
from ttl.dialects.metal import MetalLayoutAttr
from ttl.passes.pipelines import PIPELINE
from ttl.semantics.metal_layout import MetalLayout

EXAMPLES = Path(__file__).parents[2] / "examples" / "pykernel"


# C-3, C-4 -----------------------------------------------------------------------------------------

SHAPES = [
    ((128, 128), (2, 2), (128, 128), (4, 4), (2, 2, 2, 2)),
    ((32, 32), (1, 1), (32, 32), (1, 1), (1, 1, 1, 1)),
    ((4, 43, 7), (2, 1), (256, 32), (8, 1), (2, 1, 4, 1)),
    ((33, 1), (2, 1), (64, 32), (2, 1), (2, 1, 1, 1)),
    ((2, 3, 32, 64), (3, 2), (192, 64), (6, 2), (3, 2, 2, 1)),
]


@pytest.mark.parametrize(("logical", "grid", "collapsed", "physical", "device"), SHAPES)
def test_c3_shapes(logical, grid, collapsed, physical, device):
    layout = MetalLayout(logical)
    assert layout.collapsed_shape == collapsed
    assert layout.physical_shape == physical
    assert layout.device_shape(grid) == device


def test_c3_grid_must_divide():
    with pytest.raises(RuleBroken, match=r"dimension 1 of .* has 96 elements or 3 tiles"):
        MetalLayout((64, 96)).device_shape((2, 2))
    with pytest.raises(ValueError, match="which 2 cores cannot share"):
        elementwise("+", grid=(2, 2))(array(64, 96), array(64, 96), array(64, 96))


@pytest.mark.parametrize("space", ["l1", "dram"])
def test_c4_layout_text(space):
    layout = MetalLayoutAttr.of(MetalLayout((128, 128), space))
    assert str(layout) == (
        "#ttcore.metal_layout<logical_shape = 128x128, dim_alignments = 32x32, "
        "collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, undef, "
        f"{space}>"
    )


# C-5, C-6 -----------------------------------------------------------------------------------------


def test_c5_initial_ir(monkeypatch, tmp_path):
    text = initial(elementwise("+"), monkeypatch, tmp_path, (32, 32))
    assert re.search(
        r"d2m.generic \{block_factors = \[\], grid = #ttcore.grid<1x1>, indexing_maps = \[\], "
        r"iterator_types = \[\], threads = \[#d2m.thread<datamovement>, #d2m.thread<compute>\]\}",
        text,
    )
    order = [
        "ttcore.global @lhs = ",
        "ttcore.global @rhs = ",
        "%lhs: tensor<32x32xf32> {d2m.stream = true}",
        "%out: tensor<32x32xf32> {d2m.stream = false}",
        "d2m.empty()",
        "d2m.to_layout(%lhs",
        "d2m.stream_layout(",
        "d2m.to_layout(%rhs",
        "d2m.stream_layout(",
        "d2m.generic",
        "^datamovement0(%lhs_cb: !d2m.cb<tensor<1x1x!ttcore.tile<32x32, f32>>>",
        "d2m.core_index(0 : i64)",
        "d2m.reserve %lhs_cb",
        "ttcore.get_global @lhs",
        "d2m.dma %",
        "d2m.dma_wait",
        "^compute0(",
        "d2m.reserve %out_cb",
        "d2m.wait %lhs_cb",
        "d2m.empty() : tensor<1x1x!ttcore.tile<32x32, f32>>",
        "linalg.generic",
        "d2m.tile_add(",
        "d2m.store",
        "d2m.wait %out_cb",
        "d2m.to_layout(%",
        "func.return",
    ]
    place = 0
    for part in order:
        place = text.index(part, place)
    assert print_module(parse(text)) == text


def test_c5_streams_only(monkeypatch, tmp_path):
    """What is not streamed has no stream_layout and no global, and says so at the function."""

    @pykernel_gen(grid=(1, 1))
    def kernel(x, y, out):
        y_stream = Stream(y)

        @compute()
        def add(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            out_cb.reserve().store(x_cb.pop() + y_cb.pop())

        @datamovement()
        def read(x_cb: CircularBuffer, y_cb: CircularBuffer, out_cb: CircularBuffer):
            dma(y_stream[0, 0], y_cb.reserve()).wait()

        return Program(add, read)(x, y, out)

    text = initial(kernel, monkeypatch, tmp_path, (32, 32))
    assert text.count("d2m.stream_layout(") == text.count("ttcore.global @") == 1
    assert re.findall(r"%(\w+): tensor<32x32xf32> \{d2m.stream = (\w+)\}", text) == [
        ("x", "false"),
        ("y", "true"),
        ("out", "false"),
    ]
    assert text.count("d2m.to_layout(") == 3


IDENTITY = "affine_map<(d0, d1) -> (d0, d1)>"
BODIES = {
    "+": ("tile_add", [IDENTITY] * 3, ["parallel"] * 2),
    "-": ("tile_sub", [IDENTITY] * 3, ["parallel"] * 2),
    "*": ("tile_mul", [IDENTITY] * 3, ["parallel"] * 2),
    "/": ("tile_div", [IDENTITY] * 3, ["parallel"] * 2),
    "@": (
        "tile_matmul",
        [f"affine_map<(d0, d1, d2) -> {ends}>" for ends in ("(d0, d2)", "(d2, d1)", "(d0, d1)")],
        ["parallel", "parallel", "reduction"],
    ),
}


@pytest.mark.parametrize("operator", BODIES)
def test_c6_linalg_bodies(operator, monkeypatch, tmp_path):
    tile, maps, iterators = BODIES[operator]
    text = initial(elementwise(operator), monkeypatch, tmp_path)
    names = ", ".join(f'"{each}"' for each in iterators)
    assert f"indexing_maps = [{', '.join(maps)}], iterator_types = [{names}]" in text
    operands = 3 if operator == "@" else 2
    assert re.search(rf"d2m\.{tile}\((%\d+(, )?){{{operands}}}\) :", text)


# C-7, C-8 -----------------------------------------------------------------------------------------


def test_c7_c8_dma_and_semaphore_ir(monkeypatch, tmp_path):
    text = initial(loopback, monkeypatch, tmp_path, (32, 64))
    for part in (
        r"d2m.dma %x_1\[%\d+, %cx\], %x_block : ",
        r"d2m.dma %x_block, %y_block core\[%\d+, %\d+\] mcast\[%\d+, %\d+\] : ",
        r"d2m.semaphore_set %sent, %\d+ core\[%\d+, %\d+\] mcast\[%\d+, %\d+\]",
        r"d2m.semaphore_inc %ready, %\d+ core\[%\d+, %\d+\]",
        r"d2m.semaphore_wait %ready, %\d+ reset %\d+",
    ):
        assert re.search(part, text), part
    stages = lowered(text)
    assert "d2m.dma_read %" in stages["d2m-generic-lower-dmas"]
    assert "d2m.dma_write %" in stages["d2m-generic-lower-dmas"]
    assert "noc_async_write_multicast_loopback_src" in stages["convert-ttkernel-to-emitc"]


def test_c7_forms_of_dma(monkeypatch, tmp_path):
    """Remote to local, local, local to remote, multicast without loopback: IR and C++."""
    text = initial(every_dma, monkeypatch, tmp_path, (32, 64))
    block = "tensor<1x1x!ttcore.tile<32x32, f32>>"
    tensor = "tensor<1x2x1x1x!ttcore.tile<32x32, f32>"
    forms = [
        rf"d2m.dma %\w+\[%\d+, %cx\], %x_block : {tensor}.*>, {block} -> !d2m.mem_tx",
        rf"d2m.dma %x_block, %y_block : {block}, {block} -> !d2m.mem_tx",
        rf"d2m.dma %y_block, %\w+\[%\d+, %\d+\] : {block}, {tensor}.*> -> !d2m.mem_tx",
        rf"d2m.dma %y_block, %y_block core\[.*\] mcast\[.*\] : {block}, {block}",
    ]
    for form in forms:
        assert re.search(form, text), form
    assert len(re.findall(r"d2m.dma_wait %\d+", text)) == 4
    cpp = lowered(text)["convert-ttkernel-to-emitc"]
    for call in ("noc_async_read_page", "noc_async_read", "noc_async_write_page"):
        assert f'"{call}"' in cpp
    assert '"noc_async_write_multicast"' in cpp and "write_multicast_loopback" not in cpp


def test_c8_semaphores_in_cpp(monkeypatch, tmp_path):
    cpp = lowered(initial(loopback, monkeypatch, tmp_path, (32, 64)))["convert-ttkernel-to-emitc"]
    order = [
        '"get_semaphore"',
        '"noc_semaphore_wait"',  # ready.wait(1, reset=0)
        '"noc_semaphore_set"',
        '"noc_semaphore_set"',  # sent.set(1, core, mcast): the own copy, then those of the others
        '"noc_semaphore_set_multicast',
        '"noc_semaphore_inc"',
        '"noc_semaphore_wait"',
        '"noc_semaphore_set"',
    ]
    place = 0
    for part in order:
        place = cpp.index(part, place) + 1


REFUSED = {
    f"%t = d2m.dma %d[%i, %i], %d[%i, %i] : {DEVICE}, {DEVICE} -> !d2m.mem_tx": "one end",
    f"%t = d2m.dma %d[%i, %i], %b core[%i, %i] mcast[%i, %i] : {DEVICE}, {BLOCK} -> "
    "!d2m.mem_tx": "from a block to blocks",
    f"%t = d2m.dma %b, %b core[%i, %i] : {BLOCK}, {BLOCK} -> !d2m.mem_tx": "come together",
    f"%t = d2m.dma %d, %b : {DEVICE}, {BLOCK} -> !d2m.mem_tx": "has indices",
    f"%t = d2m.dma %b, %c : {BLOCK}, tensor<1x2x!ttcore.tile<32x32, f32>> -> !d2m.mem_tx": "shapes",
    "d2m.semaphore_inc %s, %i": "of another core",
    "d2m.semaphore_inc %s, %i core[%i, %i] mcast[%i, %i]": "no multicast",
    "d2m.semaphore_set %s, %i core[%i, %i]": "or of several",
}


@pytest.mark.parametrize("line", REFUSED)
def test_c7_c8_verifiers(line):
    text = f"""
    func.func @f(%d: {DEVICE}, %b: {BLOCK}, %c: tensor<1x2x!ttcore.tile<32x32, f32>>,
                 %s: !d2m.semaphore, %i: index) {{
      {line}
      func.return
    }}"""
    with pytest.raises(VerifyException, match=REFUSED[line]):
        parse_own(text)


# C-9 to C-12 --------------------------------------------------------------------------------------


def test_c9_replace_globals(monkeypatch, tmp_path):
    text = initial(elementwise("+"), monkeypatch, tmp_path)
    after = lowered(text, "d2m-generic-replace-globals")["d2m-generic-replace-globals"]
    assert "global" not in after
    assert re.search(r"d2m.dma %\w+\[%cy, %cx\], %\w+", after)
    with pytest.raises(CompileError, match="Global symbol not found: @lhs"):
        lowered(re.sub(r"  ttcore.global @lhs .*\n", "", text))
    with pytest.raises(CompileError, match="Global must have a valid index attribute"):
        lowered(text.replace(" [0]\n", "\n", 1))


def test_c10_buffers_and_addresses(monkeypatch, tmp_path):
    text = initial(elementwise("+", grid=(2, 2)), monkeypatch, tmp_path, (128, 128))
    stages = lowered(text)
    tile = "2x2x2x2x!ttcore.tile<32x32, f32>"
    buffered = stages["one-shot-bufferize"]
    assert f"memref<{tile}, #ttcore.view<map(4)>, #ttcore.memory_space<l1>>" in buffered
    assert f"memref<{tile}, #ttcore.shard<8192x4096>, #ttcore.memory_space<l1>>" in buffered
    assert f"memref<{tile}, #ttcore.shard<8192x4096, 2>, #ttcore.memory_space<l1>>" in buffered
    block = "memref<2x2x!ttcore.tile<32x32, f32>, #ttcore.memory_space<l1>>"
    assert f"!d2m.cb<{block}>" in buffered
    allocated = re.findall(
        r"memref.alloc\(\) \{.*?address = (\d+).*\} : memref<[^,]*, f32>, "
        r"#ttcore.shard<8192x4096(, 2)?>",
        stages["d2m-allocate"],
    )
    starts = sorted((int(at), 32768 if double else 16384) for at, double in allocated)
    assert [at % 16 for at, _ in starts] == [0] * len(starts) == [0] * 5
    assert all(at + size <= then for (at, size), (then, _) in pairwise(starts))
    assert stages["d2m-allocate"].count("memref.dealloc") == 5


def test_c10_arguments_keep_their_layout():
    text = f"func.func @f(%d: {DEVICE}) {{\n  func.return\n}}"
    stages = {}
    module = parse(text)
    for name in ("one-shot-bufferize", "d2m-bufferize-function-args"):
        find_pass(name)().apply(make_context(), module)
        stages[name] = print_module(module)
    plain = "memref<1x1x1x1x!ttcore.tile<32x32, f32>>"
    assert f"%d: {plain} {{d2m.layout = #ttcore.metal_layout<" in stages["one-shot-bufferize"]
    assert (
        "%d: memref<1x1x1x1x!ttcore.tile<32x32, f32>, #ttcore.shard<4096x4096>, "
        "#ttcore.memory_space<l1>>"
    ) in stages["d2m-bufferize-function-args"]


def test_c10_lives_and_alignments():
    """What does not live together may lie in one place; DRAM is aligned by more than L1."""
    l1, dram = (
        f"memref<1x1x1x1x!ttcore.tile<32x32, f32>, #ttcore.shard<4096x4096>, "
        f"#ttcore.memory_space<{space}>>"
        for space in ("l1", "dram")
    )
    steps = "".join(
        f"""
      %a{n} = memref.alloc() : {type}
      %b{n} = d2m.tilize(%x, %a{n}) : (memref<32x32xf32>, {type}) -> {type}
      %c{n} = d2m.untilize(%b{n}, %x) : ({type}, memref<32x32xf32>) -> memref<32x32xf32>"""
        for n, type in enumerate((l1, l1, dram))
    )
    text = f"""
    builtin.module attributes {{ttl.target_arch = "wormhole_b0"}} {{
    func.func @f(%x: memref<32x32xf32>) {{{steps}
      func.return
    }}
    }}"""
    module = parse(text)
    find_pass("d2m-allocate")().apply(make_context(), module)
    shown = print_module(module)
    assert re.findall(r"alignment = (\d+) : i64, address = (\d+)", shown) == [
        ("16", "0"),
        ("16", "0"),
        ("32", "0"),
    ]
    order = re.findall(r"memref.(alloc|dealloc)", shown)
    assert order == ["alloc", "dealloc"] * 3


def test_c10_out_of_memory_is_said_before_the_run(backend):
    """The same on the simulator as from d2m-allocate."""
    with pytest.raises(ValueError, match="a core needs 1835008 bytes of L1") as error:
        elementwise("+")(*(array(256, 256) for _ in range(3)))
    (found,) = error.value.diagnostics
    assert found.code.code == "TTL4001" and found.primary.span is not None
    assert found.notes[1] == "lhs  2 buffers of 8x8 tiles  524288 bytes"


def test_c10_out_of_memory(monkeypatch, tmp_path):
    text = initial(elementwise("+"), monkeypatch, tmp_path)
    large = text.replace("1x1x2x2x!ttcore", "1x1x16x16x!ttcore").replace(
        "tensor<2x2x!ttcore", "tensor<16x16x!ttcore"
    )
    with pytest.raises(CompileError, match="do not fit into what is left") as error:
        lowered(large)
    (found,) = error.value.diagnostics
    assert found.code.code == "TTL4001"
    assert found.notes[0] == "what lives together, by address:"


EXPANSION = [
    ("d2m.wait", "cb_wait_front", "cb_pop_front"),
    ("d2m.reserve", "cb_reserve_back", "cb_push_back"),
]


@pytest.mark.parametrize(("operation", "acquire", "release"), EXPANSION)
def test_c11_circular_buffers_through_the_levels(
    operation, acquire, release, monkeypatch, tmp_path
):
    """Acquired where it stands, released at the end of the loop, with the pages of a block; a
    reader has room for two, and pushes the last one after its loop."""
    stages = lowered(initial(repeated, monkeypatch, tmp_path, count=2))
    assert f"{operation} %x_cb" in stages["d2m-generic-replace-globals"]
    assert re.search(rf"{operation} %x_cb(_1)? : !d2m.cb<memref<2x2x", stages["one-shot-bufferize"])
    assert re.search(rf"ttkernel\.{acquire}.*%x_cb", stages["convert-ttl-to-ttkernel"])
    assert re.search(rf"ttkernel\.{release}.*%x_cb", stages["convert-ttl-to-ttkernel"])
    assert f'emitc.call_opaque "{acquire}"(' in stages["convert-ttkernel-to-emitc"]
    assert f'emitc.call_opaque "{release}"(' in stages["convert-ttkernel-to-emitc"]
    cpp = {file.id.data: print_file(file).text for file in files_of(stages)}
    is_reader = operation == "d2m.reserve"
    kernel = cpp["datamovement_kernel0" if is_reader else "compute_kernel0"]
    acquired = rf" *{acquire}\(x_cb, {'.*' if is_reader else '4'}\);"
    released = rf" *{release}\(x_cb, 4\);" + ("" if is_reader else r".*\n  \}")
    assert re.search(rf"for .*\{{.*\n(.*\n)*{acquired}(.*\n)*{released}", kernel)


def files_of(stages):
    module = parse(stages["convert-ttkernel-to-emitc"])
    return [op for op in module.ops if isinstance(op, emitc.FileOp)]


def test_c12_kernels(monkeypatch, tmp_path):
    stages = lowered(initial(elementwise("@"), monkeypatch, tmp_path))
    functions = stages["d2m-generic-regions-to-funcs"]
    assert re.search(r"@datamovement_kernel0\(.*ttkernel.thread = #ttkernel.thread<noc>", functions)
    assert re.search(r"@compute_kernel0\(.*ttkernel.thread = #ttkernel.thread<compute>", functions)
    assert (
        "threads = [#d2m.thread<datamovement, @datamovement_kernel0>, "
        "#d2m.thread<compute, @compute_kernel0>]"
    ) in functions
    assert "d2m.tilize(%lhs" in functions and "d2m.untilize(" in functions
    assert "matmul_tiles" in stages["convert-ttl-to-ttkernel"]


FINAL = [
    r"ttmetal.create_buffer\(0 : i64\)",
    r"ttmetal.enqueue_write_buffer\(%lhs, %\d+\)",
    r"ttmetal.enqueue_program\(%\d+, %\d+\) \[@tilize_0::@datamovement_kernel0, "
    r"@tilize_0::@compute_kernel0, @tilize_0::@datamovement_kernel1\]",
    r"ttmetal.enqueue_write_buffer\(%rhs, %\d+\)",
    r"ttmetal.enqueue_program\(%\d+, %\d+\) \[@tilize_0::",
    r"ttmetal.enqueue_program\(%\d+, %\d+, %\d+\) "
    r"\[@datamovement_kernel0, @compute_kernel0, @write_shards\] on <2x1>",
    r"ttmetal.enqueue_program\(%\d+, %\d+\) \[@untilize_1::",
    r"ttmetal.enqueue_read_buffer\(%\d+, %out\)",
    r"ttmetal.finish",
    r"builtin.module @tilize_0 ",
    r'emitc.call_opaque "tilize_block"',
    r"builtin.module @untilize_1 ",
    r'emitc.call_opaque "pack_untilize_block"',
]
TENSORS = [
    ((64, 192), (2, 1), np.float32, "L1"),
    ((4, 43, 7), (2, 1), np.float32, "DRAM"),
    ((64, 64), (2, 1), ml_dtypes.bfloat16, "L1"),
]


@pytest.mark.parametrize(("shape", "grid", "dtype", "space"), TENSORS)
def test_c12_host_program(shape, grid, dtype, space, monkeypatch, tmp_path):
    """The final IR has all that the host and the device do, and runs."""
    monkeypatch.setenv("TTLANG_FINAL_MLIR", str(tmp_path / "final.mlir"))
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    rng = np.random.default_rng(5)
    lhs, rhs, out = (rng.uniform(1, 2, shape).astype(dtype) for _ in range(3))
    elementwise("+", grid=grid, memory_space=space)(lhs, rhs, out)
    text = (tmp_path / "final.mlir").read_text()
    assert ("add_binary_tile" if dtype is np.float32 else "add_tiles") in text
    place = 0
    for part in FINAL:
        found = re.compile(part).search(text, place)
        assert found is not None, part
        place = found.end()
    run_metal(parse(text), [lhs, rhs, out])
    np.testing.assert_array_equal(out, lhs + rhs)


PRODUCTS = [(True, "matmul_tiles"), (False, "matmul_block")]


@pytest.mark.parametrize(("use_tile_matmul", "call"), PRODUCTS)
def test_c12_use_tile_matmul(use_tile_matmul, call, tmp_path):
    kernel = elementwise(
        "@",
        kernel_source_dir=str(tmp_path),
        kernel_source_mode="store",
        use_tile_matmul=use_tile_matmul,
    )
    kernel(array(64, 64), array(64, 64), array(64, 64))
    (source,) = (file.read_text() for file in tmp_path.rglob("compute_kernel0.cpp"))
    assert set(re.findall(r"matmul_(?:tiles|block)(?=\()", source)) == {call}


# C-17 ---------------------------------------------------------------------------------------------


def test_c17_environment(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TTLANG_FINAL_MLIR", str(tmp_path / "final.mlir"))
    monkeypatch.setenv("TTLANG_VERBOSE_PASSES", "1")
    initial(elementwise("+"), monkeypatch, tmp_path)
    shown = capsys.readouterr().err
    for name in (*D2M, *PIPELINE):
        assert f"IR before {name} " in shown and f"IR after {name} " in shown
    assert "emitc" in (tmp_path / "final.mlir").read_text()


def test_c17_sources_are_stored(tmp_path):
    kernel = elementwise("+", kernel_source_dir=str(tmp_path), kernel_source_mode="store")
    out = np.zeros((32, 32), np.float32)
    kernel(array(32, 32), array(32, 32), out)
    assert (out == 2).all()
    files = {file.name: file.read_text() for file in tmp_path.rglob("*.cpp")}
    assert {"datamovement_kernel0.cpp", "compute_kernel0.cpp"} <= files.keys()
    assert "add_binary_tile" in files["compute_kernel0.cpp"]


def test_c17_sources_are_loaded(tmp_path):
    """What was stored and edited runs, whatever the backend; a kernel without a file is named."""
    place = dict(kernel_source_dir=str(tmp_path))
    tensors = [array(32, 32), array(32, 32), array(32, 32)]
    loading = elementwise("+", **place, kernel_source_mode="load")
    with pytest.raises(UsageError, match=r"datamovement_kernel0.cpp: No such file"):
        loading(*tensors)
    elementwise("+", **place, kernel_source_mode="store")(*tensors)
    (compute,) = tmp_path.rglob("compute_kernel0.cpp")
    compute.write_text(compute.read_text().replace("add_binary_tile", "sub_binary_tile"))
    loading(*tensors)
    assert (tensors[-1] == 0).all()


def test_c17_ttl_check():
    """In a process of its own: the verb changes the environment."""
    code = "import sys; from ttl.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "check", str(EXAMPLES / "custom_dm_matmul.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 operation checked, no errors" in done.stderr


# tt-mlir's names for parts of these, tried with its text in tests/mlir, and what is for graphs.
OTHERS = (
    "ttl-to-cpp",
    "ttir-to-ttmetal-pipeline",
    "convert-d2m-to-ttkernel",
    "ttir-to-ttnn-backend-pipeline",
)


def test_c17_names_of_tt_mlir():
    same = {"ttir-to-ttmetal-pipeline": "ttir-to-ttmetal-backend"}
    same["convert-d2m-to-ttkernel"] = "d2m-to-ttkernel"
    assert all(PIPELINES[name] == PIPELINES[ours] for name, ours in same.items())


@pytest.mark.parametrize("pipeline", [name for name in PIPELINES if name not in OTHERS])
def test_c17_pipelines_of_ttl_opt(pipeline, monkeypatch, tmp_path, capsys):
    file = tmp_path / "test.mlir"
    file.write_text(initial(elementwise("+"), monkeypatch, tmp_path))
    before = ["ttir-to-ttmetal-frontend", "ttir-to-ttmetal-middleend"]
    steps = {before[1]: before[:1]}
    steps["d2m-to-ttkernel"] = [*before, "linalg-to-loops", "d2m-insert-dst-register-access"]
    pipeline = ",".join([*steps.get(pipeline, []), pipeline])
    assert main(["opt", str(file), "-p", pipeline, "--print-ir-after-all"]) == 0
    shown = capsys.readouterr()
    assert "IR after d2m-generic-replace-globals" in shown.err
    assert ("emitc.file" in shown.out) == ("backend" in pipeline)


def applied(pipeline, text):
    module = parse(text)
    for name in pipeline:
        find_pass(name)().apply(make_context(), module)
    return print_module(module)


@pytest.mark.parametrize(("dtype", "registers"), [(np.float32, 4), (ml_dtypes.bfloat16, 8)])
def test_c11_linalg_to_loops_within_dst(dtype, registers, monkeypatch, tmp_path):
    """Loops over the tiles of a block, whose tiles go through registers; then TTKernel."""
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    monkeypatch.setenv("TTLANG_INITIAL_MLIR", str(tmp_path / "initial.mlir"))
    elementwise("+")(*(np.ones((128, 128), dtype) for _ in range(3)))
    text = (tmp_path / "initial.mlir").read_text()
    functions = applied((*D2M_FRONTEND, *D2M_MIDDLEEND), text)
    assert "linalg.generic" in functions and "scf.for" not in functions
    loops = applied(["linalg-to-loops"], functions)
    assert "linalg.generic" not in loops and loops.count("scf.for") == 2
    assert loops.index("scf.for") < loops.index("d2m.tile_add") < loops.index("scf.yield")
    accesses = applied(["d2m-insert-dst-register-access"], loops)
    assert f"d2m.acquire_dst() : memref<{registers}x!ttcore.tile<32x32, " in accesses
    calls = applied(PIPELINES["d2m-to-ttkernel"], accesses)
    assert "ttkernel.cb_wait_front" in calls and "ttl.tile_call" not in calls
    assert applied(PIPELINES["d2m-to-ttkernel"], loops) == calls


def test_c17_pipelines_are_named_where_a_pass_is_unknown(monkeypatch, tmp_path, capsys):
    file = tmp_path / "test.mlir"
    file.write_text(initial(elementwise("+"), monkeypatch, tmp_path))
    assert main(["opt", str(file), "-p", "linalg-to-loop"]) != 0
    shown = capsys.readouterr().err
    assert "did you mean linalg-to-loops" in shown
    assert "pipelines: ttl-to-cpp, d2m-to-ttkernel" in shown
    assert main(["opt", str(file), "-p", "convert-d2m-to-ttl"]) != 0
    assert "the pipeline: arith-to-d2m-tile-ops, d2m-generic" in capsys.readouterr().err


ALONE = {
    """func.func @f(%cb: !d2m.cb<memref<1x1x!ttcore.tile<32x32, f32>>>) attributes
       {d2m.thread = #d2m.thread<compute>} { func.return }""": (
        "the thread `f` without a d2m.generic"
    ),
    """func.func @k() attributes {ttkernel.thread = "compute"} { func.return }
       func.func @f(%a: memref<1x1x1x1x!ttcore.tile<32x32, f32>, #ttcore.shard<4096x4096>>) {
       d2m.generic {block_factors = [], grid = #ttcore.grid<1x1>, indexing_maps = [],
       iterator_types = [], threads = [#d2m.thread<compute, @k>]} ins( : )
       outs(%a : memref<1x1x1x1x!ttcore.tile<32x32, f32>, #ttcore.shard<4096x4096>>)
       func.return }""": "kernels that do not have the buffers",
}


@pytest.mark.parametrize("text", ALONE)
def test_c12_kernels_of_others_are_refused_by_name(text, tmp_path, capsys):
    (tmp_path / "test.mlir").write_text(text)
    assert main(["opt", str(tmp_path / "test.mlir"), "--convert-d2m-to-ttkernel"]) == 1
    assert ALONE[text] in (shown := capsys.readouterr().err) and "error[TTL7001]" in shown
