"""Each device call of compute kernels: tables worked out by hand from the source of the call."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

BF16 = ml_dtypes.bfloat16
ULP = 2.0**-7  # of a bfloat16 between 1 and 2
INF, NAN = np.inf, np.nan


def section(math: str, inputs: int, output_tiles: int = 1, pack: str = "", tiles: int = 1) -> str:
    """A kernel that waits for its inputs, does `math`, and packs slots 0.. in order."""
    packs = pack or "".join(f"pack_tile<true>({t}, {inputs}, {t});\n" for t in range(output_tiles))
    second = min(1, inputs - 1)
    waits = "".join(f"cb_wait_front({i}, {tiles});\n" for i in range(inputs))
    pops = "".join(f"cb_pop_front({i}, {tiles});\n" for i in range(inputs))
    return f"""compute_kernel_hw_startup(0, {second}, {inputs});
{waits}cb_reserve_back({inputs}, {output_tiles});
tile_regs_acquire();
{math}
tile_regs_commit();
tile_regs_wait();
{packs}tile_regs_release();
cb_push_back({inputs}, {output_tiles});
{pops}"""


def values(*numbers: float) -> np.ndarray:
    tile = np.zeros(1024, np.float32)
    tile[: len(numbers)] = numbers
    return tile


def copied(*slots: int) -> str:
    return "copy_init(0);\n" + "".join(f"copy_tile({slot}, 0, {slot});\n" for slot in slots)


# a, b, a op b rounded to nearest even, a op b cut off
ADDITIONS = [
    (1.0, 2.0, 3.0, 3.0),
    (1.0, ULP / 2, 1.0, 1.0),  # a tie: the even neighbour is below
    (1.0 + ULP, ULP / 2, 1.0 + 2 * ULP, 1.0 + ULP),  # a tie: the even neighbour is above
    (1.0, ULP * 0.75, 1.0 + ULP, 1.0),
    (-1.0 - ULP, -ULP / 2, -1.0 - 2 * ULP, -1.0 - ULP),
    (3.0e38, 3.0e38, INF, INF),
    (INF, 1.0, INF, INF),
    (0.0, -0.0, 0.0, 0.0),
]
A, B, NEAREST, CUT = (np.array(column, np.float32) for column in zip(*ADDITIONS, strict=True))
COUNT = len(ADDITIONS)


def test_add_tiles_rounds_to_nearest_even(run_compute):
    body = section("add_init(0, 1);\nadd_tiles(0, 1, 0, 0, 0);", 2)
    result = run_compute(body, [[values(*A)], [values(*B)]])
    np.testing.assert_array_equal(result[0, :COUNT], NEAREST)


def test_sub_tiles(run_compute):
    body = section("sub_init(0, 1);\nsub_tiles(0, 1, 0, 0, 0);", 2)
    result = run_compute(body, [[values(*A)], [values(*-B)]])
    np.testing.assert_array_equal(result[0, :COUNT], NEAREST)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("add_binary_tile(0, 1, 0)", CUT),
        ("add_binary_tile<DstRoundingMode::NearestEven>(0, 1, 0)", NEAREST),
        ("add_binary_tile<ckernel::DstRoundingMode::NearestEven>(0, 1, 0)", NEAREST),
    ],
)
def test_add_binary_tile_cuts_off_unless_told(run_compute, call, expected):
    body = section(f"{copied(0, 1)}add_binary_tile_init();\n{call};", 2)
    result = run_compute(body, [[values(*A)], [values(*B)]])
    np.testing.assert_array_equal(result[0, :COUNT], expected)


def test_sub_binary_tile_cuts_off_unless_told(run_compute):
    body = section(
        f"{copied(0, 1)}sub_binary_tile_init();\nsub_binary_tile(0, 1, 2);"
        "sub_binary_tile<DstRoundingMode::NearestEven>(0, 1, 3);",
        2,
        2,
        "pack_tile(2, 2);pack_tile(3, 2);",
    )
    result = run_compute(body, [[values(*A)], [values(*-B)]], output_tiles=2)
    np.testing.assert_array_equal(result[0, :COUNT], CUT)
    np.testing.assert_array_equal(result[1, :COUNT], NEAREST)


def test_32_bit_dst_keeps_what_16_bit_loses(run_compute):
    math = f"{copied(0, 1)}add_binary_tile_init();\nadd_binary_tile(0, 1, 0);"
    a, b = values(1.0), values(2.0**-20)
    wide = run_compute(section(math, 2), [[a], [b]], output_format="Float32", fp32_dest_acc_en=True)
    assert wide[0, 0] == np.float32(1.0 + 2.0**-20)
    narrow = run_compute(section(math, 2), [[a], [b]], output_format="Float32")
    assert narrow[0, 0] == 1.0


def test_mul_tiles_accumulates(run_compute):
    body = section(
        "mul_init(0, 1);\nmul_tiles(0, 1, 0, 0, 0);\nmul_tiles(0, 1, 0, 0, 1);"
        "mul_tiles(0, 1, 0, 0, 1);",
        2,
        2,
    )
    result = run_compute(body, [[values(3.0, 1.0 + ULP)], [values(5.0, 1.0 + ULP)]], 2)
    # (1 + u)^2 = 1 + 2u + u^2: the square is below half a step and is rounded away
    np.testing.assert_array_equal(result[0, :2], [15.0, 1.0 + 2 * ULP])
    np.testing.assert_array_equal(result[1, :2], [30.0, 2.0 + 4 * ULP])


def test_mul_tiles_of_a_fresh_slot_is_the_rounded_product(run_compute):
    random = np.random.default_rng(0)
    a, b = (random.normal(size=1024).astype(BF16).astype(np.float32) for _ in range(2))
    b[0] = -0.0
    body = section("mul_init(0, 1);\nmul_tiles(0, 1, 0, 0, 0);", 2)
    result = run_compute(body, [[a], [b]])
    expected = (a * b).astype(BF16).astype(np.float32)
    expected[0] = 0.0  # a product of 0 has no sign in 16-bit registers
    np.testing.assert_array_equal(result[0].view(np.uint32), expected.view(np.uint32))


def test_add_and_copy_overwrite(run_compute):
    body = section(
        "mul_init(0, 1);\nmul_tiles(0, 1, 0, 0, 0);\nmul_tiles(0, 1, 0, 0, 1);"
        "add_init(0, 1);\nadd_tiles(0, 1, 0, 0, 0);\ncopy_init(1);\ncopy_tile(1, 0, 1);",
        2,
        2,
    )
    result = run_compute(body, [[3.0], [5.0]], 2)
    assert (result[0] == 8.0).all() and (result[1] == 5.0).all()


def test_add_init_may_ask_to_accumulate(run_compute):
    body = section("add_init(0, 1, true);\nadd_tiles(0, 1, 0, 0, 0);\nadd_tiles(0, 1, 0, 0, 0);", 2)
    assert (run_compute(body, [[3.0], [5.0]]) == 16.0).all()


def test_mul_binary_tile_rounds_and_lets_zero_win(run_compute):
    a = values(1.0 + ULP, 1.0 + 3 * ULP, 0.0, INF, -1.0)
    b = values(1.5, 1.5, INF, 0.0, 0.0)
    # 1.5 + 1.5u is a tie: to even is 1.5 + 2u; 1.5 + 4.5u is a tie: to even is 1.5 + 4u
    expected = [1.5 + 2 * ULP, 1.5 + 4 * ULP, 0.0, 0.0, 0.0]
    body = section(f"{copied(0, 1)}mul_binary_tile_init();\nmul_binary_tile(0, 1, 0);", 2)
    result = run_compute(body, [[a], [b]])
    np.testing.assert_array_equal(result[0, :5], expected)
    assert not np.signbit(result[0, 4])
    wide = run_compute(body, [[a], [b]], output_format="Float32", fp32_dest_acc_en=True)
    np.testing.assert_array_equal(wide[0, :5], [1.5 + 1.5 * ULP, 1.5 + 4.5 * ULP, NAN, NAN, -0.0])


def test_operands_and_result_may_be_three_slots(run_compute):
    math = f"{copied(0, 1)}sub_binary_tile_init();\nsub_binary_tile(1, 0, 2);\n"
    pack = "".join(f"pack_tile<true>({i}, 2, {i});" for i in range(3))
    result = run_compute(section(math, 2, 3, pack), [[3.0], [5.0]], 3)
    assert result[:, 0].tolist() == [3.0, 5.0, 2.0]


def test_fill_tile_cuts_off_in_16_bit_dst(run_compute):
    # 0.3 is 0x3e99999a: cut off 0x3e99, rounded 0x3e9a
    body = section("fill_tile_init();\nfill_tile(0, 0.3f);", 1)
    assert (run_compute(body, [[0.0]]) == np.float32(0.298828125)).all()
    wide = run_compute(body, [[0.0]], output_format="Float32", fp32_dest_acc_en=True)
    assert (wide == np.float32(0.3)).all()


def test_fill_tile_bitcast(run_compute):
    body = section("fill_tile_init();\nfill_tile_bitcast(0, 0x7f800000u);", 1)
    assert (run_compute(body, [[0.0]]) == INF).all()


def test_relu_tile(run_compute):
    x = values(-1.0, 2.0, -0.0, 0.0, INF, -INF, 1e-38)
    body = section(f"{copied(0)}relu_tile_init();\nrelu_tile(0);", 1)
    result = run_compute(body, [[x]])[0, :7]
    expected = values(0.0, 2.0, 0.0, 0.0, INF, 0.0, x.astype(BF16).astype(np.float32)[6])[:7]
    np.testing.assert_array_equal(result.view(np.uint32), expected.view(np.uint32))


def test_exp_tile_on_every_bfloat16(run_compute):
    inputs = np.arange(65536, dtype=np.uint16).view(BF16).astype(np.float32)
    inputs = np.where(np.isnan(inputs), 0, inputs)
    with np.errstate(all="ignore"):
        exact = np.exp(inputs.astype(np.float64))
    exact[exact < np.finfo(np.float32).tiny] = 0
    body = """compute_kernel_hw_startup(0, 1);
