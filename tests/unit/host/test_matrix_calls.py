"""Broadcasts, reductions, transposes, dest reuse and the packer: tables worked out by hand."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ttl.diagnostics import KernelFault

BF16 = ml_dtypes.bfloat16
INF = np.inf
RANDOM = np.random.default_rng(3)
X, Y = (RANDOM.integers(-8, 9, (32, 32)).astype(np.float32) for _ in range(2))


def to_tile(matrix: np.ndarray) -> np.ndarray:
    return matrix.reshape(2, 16, 2, 16).transpose(0, 2, 1, 3).reshape(1024)


def to_matrix(tile: np.ndarray) -> np.ndarray:
    return tile.reshape(2, 2, 16, 16).transpose(0, 2, 1, 3).reshape(32, 32)


def section(math: str, *, inputs: int = 2, startup: str = "", pack: str = "") -> str:
    out, waits = inputs, "".join(f"cb_wait_front({i}, 1);" for i in range(inputs))
    pops = "".join(f"cb_pop_front({i}, 1);" for i in range(inputs))
    startup = startup or f"compute_kernel_hw_startup(0, {min(1, inputs - 1)}, {out});"
    return f"""{startup}
{waits}cb_reserve_back({out}, 1);
tile_regs_acquire();
{math}
tile_regs_commit();tile_regs_wait();
{pack or f"pack_tile<true>(0, {out}, 0);"}
tile_regs_release();cb_push_back({out}, 1);{pops}"""


BROADCAST = {"rows": Y[:1, :], "cols": Y[:, :1], "scalar": Y[:1, :1]}
OPERATIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("form", BROADCAST)
def test_the_second_operand_is_broadcast(run_compute, operation, form):
    math = f"{operation}_bcast_{form}_init(0, 1);{operation}_tiles_bcast_{form}(0, 1, 0, 0, 0);"
    result = run_compute(section(math), [[to_tile(X)], [to_tile(Y)]], headers=("bcast.h",))
    np.testing.assert_array_equal(to_matrix(result[0]), OPERATIONS[operation](X, BROADCAST[form]))


def test_generic_broadcast_of_another_row(run_compute):
    math = """bcast_init<EltwiseBinaryType::ELWSUB, BroadcastType::ROW>(0, 1);
sub_tiles_bcast<BroadcastType::ROW>(0, 1, 0, 0, 0, 5);"""
    result = run_compute(section(math), [[to_tile(X)], [to_tile(Y)]], headers=("bcast.h",))
    np.testing.assert_array_equal(to_matrix(result[0]), X - Y[5:6, :])


def test_products_with_a_broadcast_accumulate_sums_do_not(run_compute):
    math = """mul_bcast_cols_init(0, 1);
mul_tiles_bcast_cols(0, 1, 0, 0, 0); mul_tiles_bcast_cols(0, 1, 0, 0, 0);"""
    inputs = [[to_tile(X)], [to_tile(Y)]]
    result = run_compute(section(math), inputs, headers=("bcast.h",))
    np.testing.assert_array_equal(to_matrix(result[0]), 2 * X * Y[:, :1])
    math = math.replace("mul", "add")
    result = run_compute(section(math), inputs, headers=("bcast.h",))
    np.testing.assert_array_equal(to_matrix(result[0]), X + Y[:, :1])


@pytest.mark.parametrize(
    ("form", "kept"), [("ROW", X[:1, :]), ("COL", X[:, :1]), ("SCALAR", X[:1, :1]), ("NONE", X)]
)
def test_unary_broadcast(run_compute, form, kept):
    template = f"<BroadcastType::{form}>"
    math = f"unary_bcast_init{template}(0);unary_bcast{template}(0, 0, 0);"
    result = run_compute(section(math, inputs=1), [[to_tile(X)]], headers=("bcast.h",))
    np.testing.assert_array_equal(to_matrix(result[0]), np.broadcast_to(kept, (32, 32)))


def half_slot(row: np.ndarray) -> np.ndarray:
    """What unary_bcast<ROW> makes of a row in a 32-bit DST: 16 rows of a tile."""
    left, right = (np.broadcast_to(row[part], (8, 16)) for part in (slice(16), slice(16, 32)))
    face = np.concatenate([left, right])
    return np.concatenate([face, face], axis=1)


def test_rows_are_scrambled_in_a_32_bit_dst(run_compute):
    """The copy counts rows of 16 bits: two tiles fill one slot, and the next one stays zero."""
    body = """compute_kernel_hw_startup(0, 1);cb_wait_front(0, 2);cb_reserve_back(1, 2);
