"""Integers in DST, and the formats of buffers that are neither bfloat16 nor float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ttl.diagnostics import KernelFault
from ttl.semantics.block_float import pack, quantise

A = np.array([0, 1, -1, 7, -7, 1000000, -1000000, 2147483647, -2147483648, 5], np.int64)
B = np.array([3, -3, 2, -2, 2, 7, 7, 1, 2, 5], np.int64)
SLOTS = "(0, 1, 0)"


def kernel_of(calls: list[str], copies: int) -> str:
    copied = "copy_init(0);" + "".join(f"copy_tile({i}, 0, {i});" for i in range(copies))
    waits = "".join(f"cb_wait_front({i}, 1);" for i in range(copies))
    sections = "\n".join(
        f"tile_regs_acquire();{copied}\n{call};\ntile_regs_commit();"
        f"tile_regs_wait();pack_tile(0, {copies});tile_regs_release();"
        for call in calls
    )
    pops = "".join(f"cb_pop_front({i}, 1);" for i in range(copies))
    count = len(calls)
    return f"""compute_kernel_hw_startup(0, {copies});
{waits}cb_reserve_back({copies}, {count});
{sections}
cb_push_back({copies}, {count});{pops}"""


def binary(name: str, data_format: str = "") -> str:
    init = name if "bitwise" not in name else "binary_bitwise_tile"
    template = f"<DataFormat::{data_format}>" if data_format else ""
    own = template if "mul" in name or name[3:] == "int_tile" else ""
    return f"{init}_init{own if name not in PLAIN else ''}();{name}{template}{SLOTS}"


PLAIN = ("add_int_tile", "sub_int_tile", "rsub_int_tile")
HEADERS = (
    "add_int_sfpu.h",
    "sub_int_sfpu.h",
    "mul_int_sfpu.h",
    "div_int32_floor.h",
    "binary_comp.h",
    "binary_bitwise_sfpu.h",
    "binary_max_min.h",
    "binary_remainder.h",
    "binary_fmod.h",
    "binary_shift.h",
)
ANY_FORMAT = {
    "add_int_tile": np.add,
    "sub_int_tile": np.subtract,
    "rsub_int_tile": lambda a, b: b - a,
    "mul_int_tile": np.multiply,
    "bitwise_and_binary_tile": np.bitwise_and,
    "bitwise_or_binary_tile": np.bitwise_or,
    "bitwise_xor_binary_tile": np.bitwise_xor,
    "eq_int_tile": np.equal,
    "ne_int_tile": np.not_equal,
    "lt_int_tile": np.less,
    "le_int_tile": np.less_equal,
    "gt_int_tile": np.greater,
    "ge_int_tile": np.greater_equal,
}
SIGNED_ONLY = {
    "div_int32_floor_tile": np.floor_divide,
    "div_int32_trunc_tile": lambda a, b: np.trunc(a / b).astype(np.int64),
    "remainder_int32_tile": np.mod,
    "fmod_int32_tile": np.fmod,
    "binary_max_int32_tile": np.maximum,
    "binary_min_int32_tile": np.minimum,
}
UNSIGNED_ONLY = {
    "binary_max_uint32_tile": np.maximum,
    "binary_min_uint32_tile": np.minimum,
    "remainder_uint32_tile": np.mod,
}


@pytest.mark.parametrize("data_format", ["Int32", "UInt32", "UInt16"])
def test_two_operands(run_compute, data_format):
    dtype = np.dtype(data_format.lower())
    a, b = (np.resize(values, 1024).astype(dtype) for values in (A, B))
    meanings = {(name, data_format): meaning for name, meaning in ANY_FORMAT.items()}
    own = {"Int32": SIGNED_ONLY, "UInt32": UNSIGNED_ONLY, "UInt16": {}}[data_format]
    meanings |= {(name, ""): meaning for name, meaning in own.items()}
    results = run_compute(
        kernel_of([binary(*key) for key in meanings], 2),
        [[a], [b]],
        output_tiles=len(meanings),
        formats=[data_format] * 2,
        output_format=data_format,
        headers=HEADERS,
        fp32_dest_acc_en=data_format != "UInt16",
    )
    wide = [values.astype(np.int64) for values in (a, b)]
    for result, (name, meaning) in zip(results, meanings.items(), strict=True):
        wanted = meaning(*wide).astype(np.int64).astype(dtype)
        np.testing.assert_array_equal(result, wanted, err_msg=str(name))


SHIFTED = {  # data format: numbers, shifted by, the bits that are left
    "Int32": ([-1, -1, 12, 5, 1], [28, 0, 2, 32, -1], [15, -1, 3, 0, 0]),
    "UInt32": ([4294967295, 12, 5], [31, 2, 32], [1, 3, 0]),
    "UInt16": ([65535, 12, 5], [15, 2, 16], [1, 3, 0]),
}


@pytest.mark.parametrize("data_format", SHIFTED)
def test_a_logical_shift(run_compute, data_format):
    dtype = np.dtype(data_format.lower())
    a, b, wanted = (np.resize(np.array(x).astype(dtype), 1024) for x in SHIFTED[data_format])
    name = "binary_logical_right_shift_tile"
    result = run_compute(
        kernel_of([f"binary_shift_tile_init();{name}<DataFormat::{data_format}>{SLOTS}"], 2),
        [[a], [b]],
        output_tiles=1,
        formats=[data_format] * 2,
        output_format=data_format,
        headers=HEADERS,
        fp32_dest_acc_en=data_format != "UInt16",
    )
    np.testing.assert_array_equal(result[0], wanted)


UNARY = {
    "abs_tile_init();abs_tile_int32(0)": np.abs,
    "negative_tile_init();negative_tile_int32(0)": np.negative,
    "relu_tile_init();relu_tile_int32(0)": lambda x: np.maximum(x, 0),
    "signbit_tile_int32_init();signbit_tile_int32(0)": lambda x: x < 0,
    "binop_with_scalar_tile_init();add_unary_tile_int32(0, (uint32_t)-7)": lambda x: x - 7,
    "binop_with_scalar_tile_init();sub_unary_tile_int32(0, 7u)": lambda x: x - 7,
    "rsub_unary_int32_tile_init();rsub_unary_int32_tile(0, 7u)": lambda x: 7 - x,
    "unary_max_int32_tile_init();unary_max_int32_tile(0, 5u)": lambda x: np.maximum(x, 5),
    "unary_min_int32_tile_init();unary_min_int32_tile(0, 5u)": lambda x: np.minimum(x, 5),
    "clamp_tile_init();clamp_tile_int32(0, (uint32_t)-10, 20u)": lambda x: np.clip(x, -10, 20),
    "fill_tile_init();fill_tile_int<DataFormat::Int32>(0, (uint32_t)-77)": (
        lambda x: np.full_like(x, -77)
    ),
    "bitwise_xor_tile_init();bitwise_xor_tile<DataFormat::Int32>(0, 0x5a5u)": lambda x: x ^ 0x5A5,
    "bitwise_not_tile_init();bitwise_not_tile(0)": np.invert,
    "logical_not_tile_init();logical_not_tile<DataFormat::Int32>(0)": lambda x: x == 0,
    "ltz_tile_init();ltz_tile_int32(0)": lambda x: x < 0,
    "gez_tile_init();gez_tile_int32(0)": lambda x: x >= 0,
    "unary_lt_tile_init();unary_lt_tile_int32(0, 3u)": lambda x: x < 3,
    "unary_eq_tile_init();unary_eq_tile_int32(0, (uint32_t)-7)": lambda x: x == -7,
}


def test_one_operand(run_compute):
    x = np.resize(A, 1024)
    results = run_compute(
        kernel_of(list(UNARY), 1),
        [[x.astype(np.int32)]],
        output_tiles=len(UNARY),
        formats=["Int32"],
        output_format="Int32",
        headers=(
            "compute_kernel_api.h",
            "eltwise_unary/negative.h",
            "eltwise_unary/rsub.h",
            "eltwise_unary/binop_with_scalar.h",
            "eltwise_unary/clamp.h",
            "eltwise_unary/comp.h",
            "eltwise_unary/bitwise.h",
            "eltwise_unary/bitwise_not.h",
            "eltwise_unary/logical_not.h",
        ),
        fp32_dest_acc_en=True,
    )
    for result, (call, meaning) in zip(results, UNARY.items(), strict=True):
        wanted = meaning(x).astype(np.int64).astype(np.int32)
        np.testing.assert_array_equal(result, wanted, err_msg=call)


# from, to, what goes in, what comes out: toward zero, but to uint16 the nearest
CASTS = [
    ("Float32", "Int32", [-2.7, -0.5, 0.5, 2.7, 3e10], [-2, 0, 0, 2, 2147483647]),
    ("Float32", "UInt32", [0.0, 0.5, 2.7, 3e9, -1.0], [0, 0, 2, 3000000000, 0]),
    ("Float32", "UInt16", [0.5, 1.4, 2.5, 70000.0, 0.0], [1, 1, 3, 65535, 0]),
    ("Int32", "Float32", [-7, 0, 16777217, 5, 1], [-7.0, 0.0, 16777216.0, 5.0, 1.0]),
    ("UInt32", "Float32", [7, 0, 4294967295, 5, 1], [7.0, 0.0, 4294967296.0, 5.0, 1.0]),
    ("UInt16", "Float32", [7, 0, 65535, 5, 1], [7.0, 0.0, 65535.0, 5.0, 1.0]),
    ("Int32", "UInt16", [-7, 0, 65536, 5, 65535], [0, 0, 65535, 5, 65535]),
    ("UInt32", "UInt16", [4294967295, 0, 65536, 5, 65535], [65535, 0, 65535, 5, 65535]),
    ("UInt16", "Int32", [7, 0, 65535, 5, 1], [7, 0, 65535, 5, 1]),
    ("Int32", "BFloat16", [257, 259, -257, 5, 1], [256.0, 260.0, -256.0, 5.0, 1.0]),
    # modulo 256
    ("Int32", "UInt8", [-1, 0, 256, 511, 5], [255, 0, 0, 255, 5]),
    ("Float32", "UInt8", [-1.5, 0.9, 300.0, 255.0, 3e10], [255, 0, 44, 255, 0]),
    ("UInt8", "Float32", [7, 0, 255, 5, 1], [7.0, 0.0, 255.0, 5.0, 1.0]),
]
CHIP_NAMES = {"BFloat16": "Float16_b"}


@pytest.mark.parametrize(("source", "target", "given", "wanted"), CASTS)
def test_typecast(run_compute, source, target, given, wanted):
    names = [CHIP_NAMES.get(name, name) for name in (source, target)]
    template = ", ".join(f"(uint32_t)DataFormat::{name}" for name in names)
    call = f"typecast_tile_init<{template}>();typecast_tile<{template}>(0)"
    result = run_compute(
        kernel_of([call], 1),
        [[np.resize(np.array(given), 1024)]],
        formats=[source],
        output_format=target,
        headers=("eltwise_unary/typecast.h",),
        unpack_to_dest=source == "Float32",
        fp32_dest_acc_en=True,
    )
    assert result[0, :5].tolist() == wanted


@pytest.mark.parametrize("is_wide", [False, True])
def test_the_packer_takes_uint16_from_the_upper_half_of_a_32_bit_dst(run_compute, is_wide):
    """There a copy comes to the lower half, for the vector unit; a broadcast to the upper one."""
    calls = ["copy_init(0);copy_tile(0, 0, 0)"]
    calls.append("unary_bcast_init<BroadcastType::COL>(0);unary_bcast<BroadcastType::COL>(0, 0, 0)")
    result = run_compute(
        kernel_of(calls, 1),
        [[7]],
        output_tiles=2,
        formats=["UInt16"],
        output_format="UInt16",
        headers=("bcast.h",),
        fp32_dest_acc_en=is_wide,
    )
    assert result[:, 0].tolist() == [0 if is_wide else 7, 7]


def reduction(pool: str, data_format: str, dim: str, init: str | None = None) -> str:
    settings = f"PoolType::{pool}, DataFormat::{data_format}"
    set_up = f"sfpu_reduce_init<{init or settings}>()"
    return f"{set_up};sfpu_reduce<{settings}, ReduceDim::REDUCE_{dim}>(0)"


@pytest.mark.parametrize("data_format", ["Int32", "UInt32"])
def test_reductions_of_a_tile(run_compute, data_format):
    """Sums of rows stand in column 0, of columns in row 0; they wrap around."""
    dtype = {"Int32": np.int32, "UInt32": np.uint32}[data_format]
    matrix = np.resize(A, (32, 32)).astype(dtype)
    faces = [matrix[i : i + 16, j : j + 16].ravel() for i in (0, 16) for j in (0, 16)]
    pools = {"SUM": np.sum, "MAX": np.max, "MIN": np.min}
    calls = {
        (pool, dim): reduction(pool, data_format, dim) for pool in pools for dim in ("ROW", "COL")
    }
    results = run_compute(
        kernel_of(list(calls.values()), 1),
        [[np.concatenate(faces)]],
        output_tiles=len(calls),
        formats=[data_format],
        output_format=data_format,
        headers=("compute_kernel_api.h",),
        fp32_dest_acc_en=True,
    )
    for result, (pool, dim) in zip(results, calls, strict=True):
        tile = result.reshape(4, 16, 16)
        upper, lower = np.hstack(tile[:2]), np.hstack(tile[2:])
        line = np.vstack([upper, lower])[:, 0] if dim == "ROW" else upper[0]
        wanted = pools[pool](matrix.astype(np.int64), axis=1 if dim == "ROW" else 0)
        np.testing.assert_array_equal(line, wanted.astype(dtype), err_msg=f"{pool} {dim}")


def test_a_reduction_needs_its_own_init(run_compute):
    call = reduction("MAX", "Int32", "ROW", init="PoolType::SUM, DataFormat::Int32")
    with pytest.raises(KernelFault, match="sfpu_reduce_init of its own pool type"):
        run_compute(
            kernel_of([call], 1),
            [[np.resize(A, 1024).astype(np.int32)]],
            formats=["Int32"],
            output_format="Int32",
            headers=("compute_kernel_api.h",),
            fp32_dest_acc_en=True,
        )


def test_integers_need_a_dst_of_their_width(run_compute):
    body = kernel_of([binary("add_int_tile", "Int32")], 2)
    inputs = [[np.resize(A, 1024).astype(np.int32)]] * 2
    with pytest.raises(KernelFault, match="needs fp32_dest_acc_en to be true"):
        run_compute(body, inputs, formats=["Int32"] * 2, output_format="Int32", headers=HEADERS[:1])


def test_the_matrix_unit_takes_no_integers(run_compute):
    body = kernel_of(["add_init(0, 1);add_tiles(0, 1, 0, 0, 0)"], 2)
    inputs = [[np.resize(A, 1024).astype(np.int32)]] * 2
    with pytest.raises(KernelFault, match="which the matrix unit does not take"):
        run_compute(body, inputs, formats=["Int32"] * 2, output_format="Int32")


@pytest.mark.parametrize(("data_format", "mantissa_bits"), [("BFP_BFloat8", 7), ("BFP_BFloat4", 3)])
def test_block_floats(tiny, cache_dir, data_format, mantissa_bits):
    """Packed by the runtime as by the simulator, and unpacked again."""
    from ttl.artifact import ComputeConfig, ThreadKind
    from ttl.host import launch

    random = np.random.default_rng(5)
    values = (random.normal(size=1024) * 2.0 ** random.integers(-20, 20, 1024)).astype(np.float32)
    values[:5] = [0.0, -0.0, 1e-40, 3.0e38, -3.0e38]
    values = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    values[512:528] = 0.0
    copy = """compute_kernel_hw_startup({0}, {1});
