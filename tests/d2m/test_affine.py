"""C-1, C-2, C-5: the affine form, where indexing_maps move the blocks of one compute thread."""

import re

import numpy as np
import pytest

from pykernel.d2m_api import *
from stages_d2m import initial, lowered, parse
from ttgraph.metal_program import run_metal
from ttl.diagnostics import TTLError


def matmul(grid=(2, 3), factors=(1, 1, 4), **options):
    @pykernel_gen(grid=grid, block_factors=list(factors), **matmul_template, **options)
    def kernel(lhs, rhs, out):
        @compute()
        async def multiply(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
            out_block = out_cb.reserve()
            out_block.store(lhs_cb.pop() @ rhs_cb.pop())
            out_cb.pop()

        return Program(multiply)(lhs, rhs, out)

    return kernel


def numbers(*shape):
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


PRODUCTS = [
    ((2, 3), (1, 1, 4), True),
    ((2, 3), (1, 1, 4), False),
    ((2, 1), (1, 3, 2), True),  # several blocks of the output on each core
    ((1, 1), (2, 3, 1), True),
]


@pytest.mark.parametrize(("grid", "factors", "use_tile_matmul"), PRODUCTS)
def test_c13_matmul_template(backend, grid, factors, use_tile_matmul):
    lhs, rhs, out = numbers(64, 128), numbers(128, 96), np.zeros((64, 96), np.float32)
    matmul(grid, factors, use_tile_matmul=use_tile_matmul)(lhs, rhs, out)
    np.testing.assert_array_equal(out, lhs @ rhs)


def test_c13_blocks_of_the_output_by_rows(backend):
    """Whatever the order of the iterators in the maps."""

    @pykernel_gen(grid=(1, 1), block_factors=[3, 2], indexing_maps=[lambda k, m: (m, k)] * 2)
    def kernel(x, out):
        @compute()
        def copy(x_cb: CircularBuffer, out_cb: CircularBuffer):
            block = x_cb.pop()
            if iter_index(0) == 1:
                out_cb.reserve().store(block + block)
            else:
                out_cb.reserve().store(block)

        return Program(copy)(x, out)

    x, out = numbers(64, 96), np.zeros((64, 96), np.float32)
    kernel(x, out)
    x[:, 32:64] *= 2
    np.testing.assert_array_equal(out, x)


def test_c13_fused_templates(backend):
    @pykernel_gen(grid=(2, 1), **eltwise_fused_template(4))
    def three(a, b, c, out):
        @compute()
        def add(
            a_cb: CircularBuffer, b_cb: CircularBuffer, c_cb: CircularBuffer, out_cb: CircularBuffer
        ):
            out_cb.reserve().store(a_cb.pop() + b_cb.pop() + c_cb.pop())

        return Program(add)(a, b, c, out)

    @pykernel_gen(grid=(1, 1), **matmul_fused_template([None] * 4))
    def biased(a, b, c, out):
        @compute()
        def calculate(
            a_cb: CircularBuffer, b_cb: CircularBuffer, c_cb: CircularBuffer, out_cb: CircularBuffer
        ):
            out_cb.reserve().store(a_cb.pop() @ b_cb.pop() + c_cb.pop())

        return Program(calculate)(a, b, c, out)

    a, b, c = (numbers(64, 64) * n for n in (1, 2, 3))
    out = np.zeros((64, 64), np.float32)
    three(a, b, c, out)
    np.testing.assert_array_equal(out, a + b + c)
    biased(a, b, c, out)
    np.testing.assert_array_equal(out, a @ b + c)


def counted(dim=2, maps=None, factors=(1, 1, 2), extra=()):
    """Stores in the step 1 of the last iterator only."""
    maps = maps or [lambda m, n, k: (m, k), lambda m, n, k: (0, n), lambda m, n, k: (m, n)]

    @pykernel_gen(grid=(2, 2), indexing_maps=maps, block_factors=lambda *args: list(factors))
    def kernel(lhs, rhs, out):
        @compute()
        def store_last(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
            left = lhs_cb.pop()
            right = rhs_cb.pop()
            if iter_index(dim) == 1:
                out_cb.reserve().store(left + right)

        return Program(store_last, *extra)(lhs, rhs, out)

    return kernel


def test_c2_iter_index_and_the_constant_0(backend):
    lhs, rhs, out = numbers(64, 64), numbers(32, 64), np.zeros((64, 64), np.float32)
    counted()(lhs, rhs, out)
    np.testing.assert_array_equal(out, np.tile(lhs[:, 32:], 2) + np.tile(rhs, (2, 1)))


@datamovement()
def idle(lhs_cb: CircularBuffer, rhs_cb: CircularBuffer, out_cb: CircularBuffer):
    pass


TWO = [lambda m, n: (m, n)] * 2
MISTAKES = [
    (dict(dim=3), "iter_index(3)"),
    (dict(maps=TWO, factors=(1, 1)), "2 indexing_maps for 3 tensors"),
    (dict(factors=(1, 1)), "block_factors=[1, 1] for 3 iterators"),
    (dict(factors=(1, 0, 2)), "block_factors=[1, 0, 2]"),
    (dict(factors=(1, 1, 3)), "which 3 cores cannot share"),
    (dict(extra=[idle]), "has one compute thread"),
]


@pytest.mark.parametrize(("change", "text"), MISTAKES)
def test_c2_mistakes_in_the_affine_form(backend, change, text):
    with pytest.raises(TTLError) as error:
        counted(**change)(numbers(64, 64), numbers(32, 64), numbers(64, 64))
    assert text in error.value.diagnostics[0].message
    assert error.value.diagnostics[0].primary.span.file == __file__


def test_c2_explicit_template():
    assert pykernel_gen(grid=(1, 1), **explicit_template) is not None


def test_c5_affine_ir(monkeypatch, tmp_path):
    """Maps and iterators in the initial IR; a thread and loops in their place after the passes."""
    text = initial(matmul(grid=(2, 2), factors=(1, 1, 2)), monkeypatch, tmp_path)
    assert re.search(
        r"block_factors = \[1 : i64, 1 : i64, 2 : i64\], grid = #ttcore.grid<2x2>, "
        r"indexing_maps = \[affine_map<\(d0, d1, d2\) -> \(d0, d2\)>, .*\], "
        r"iterator_types = \[#ttcore.iterator_type<parallel>, #ttcore.iterator_type<parallel>, "
        r"#ttcore.iterator_type<reduction>\], threads = \[#d2m.thread<compute>\]\}",
        text,
    )
    assert "d2m.yield" in text
    stages = lowered(text)
    moved = stages["d2m-generic-generate-datamovement"]
    assert "threads = [#d2m.thread<datamovement>, #d2m.thread<compute>]" in moved
    assert "d2m.iter_index(2 : i64)" in moved
    looped = stages["d2m-generic-generate-loops"]
    assert "block_factors = [], grid = #ttcore.grid<2x2>, indexing_maps = []" in looped
    assert "d2m.iter_index" not in looped and "d2m.yield" not in looped
    assert len(re.findall(r"scf.for %iter", looped)) == 2


def test_c12_more_steps_than_cores(monkeypatch, tmp_path):
    """The programs that make tiles for 16 steps have no more cores than the chip."""
    monkeypatch.setenv("TTLANG_FINAL_MLIR", str(tmp_path / "final.mlir"))
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    lhs, rhs, out = numbers(32, 512), numbers(512, 64), np.zeros((32, 64), np.float32)
    matmul(grid=(1, 2), factors=(1, 1, 16))(lhs, rhs, out)
    text = (tmp_path / "final.mlir").read_text()
    assert re.findall(r"enqueue_program.* on <(\w+)>", text) == ["1x8", "8x2", "1x2", "1x2"]
    run_metal(parse(text), [lhs, rhs, out])
    np.testing.assert_array_equal(out, lhs @ rhs)