unary_bcast_init<BroadcastType::ROW>(0);tile_regs_acquire();
unary_bcast<BroadcastType::ROW>(0, 0, 0);unary_bcast<BroadcastType::ROW>(0, 1, 1);
tile_regs_commit();tile_regs_wait();pack_tile(0, 1);pack_tile(1, 1);tile_regs_release();
cb_push_back(1, 2);cb_pop_front(0, 2);"""
    result = run_compute(
        body,
        [[to_tile(X), to_tile(Y)]],
        output_tiles=2,
        headers=("bcast.h",),
        fp32_dest_acc_en=True,
    )
    wanted = np.concatenate([half_slot(X[0]), half_slot(Y[0])])
    np.testing.assert_array_equal(to_matrix(result[0]), wanted)
    assert not result[1].any()


REUSE = {
    ("sub", "DEST_TO_SRCA"): X - Y,
    ("sub", "DEST_TO_SRCB"): Y - X,
    ("add", "DEST_TO_SRCA"): X + Y,
    ("mul", "DEST_TO_SRCB"): X * Y,  # overwrites, unlike mul_tiles
}


@pytest.mark.parametrize(("operation", "source"), REUSE)
def test_dest_reuse(run_compute, operation, source):
    reuse = f"EltwiseBinaryReuseDestType::{source}"
    math = f"""copy_init(0);copy_tile(0, 0, 0);
{operation}_reuse_dest_init<{reuse}>(1);{operation}_reuse_dest_tiles<{reuse}>(1, 0, 0);"""
    result = run_compute(section(math), [[to_tile(X)], [to_tile(Y)]])
    np.testing.assert_array_equal(to_matrix(result[0]), REUSE[operation, source])


def test_dest_reuse_cuts_a_wide_slot_off_to_the_format_of_the_buffer(run_compute):
    """1 + 2^-8 in DST is 1 for a bfloat16 source."""
    reuse = "EltwiseBinaryReuseDestType::DEST_TO_SRCA"
    math = f"""fill_tile_init();fill_tile(0, 1.00390625f);
