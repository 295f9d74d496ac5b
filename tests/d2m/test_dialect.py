"""C4: every operation of the d2m dialect as text, its verifier, and what becomes of it."""

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from kernels_d2m import elementwise
from pykernel.d2m_api import *
from stages_d2m import BLOCK, DEVICE, array, initial, lowered, parse, parse_own
from ttgraph.metal_program import run_metal
from ttl.diagnostics import CompileError
from ttl.dialects import print_module

TILE = "!ttcore.tile<32x32, f32>"
L1 = f"memref<1x1x{TILE}, #ttcore.memory_space<l1>>"
ROWS = "memref<32x32xf32, #ttcore.memory_space<l1>>"
DST = f"memref<8x{TILE}, #ttcore.memory_space<dst>>"
BINARY = ("add", "sub", "mul", "div", "pow", "maximum")
UNARY = (
    "recip",
    "exp",
    "log",
    "negative",
    "sin",
    "cos",
    "tan",
    "sqrt",
    "rsqrt",
    "sigmoid",
    "silu",
    "relu",
    "gelu",
    "ceil",
    "floor",
    "abs",
    "logical_not",
    "eqz",
    "nez",
    "gtz",
    "gez",
    "ltz",
    "lez",
    "transpose",
)
LINES = [
    f"%0 = d2m.view_layout %d : {DEVICE} -> {DEVICE}",
    '%0 = d2m.mesh_shard(%h) "devices" "full_to_shard" shape [1 : i64, 2 : i64] '
    "dims [0 : i64, 1 : i64] : (tensor<32x64xf32>) -> tensor<32x32xf32>",
    f"%0 = d2m.full(0.000000e+00 : f32) : {BLOCK}",
    "%0 = d2m.null_tx : !d2m.mem_tx",
    "d2m.dma_wait %t",
    "%0 = d2m.core_index(1 : i64) : index",
    "%0 = d2m.iter_index(1 : i64) : index",
    f"%0 = d2m.get_global_operand(1 : i64) : {DEVICE}",
    f"%0 = d2m.acquire_dst() : {DST}",
    f"%0 = d2m.dst_reinterpret_cast %a : {TILE} -> !ttcore.tile<32x32, si32>",
    "d2m.packer_mask_reset",
    f"d2m.tile_matmul_block(%m, %m, %m) : {L1}, {L1}, {L1}",
    f"d2m.tile_tilize_block(%r, %m) : {ROWS}, {L1}",
    f"d2m.tile_untilize_block(%m, %r) : {L1}, {ROWS}",
    *(f"%0 = d2m.tile_{n}(%a, %a) : ({TILE}, {TILE}) -> {TILE}" for n in BINARY),
    *(f"%0 = d2m.tile_{n}(%a) : ({TILE}) -> {TILE}" for n in UNARY),
    "%0 = d2m.tile_bitwise_not(%i) : (!ttcore.tile<32x32, si32>) -> !ttcore.tile<32x32, si32>",
    f'%0 = d2m.tile_typecast(%a) with {{dtype = "int32"}} : ({TILE}) -> !ttcore.tile<32x32, si32>',
    *(
        f"%0 = d2m.tile_reduce_{n}(%a, %a, %a) with {{dims = [{dims}]}} : "
        f"({TILE}, {TILE}, {TILE}) -> {TILE}"
        for n in ("sum", "max")
        for dims in ("-1 : i64", "-2 : i64", "-2 : i64, -1 : i64")
    ),
    f"%0 = d2m.tile_matmul(%a, %a, %a) : ({TILE}, {TILE}, {TILE}) -> {TILE}",
]


def function(line):
    arguments = {
        "d": DEVICE,
        "h": "tensor<32x64xf32>",
        "t": "!d2m.mem_tx",
        "a": TILE,
        "m": L1,
        "r": ROWS,
        "i": "!ttcore.tile<32x32, si32>",
    }
    given = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
    return f"func.func @f({given}) {{\n{line}\nfunc.return\n}}"


@pytest.mark.parametrize("line", LINES)
def test_c5_text_of_operations(line):
    """Printed as it was written, and read again."""
    shown = print_module(parse(function(line)))
    assert line in [each.strip() for each in shown.splitlines()]
    assert print_module(parse(shown)) == shown