exp_tile_init();
copy_init(0);
for (int i = 0; i < 64; ++i) {
  cb_wait_front(0, i + 1);
  tile_regs_acquire(); copy_tile(0, i, 0); exp_tile(0); tile_regs_commit();
  cb_reserve_back(1, 64);
  tile_regs_wait(); pack_tile(0, 1); tile_regs_release();
}
cb_push_back(1, 64);
cb_pop_front(0, 64);"""
    tiles = list(inputs.reshape(64, 1024))
    narrow = run_compute(body, [tiles], 64).reshape(-1)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(narrow, exact.astype(BF16).astype(np.float32))
        wide = run_compute(
            body, [tiles], 64, output_format="Float32", fp32_dest_acc_en=True
        ).reshape(-1)
        np.testing.assert_array_equal(wide, exact.astype(np.float32))


def test_exp_tile_keeps_nan_and_honours_the_vector_mode(run_compute):
    body = section(f"{copied(0)}exp_tile_init();\nexp_tile(0, VectorMode::C);", 1)
    tile = np.ones(1024, np.float32)
    tile[0] = NAN
    result = run_compute(body, [[tile]])[0]
    assert np.isnan(result[0])
    e = np.float32(np.exp(1.0)).astype(BF16)
    assert (result[1:256] == e).all() and (result[256:512] == 1).all()
    assert (result[512:768] == e).all() and (result[768:] == 1).all()


def matrix_tile(matrix: np.ndarray) -> np.ndarray:
    return matrix.reshape(2, 16, 2, 16).transpose(0, 2, 1, 3).reshape(1024)


def test_matmul_tiles(run_compute):
    random = np.random.default_rng(1)
    a, b = (random.integers(-8, 9, (32, 32)).astype(np.float32) for _ in range(2))
    startup = section("", 2).splitlines()[0]
    for transpose, expected in ((0, a @ b), (1, a @ b.T)):
        body = section(
            f"matmul_init(0, 1, {transpose});\nmatmul_tiles(0, 1, 0, 0, 0);"
            "matmul_tiles(0, 1, 0, 0, 0);",
            2,
        ).replace(startup, "compute_kernel_hw_startup<SrcOrder::Reverse>(0, 1, 2);")
        result = run_compute(
            body,
            [[matrix_tile(a)], [matrix_tile(b)]],
            output_format="Float32",
            fp32_dest_acc_en=True,
        )
        np.testing.assert_array_equal(result[0], matrix_tile(2 * expected))


@pytest.mark.parametrize("after", ("", "negative_tile_init();negative_tile(0);"))
def test_nan_of_products_has_no_sign(run_compute, after):
    """Infinity times 0, twice; the packer takes it, or the vector unit, which turns the sign."""
    a, b = np.full((2, 1024), 0, np.float32)
    a[0], startup = INF, section("", 2).splitlines()[0]
    calls = "matmul_init(0, 1);matmul_tiles(0, 1, 0, 0, 0);matmul_tiles(0, 1, 0, 0, 0);"
    body = section(calls + after, 2).replace(
        startup, "compute_kernel_hw_startup<SrcOrder::Reverse>(0, 1, 2);"
    )
    result = run_compute(
        body,
        [[a], [b]],
        output_format="Float32",
        headers=("eltwise_unary/negative.h",),
        fp32_dest_acc_en=True,
    )
    bits = result[0].view(np.uint32)
    assert set(bits[:16]) == {0xFFC00000 if after else 0x7FC00000}


def test_matmul_block_index_arithmetic(run_compute):
    """Tiles that are a number times the identity: D = product of the numbers."""
    eye = matrix_tile(np.eye(32, dtype=np.float32))
    in0, in1 = [1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60]
    body = section(
        "matmul_block_init(0, 1, 0, 3, 2, 2);\n"
        "matmul_block(0, 1, 1, 2, 1, 0, 3, 2, 2);\n"  # t0 = 1, t1 = 2, dst = 1, ct 3, rt 2, kt 2
        "matmul_block(0, 1, 1, 2, 1, 0, 3, 2, 2);",
        2,
        8,
        tiles=6,
    )
    result = run_compute(body, [[n * eye for n in in0], [n * eye for n in in1]], 8)
    # row r takes in0[1 + 2r] = 2, 4; column c takes in1[2 + c] = 30, 40, 50; twice
    expected = [0, 120, 160, 200, 240, 320, 400, 0]
    assert result[:, 0].tolist() == expected


def test_slots_are_zero_after_acquire(run_compute):
    """The second section writes slot 1 only, and packs over what the first one packed."""
    body = """compute_kernel_hw_startup(0, 1);