add_reuse_dest_init<{reuse}>(0);add_reuse_dest_tiles<{reuse}>(0, 0, 0);"""
    result = run_compute(
        section(math, inputs=1), [[1.0]], output_format="Float32", fp32_dest_acc_en=True
    )
    assert (result == 2.0).all()


# Of 1 + 2^-10 + 2^-11 a source keeps 1 + 2^-10, rounded by nobody; DST keeps all of it. No phase of
# a product takes the 2^-10 from source A.
FINE, KEPT = 1 + 2.0**-10 + 2.0**-11, 1 + 2.0**-10
TF32 = {
    "copy_init(0);copy_tile(0, 0, 0);": KEPT,
    "add_init(0, 1);add_tiles(0, 1, 0, 0, 0);": KEPT + 1,
    "mul_init(0, 1);mul_tiles(0, 1, 0, 0, 0);": 1,
    "add_bcast_rows_init(0, 1);add_tiles_bcast_rows(0, 1, 0, 0, 0);": KEPT + 1,
    "unary_bcast_init<BroadcastType::COL>(0);unary_bcast<BroadcastType::COL>(0, 0, 0);": KEPT,
    "transpose_init(0);transpose_tile(0, 0, 0);": KEPT,
    "matmul_init(0, 1);matmul_tiles(0, 1, 0, 0, 0);": 32 * KEPT,
    "reduce_init<PoolType::MAX, ReduceDim::REDUCE_SCALAR>(0, 1, 2);"
    "reduce_tile<PoolType::MAX, ReduceDim::REDUCE_SCALAR>(0, 1, 0, 0, 0);": KEPT,
    "fill_tile_init();fill_tile(0, 1.00146484375f);"
    "add_reuse_dest_init<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(1);"
    "add_reuse_dest_tiles<EltwiseBinaryReuseDestType::DEST_TO_SRCA>(1, 0, 0);": KEPT + 1,
}


@pytest.mark.parametrize("math", TF32)
def test_sources_cut_float32_off_to_tf32(run_compute, math):
    result = run_compute(
        section(math),
        [[FINE], [1.0]],
        formats=["Float32"] * 2,
        output_format="Float32",
        headers=("bcast.h", "matmul.h", "reduce.h", "transpose.h"),
        fp32_dest_acc_en=True,
    )
    assert result[0, 0] == TF32[math]


@pytest.mark.parametrize(("scaler", "kept"), [("Float32", 3 + 2.0**-8), ("BFloat16", 3.0)])
def test_a_maximum_of_rows_has_the_digits_of_its_scaler(run_compute, scaler, kept):
    form = "<PoolType::MAX, ReduceDim::REDUCE_ROW>"
    math = f"reduce_init{form}(0, 1, 2);reduce_tile{form}(0, 1, 0, 0, 0);"
    result = run_compute(
        section(math),
        [[3 + 2.0**-8], [1.0]],
        formats=["Float32", scaler],
        output_format="Float32",
        headers=("reduce.h",),
        fp32_dest_acc_en=True,
    )
    assert result[0, 0] == kept


def test_what_is_unpacked_to_dst_keeps_all_digits(run_compute):
    result = run_compute(
        section("copy_init(0);copy_tile(0, 0, 0);", inputs=1),
        [[FINE]],
        formats=["Float32"],
        output_format="Float32",
        unpack_to_dest=True,
        fp32_dest_acc_en=True,
    )
    assert (result == FINE).all()


def test_transposes(run_compute):
    inputs = [[to_tile(X)]]
    in_unpacker = "transpose_init(0);transpose_tile(0, 0, 0);"
    result = run_compute(section(in_unpacker, inputs=1), inputs, headers=("transpose.h",))
    np.testing.assert_array_equal(to_matrix(result[0]), X.T)
    in_dst = "copy_init(0);copy_tile(0, 0, 0);transpose_dest_init(0);transpose_dest(0);"
    result = run_compute(section(in_dst, inputs=1), inputs, headers=("transpose_dest.h",))
    np.testing.assert_array_equal(to_matrix(result[0]), X.T)
    whole = "copy_init(0, 1, 1);copy_tile(0, 0, 0);"
    result = run_compute(section(whole, inputs=1), inputs)
    np.testing.assert_array_equal(to_matrix(result[0]), X.T)


def reduced(values: np.ndarray, place: tuple[slice, slice]) -> np.ndarray:
    tile = np.zeros((32, 32), np.float32)
    tile[place] = values
    return tile


ALL = slice(None)
REDUCE = {
    ("SUM", "REDUCE_ROW", 2.0): reduced(2 * X.sum(1, keepdims=True), (ALL, slice(1))),
    ("SUM", "REDUCE_COL", 2.0): reduced(2 * X.sum(0, keepdims=True), (slice(1), ALL)),
    ("SUM", "REDUCE_SCALAR", 2.0): reduced(4 * X.sum(), (slice(1), slice(1))),
    ("AVG", "REDUCE_ROW", 2.0): reduced(2 * X.sum(1, keepdims=True), (ALL, slice(1))),
    ("MAX", "REDUCE_ROW", 1.0): reduced(X.max(1, keepdims=True), (ALL, slice(1))),
    ("MAX", "REDUCE_COL", 1.0): reduced(X.max(0, keepdims=True), (slice(1), ALL)),
    ("MAX", "REDUCE_SCALAR", 1.0): reduced(X.max(), (slice(1), slice(1))),
}


@pytest.mark.parametrize(("pool", "dim", "scaler"), REDUCE)
def test_reduce(run_compute, pool, dim, scaler):
    form = f"<PoolType::{pool}, ReduceDim::{dim}>"
    math = f"reduce_init{form}(0, 1, 2);reduce_tile{form}(0, 1, 0, 0, 0);"
    result = run_compute(
        section(math),
        [[to_tile(X)], [scaler]],
        headers=("reduce.h",),
        output_format="Float32",
        fp32_dest_acc_en=True,
    )
    np.testing.assert_array_equal(to_matrix(result[0]), REDUCE[pool, dim, scaler])


def test_reductions_accumulate_and_a_maximum_of_negative_numbers_is_negative(run_compute):
    """The second tile is 3 less everywhere; fresh slots count as minus infinity."""
    body = """compute_kernel_hw_startup(0, 1, 2);