REFUSED = {
    f"%0 = d2m.view_layout %d : {DEVICE} -> tensor<2x2x!ttcore.tile<32x32, f32>>": "the number",
    f"%0 = d2m.view_layout %d : {DEVICE} -> tensor<1x1xf32>": "keeps the elements",
    '%0 = d2m.mesh_shard(%h) "devices" "full_to_shard" shape [1 : i64, 4 : i64] '
    "dims [0 : i64, 1 : i64] : (tensor<32x64xf32>) -> tensor<32x32xf32>": "is not the whole",
    '%0 = d2m.mesh_shard(%h) "halves" "full_to_shard" shape [] dims [] : '
    "(tensor<32x64xf32>) -> tensor<32x32xf32>": "a type is one of",
    '%0 = d2m.mesh_shard(%h) "identity" "up" shape [] dims [] : '
    "(tensor<32x64xf32>) -> tensor<32x32xf32>": "full_to_shard or shard_to_full",
    f"%0 = d2m.get_global_operand(-1 : i64) : {DEVICE}": "counted from 0",
    f"%0 = d2m.acquire_dst() : {L1}": "memory_space<dst>",
    f"d2m.tile_matmul_block(%m, %m, %w) : {L1}, {L1}, {L1.replace('1x1x', '1x2x')}": "a product",
    f"d2m.tile_tilize_block(%m, %m) : {L1}, {L1}": "between rows of elements and tiles",
    f"d2m.tile_untilize_block(%r, %m) : {ROWS}, {L1}": "between rows of elements and tiles",
}


@pytest.mark.parametrize("line", REFUSED)
def test_c5_verifiers(line):
    text = function(line).replace("%m: ", f"%w: {L1.replace('1x1x', '1x2x')}, %m: ", 1)
    with pytest.raises(VerifyException, match=REFUSED[line]):
        parse_own(text)


def thread(monkeypatch, tmp_path, line):
    """A program with a line more in the thread that moves data."""
    text = initial(elementwise("+"), monkeypatch, tmp_path)
    return text.replace("d2m.dma_wait", f"{line}\n        d2m.dma_wait", 1)


def test_c9_get_global_operand_is_the_operand(monkeypatch, tmp_path):
    text = initial(elementwise("+"), monkeypatch, tmp_path)
    numbered = text.replace("ttcore.get_global @lhs", "d2m.get_global_operand(0 : i64)")
    assert numbered != text
    name = "d2m-generic-replace-globals"
    assert lowered(numbered, name)[name] == lowered(text, name)[name]
    with pytest.raises(CompileError, match="Global must have a valid index attribute"):
        lowered(text.replace("ttcore.get_global @lhs", "d2m.get_global_operand(7 : i64)"), name)


def test_c7_null_tx_is_waited_for_at_once(monkeypatch, tmp_path):
    plain = lowered(initial(elementwise("+"), monkeypatch, tmp_path))
    more = "%none = d2m.null_tx : !d2m.mem_tx\n        d2m.dma_wait %none"
    text = thread(monkeypatch, tmp_path, more)
    assert "null_tx" in text
    last = "convert-ttkernel-to-emitc"
    assert lowered(text)[last] == plain[last]


def test_c5_operations_that_no_thread_of_ours_has(monkeypatch, tmp_path):
    with pytest.raises(CompileError, match=r"`d2m\.packer_mask_reset` in a thread"):
        lowered(thread(monkeypatch, tmp_path, "d2m.packer_mask_reset"))


MEANINGS = {
    "eqz": lambda x: x == 0,
    "nez": lambda x: x != 0,
    "gtz": lambda x: x > 0,
    "gez": lambda x: x >= 0,
    "ltz": lambda x: x < 0,
    "lez": lambda x: x <= 0,
    "logical_not": lambda x: x == 0,
}


@pykernel_gen(grid=(1, 1))
def seven(x, out):
    """As many operations as MEANINGS has, each in digits of its own."""

    @compute()
    def add_up(x_cb: CircularBuffer, out_cb: CircularBuffer):
        x = x_cb.pop()
        low = exp(x) + exp(x) * 2 + exp(x) * 4
        out_cb.reserve().store(low + exp(x) * 8 + exp(x) * 16 + exp(x) * 32 + exp(x) * 64)

    return Program(add_up)(x, out)


def test_c12_tile_operations_of_other_frontends_run(monkeypatch, tmp_path):
    """In the places of an operation that the DSL has."""
    text = initial(seven, monkeypatch, tmp_path, (32, 32), count=2)
    for name in MEANINGS:
        text = text.replace("d2m.tile_exp", f"d2m.tile_{name}", 1)
    assert "tile_exp" not in text
    x = np.resize(np.array([0.0, -1.5, 2.0, -0.0, 3.25], np.float32), (32, 32))
    out = array(32, 32)
    run_metal(parse(lowered(text)["convert-ttkernel-to-emitc"]), [x, out])
    expected = sum(2**n * meaning(x) for n, meaning in enumerate(MEANINGS.values()))
    np.testing.assert_array_equal(out, expected.astype(np.float32))