cb_wait_front(0, 1); cb_pop_front(0, 1);
cb_reserve_back(1, 2);
fill_tile_init();
for (uint32_t written = 0; written < 2; ++written) {
  tile_regs_acquire(); fill_tile(written, 7.0f); tile_regs_commit();
  tile_regs_wait(); pack_tile<true>(0, 1, 0); pack_tile<true>(1, 1, 1); tile_regs_release();
}
cb_push_back(1, 2);"""
    assert run_compute(body, [[1.0]], 2)[:, 0].tolist() == [0.0, 7.0]


def test_packing_places(run_compute):
    """As seen on the chip: sequential packs keep their own offset, until a push."""
    fills = "".join(f"fill_tile({i}, {i + 1}.0f);" for i in range(4))
    pack = (
        "pack_tile(0, 1, 3);\n"  # sequential: place 0, the third argument is ignored
        "pack_tile<true>(1, 1, 3);\n"  # place 3, the offset stays 1
        "pack_block(2, 1, 2);\n"  # places 1 and 2
        "cb_push_back(1, 2);\n"
        "pack_tile(3, 1);\n"  # place 2 again: the push started the offset afresh
    )
    body = section(f"fill_tile_init();\n{fills}", 1, 4, pack)
    body = body.replace("cb_push_back(1, 4);", "cb_push_back(1, 2);")
    assert run_compute(body, [[0.0]], 4)[:, 0].tolist() == [1.0, 3.0, 4.0, 2.0]


def test_formats_are_converted_by_unpacker_and_packer(run_compute):
    body = section(copied(0), 1)
    x = values(1.0 + 2.0**-9, 1.0 + ULP / 2, 1.0 + 1.5 * ULP)
    cases = {
        ("Float32", "Float32", True): x[:3],
        ("Float32", "BFloat16", True): [1.0, 1.0, 1.0 + 2 * ULP],
        ("Float32", "Float32", False): [1.0, 1.0, 1.0 + 2 * ULP],
    }
    for (source, output, wide), expected in cases.items():
        result = run_compute(
            body, [[x]], formats=[source], output_format=output, fp32_dest_acc_en=wide
        )
        np.testing.assert_array_equal(result[0, :3], expected)


def test_reconfigured_formats(run_compute):
    body = """compute_kernel_hw_startup(0, 0, 2);
cb_wait_front(0, 1); cb_wait_front(1, 1); cb_reserve_back(2, 1);
tile_regs_acquire();
copy_init(0); copy_tile(0, 0, 0);
reconfig_data_format_srca(0, 1); copy_init(1); copy_tile(1, 0, 1);
reconfig_data_format(0, 1); add_init(0, 1); add_tiles(0, 1, 0, 0, 2);
tile_regs_commit(); tile_regs_wait();
pack_reconfig_data_format(2); pack_tile(2, 2);
tile_regs_release(); cb_push_back(2, 1); cb_pop_front(0, 1); cb_pop_front(1, 1);"""
    result = run_compute(body, [[1.0], [2.0]], formats=["BFloat16", "Float32"])
    assert (result == 3.0).all()