cb_wait_front(0, 2);cb_wait_front(1, 1);cb_reserve_back(2, 2);
reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 1, 2);
tile_regs_acquire();
reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 1, 1, 0, 0);
reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 1, 0, 0, 0);
tile_regs_commit();tile_regs_wait();pack_tile(0, 2);tile_regs_release();
reduce_init<PoolType::SUM, ReduceDim::REDUCE_COL>(0, 1, 2);
tile_regs_acquire();
reduce_tile<PoolType::SUM, ReduceDim::REDUCE_COL>(0, 1, 0, 0, 0);
reduce_tile<PoolType::SUM, ReduceDim::REDUCE_COL>(0, 1, 1, 0, 0);
tile_regs_commit();tile_regs_wait();pack_tile(0, 2);tile_regs_release();
cb_push_back(2, 2);cb_pop_front(0, 2);cb_pop_front(1, 1);"""
    low = X - 20
    result = run_compute(
        body,
        [[to_tile(low), to_tile(low - 3)], [1.0]],
        output_tiles=2,
        headers=("reduce.h",),
        output_format="Float32",
        fp32_dest_acc_en=True,
    )
    np.testing.assert_array_equal(to_matrix(result[0])[:, 0], low.max(1))
    np.testing.assert_array_equal(to_matrix(result[1])[0], 2 * low.sum(0) - 96)


@pytest.mark.parametrize("is_undone", [True, False])
def test_the_pack_mask_stays_until_reduce_uninit(run_compute, is_undone):
    form = "<PoolType::SUM, ReduceDim::REDUCE_ROW>"
    undo = "reduce_uninit();" if is_undone else ""
    math = f"reduce_init{form}(0, 1, 2);{undo}add_init(0, 1);add_tiles(0, 1, 0, 0, 0);"
    result = run_compute(section(math), [[to_tile(X)], [1.0]], headers=("reduce.h",))
    kept = np.isin(np.arange(32), ALL if is_undone else (0, 16))
    wanted = (X + 1) if is_undone else np.where(kept, X + 1, 0)
    np.testing.assert_array_equal(to_matrix(result[0]), wanted)


# 0.5 is 0x3f00 as a bfloat16
RELU = {
    "ReluConfig::zero()": [0.0, 0.0, 0.0, 0.25, 0.5, 2.0],
    "ReluConfig::min_threshold(0x3f00)": [0.0, 0.0, 0.0, 0.0, 0.0, 2.0],
    "ReluConfig::max_threshold(0x3f00)": [0.0, 0.0, 0.0, 0.25, 0.5, 0.5],
    "ReluConfig::none()": [-2.0, -0.25, 0.0, 0.25, 0.5, 2.0],
}


@pytest.mark.parametrize("config", RELU)
def test_packer_relu(run_compute, config):
    x = np.resize(np.array([-2.0, -0.25, 0.0, 0.25, 0.5, 2.0], np.float32), 1024)
    pack = f"pack_relu_config({config});pack_tile(0, 1);"
    body = section("copy_init(0);copy_tile(0, 0, 0);", inputs=1, pack=pack)
    assert run_compute(body, [[x]])[0, :6].tolist() == RELU[config]


@pytest.mark.parametrize(("output_format", "total"), [("BFloat16", 256.0), ("Float32", 259.0)])
def test_accumulation_in_l1_rounds_to_the_format_of_the_buffer(run_compute, output_format, total):
    """256 + 1 is not a bfloat16: the sum stays where it is, three times."""
    body = """compute_kernel_hw_startup(0, 1);