cb_wait_front({0}, 1);cb_reserve_back({1}, 1);
tile_regs_acquire();copy_init({0});copy_tile({0}, 0, 0);tile_regs_commit();
tile_regs_wait();pack_tile(0, {1});tile_regs_release();cb_push_back({1}, 1);cb_pop_front({0}, 1);"""
    reads = """#include "api/dataflow/dataflow_api.h"
void kernel_main() {{
  const auto t = TensorAccessor(TensorAccessorArgs<{0}>(), get_common_arg_val<uint32_t>(0));
  {1}
}}
"""
    to_l1 = (
        "cb_reserve_back(0, 1);noc_async_read_page(0, t, get_write_ptr(0));"
        "noc_async_read_barrier();cb_push_back(0, 1);"
    )
    to_dram = (
        "cb_wait_front(1, 1);noc_async_write_page(0, t, get_read_ptr(1));"
        "noc_async_write_barrier();cb_pop_front(1, 1);"
    )
    held = quantise(values[np.newaxis], mantissa_bits, by_packer=True)
    pages = pack(held, mantissa_bits)
    for formats, given, wanted in (
        (("BFloat16", data_format), values.astype(ml_dtypes.bfloat16)[np.newaxis], pages),
        ((data_format, "Float32"), pages, held),
    ):
        kernels = [
            tiny.make_kernel(
                "compute",
                ThreadKind.COMPUTE,
                tiny.compute_source(copy.format(0, 1)),
                (),
                ComputeConfig(fp32_dest_acc_en=True),
            ),
            tiny.make_kernel("read", ThreadKind.READER, reads.format(2, to_l1), (0,)),
            tiny.make_kernel("write", ThreadKind.WRITER, reads.format(4, to_dram), (1,)),
        ]
        buffers = [tiny.make_buffer(f"b{i}", i, 1, 1, name) for i, name in enumerate(formats)]
        tensors = [tiny.Tensor(given), tiny.Tensor(np.zeros_like(wanted))]
        launch(tiny.make_operation(kernels, buffers, 2), tensors, cache_dir=cache_dir)
        np.testing.assert_array_equal(tensors[1].tiles, wanted)