cb_wait_front(0, 1);cb_reserve_back(1, 1);fill_tile_init();
for (uint32_t i = 0; i < 4; ++i) {
  tile_regs_acquire();fill_tile(0, i == 0 ? 256.0f : 1.0f);tile_regs_commit();
  tile_regs_wait();pack_reconfig_l1_acc(i == 0 ? 0 : 1);pack_tile<true>(0, 1, 0);
  tile_regs_release();
}
pack_reconfig_l1_acc(0);
cb_push_back(1, 1);cb_pop_front(0, 1);"""
    result = run_compute(body, [[0.0]], output_format=output_format, fp32_dest_acc_en=True)
    assert (result == total).all()


REFUSED = {
    "needs the init of its own form": (
        "add_bcast_rows_init(0, 1);\nadd_tiles_bcast_cols(0, 1, 0, 0, 0);",
        "bcast.h",
    ),
    "add_tiles needs the init of its own form": (
        "add_bcast_rows_init(0, 1);\nadd_tiles(0, 1, 0, 0, 0);",
        "bcast.h",
    ),
    "transpose_tile needs transpose_init, but the last init was copy_init": (
        "copy_init(0);\ntranspose_tile(0, 0, 0);",
        "transpose.h",
    ),
    "reduce_tile needs reduce_init": (
        "\nreduce_tile<PoolType::SUM, ReduceDim::REDUCE_ROW>(0, 1, 0, 0, 0);",
        "reduce.h",
    ),
    "one number in row 0 of each": (
        "reduce_init<PoolType::SUM, ReduceDim::REDUCE_ROW>(0, 1, 2);\n"
        "reduce_tile<PoolType::SUM, ReduceDim::REDUCE_ROW>(1, 0, 0, 0, 0);",
        "reduce.h",
    ),
    "a maximum needs the scaler 1": (
        "reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 1, 2);\n"
        "reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 1, 0, 0, 0);",
        "reduce.h",
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_wrong_calls(run_compute, tiny, message):
    math, header = REFUSED[message]
    with pytest.raises(KernelFault) as caught:
        run_compute(section(math), [[to_tile(X)], [2.0]], headers=(header,))
    diagnostic = caught.value.diagnostics[0]
    assert message in diagnostic.message
    assert diagnostic.primary.span.line == tiny.header_lines + 6


def test_sources_of_a_sum_over_rows_are_swapped(run_compute):
    """float32 data with a bfloat16 scaler: source A is the scaler."""
    form = "<PoolType::SUM, ReduceDim::REDUCE_ROW>"
    math = f"reduce_init{form}(0, 1, 2);\nreduce_tile{form}(0, 1, 0, 0, 0);"
    inputs = [[to_tile(X)], [1.0]]
    formats = ["Float32", "BFloat16"]
    right = section(math, startup="compute_kernel_hw_startup(1, 0, 2);")
    result = run_compute(
        right, inputs, formats=formats, headers=("reduce.h",), fp32_dest_acc_en=True
    )
    np.testing.assert_array_equal(to_matrix(result[0])[:, 0], X.sum(1).astype(BF16))
    with pytest.raises(KernelFault, match="reconfig_data_format is missing"):
        run_compute(section(math), inputs, formats=formats, headers=("reduce.h",))


# Left times right in each fidelity. Source A has the right operand of a matmul, the left one of a
# product of elements; numbers have the digits 1 + 2^-4 (first of A), 2^-5 (rest of A), 2^-6 (first
# of B), 2^-7 (rest of B), 2^-9 (f32: rest of A) and 2^-10 (f32: rest of B alone).
FACTOR = 1 + 2.0**-4 + 2.0**-5 + 2.0**-6 + 2.0**-7
FIRST_OF_A, FIRST_OF_B = 1 + 2.0**-4, FACTOR - 2.0**-7
WIDE_FACTOR = FACTOR + 2.0**-9 + 2.0**-10
BY_FIDELITY = {
    "LoFi": (FIRST_OF_A, FIRST_OF_B),
    "HiFi2": (FACTOR, FIRST_OF_B),
    "HiFi3": (FACTOR, FACTOR),
    "HiFi4": (FACTOR, FACTOR),
}
PRODUCTS = {
    "elements": ("mul_init(0, 1);mul_tiles(0, 1, 0, 0, 0);", 1),
    "columns": ("mul_bcast_cols_init(0, 1);mul_tiles_bcast_cols(0, 1, 0, 0, 0);", 1),
    "matrices": ("matmul_init(0, 1, 0);matmul_tiles(0, 1, 0, 0, 0);", 32),
}


@pytest.mark.parametrize("form", PRODUCTS)
@pytest.mark.parametrize("fidelity", BY_FIDELITY)
def test_a_product_takes_the_digits_of_its_phases(run_compute, form, fidelity):
    math, terms = PRODUCTS[form]
    in_a, in_b = BY_FIDELITY[fidelity]
    result = run_compute(
        section(math),
        [[FACTOR], [FACTOR]],
        headers=("bcast.h",),
        output_format="Float32",
        fp32_dest_acc_en=True,
        math_fidelity=fidelity,
    )
    assert result[0, 0] == np.float32(terms * in_a * in_b)


@pytest.mark.parametrize("form", PRODUCTS)
def test_source_a_loses_the_last_digit_of_a_tf32_factor(run_compute, form):
    math, terms = PRODUCTS[form]
    result = run_compute(
        section(math),
        [[WIDE_FACTOR], [WIDE_FACTOR]],
        formats=("Float32", "Float32"),
        headers=("bcast.h",),
        output_format="Float32",
        fp32_dest_acc_en=True,
    )
    wanted = terms * WIDE_FACTOR * (WIDE_FACTOR - 2.0**-10)
    assert abs(result[0, 0] - wanted) < terms * 2.0**-20


@pytest.mark.parametrize(("dim", "in_a"), [("ROW", False), ("COL", True), ("SCALAR", True)])
def test_sums_lose_it_where_they_are_in_source_a(run_compute, dim, in_a):
    template = f"<PoolType::SUM, ReduceDim::REDUCE_{dim}>"
    math = f"reduce_init{template}(0, 1, 2);reduce_tile{template}(0, 1, 0, 0, 0);reduce_uninit();"
    result = run_compute(
        section(math),
        [[WIDE_FACTOR], [1.0]],
        formats=("Float32", "Float32"),
        headers=("reduce.h",),
        output_format="Float32",
        fp32_dest_acc_en=True,
    )
    terms = 1024 if dim == "SCALAR" else 32
    assert result[0, 0] == terms * (WIDE_FACTOR - in_a * 2.0**-10)
