"""Misuse of the chip's interface: a KernelFault with the line, never a crash."""

from __future__ import annotations

import numpy as np
import pytest

from ttl.artifact import PAGE_BYTES, ThreadKind
from ttl.diagnostics import InternalError, KernelFault, UsageError, codes
from ttl.host import launch

START = "compute_kernel_hw_startup(0, 0, 1);"
OPEN = START + "cb_wait_front(0, 1); cb_reserve_back(1, 1); tile_regs_acquire(); copy_init(0);"
PACKING = OPEN + "copy_tile(0, 0, 0); tile_regs_commit(); tile_regs_wait();"

COMPUTE_FAULTS = {
    "DST slot 8 is used, but a section has 8": OPEN + "\ncopy_tile(0, 0, 8);",
    "a tile operation outside tile_regs_acquire": START + "fill_tile_init();\nfill_tile(0, 1.0f);",
    "a pack outside tile_regs_wait": OPEN + "copy_tile(0, 0, 0);\npack_tile(0, 1);",
    "tile_regs_wait must follow tile_regs_commit": OPEN + "\ntile_regs_wait();",
    "tile_regs_acquire must follow tile_regs_release": OPEN + "\ntile_regs_acquire();",
    "tile_regs_release must follow tile_regs_wait": OPEN + "\ntile_regs_release();",
    "compute_kernel_hw_startup must come first": "\ntile_regs_acquire();",
    "compute_kernel_hw_startup is called twice": START + "\n" + START,
    "compute_kernel_hw_startup is called": START + "\ncompute_kernel_hw_startup(0, 1);",
    "cb_wait_front asks for 2 pages of `in0`, which has 1": START + "\ncb_wait_front(0, 2);",
    "cb_reserve_back asks for 2 pages of `out`, which has 1": START + "\ncb_reserve_back(1, 2);",
    "tile 0 of `in0` is read, but 0 tiles were waited for": (
        START + "tile_regs_acquire(); copy_init(0);\ncopy_tile(0, 0, 0);"
    ),
    "tile 1 of `in0` is read, but 1 tiles were waited for": OPEN + "\ncopy_tile(0, 1, 0);",
    "tile 1 of `out` is packed, but 1 tiles are reserved": PACKING + "\npack_tile<true>(0, 1, 1);",
    "cb_push_back pushes 1 pages to `out`, of which 0 were reserved": (
        START + "\ncb_push_back(1, 1);"
    ),
    "cb_pop_front pops 1 pages of `in0`, of which 0 were waited for": (
        START + "\ncb_pop_front(0, 1);"
    ),
    "cb_pop_front pops 2 pages of `in0`, of which 1 were waited for": (
        START + "cb_wait_front(0, 1); cb_wait_front(0, 1);\ncb_pop_front(0, 2);"
    ),
    "cb_push_back pushes 2 pages to `out`, of which 1 were reserved": (
        START + "cb_reserve_back(1, 1); cb_reserve_back(1, 1);\ncb_push_back(1, 2);"
    ),
    "there is no circular buffer with index 9": START + "\ncb_wait_front(9, 1);",
    "there is no circular buffer with index 77": START + "\ncb_wait_front(77, 1);",
    "add_tiles needs add_init, but the last init was copy_init": (
        OPEN + "\nadd_tiles(0, 0, 0, 0, 0);"
    ),
    "sub_tiles needs sub_init, but the last init was add_init": (
        OPEN + "add_init(0, 0);\nsub_tiles(0, 0, 0, 0, 0);"
    ),
    "matmul_block needs matmul_init": OPEN + "\nmatmul_block(0, 0, 0, 0, 0, 0, 1, 1, 1);",
    "matmul_block with ct_dim 1, rt_dim 2 after an init with 1, 1": (
        OPEN + "matmul_block_init(0, 0);\nmatmul_block(0, 0, 0, 0, 0, 0, 1, 2, 1);"
    ),
    "exp_tile needs exp_tile_init": OPEN + "copy_tile(0, 0, 0);\nexp_tile(0);",
    "common runtime argument 0 is read, but the kernel has 0": (
        "\nget_common_arg_val<uint32_t>(0);"
    ),
}


@pytest.mark.parametrize("message", COMPUTE_FAULTS, ids=lambda text: text[:40])
def test_compute_fault(run_compute, tiny, message):
    body = COMPUTE_FAULTS[message]
    with pytest.raises(KernelFault) as caught:
        run_compute(body, [[1.0]])
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code is codes.EXECUTOR_FAULT
    assert message in diagnostic.message
    assert "kernel `compute` on node (0, 0)" in diagnostic.message
    # The call that faults stands on the second line of the body, which is line n of the kernel.
    assert diagnostic.primary.span.file == "compute.py"
    assert diagnostic.primary.span.line == tiny.header_lines + 2
    assert diagnostic.facts["cpp_line"] == tiny.header_lines + 2


@pytest.mark.parametrize(("wide", "full", "slots"), [(0, 0, 8), (0, 1, 16), (1, 0, 4), (1, 1, 8)])
def test_dst_capacity(run_compute, wide, full, slots):
    config = {"fp32_dest_acc_en": bool(wide), "dst_full_sync_en": bool(full)}
    body = OPEN + f"copy_tile(0, 0, {slots - 1});\ncopy_tile(0, 0, {slots});"
    with pytest.raises(KernelFault, match=f"DST slot {slots} is used"):
        run_compute(body, [[1.0]], **config)


def test_kernel_that_ends_with_registers_held(run_compute):
    with pytest.raises(KernelFault, match="ended between tile_regs_acquire and tile_regs_release"):
        run_compute(OPEN, [[1.0]])


def test_format_that_the_unpacker_is_not_configured_for(run_compute):
    body = """compute_kernel_hw_startup(0, 0, 2);
cb_wait_front(1, 1); tile_regs_acquire(); copy_init(1);
copy_tile(1, 0, 0);"""
    with pytest.raises(KernelFault, match="reconfig_data_format is missing"):
        run_compute(body, [[1.0], [1.0]], formats=["BFloat16", "Float32"])


def test_copy_after_the_init_for_another_format(run_compute):
    body = """compute_kernel_hw_startup(0, 0, 2);
cb_wait_front(1, 1); tile_regs_acquire(); copy_init(0); reconfig_data_format_srca(1);
copy_tile(1, 0, 0);"""
    with pytest.raises(KernelFault, match="init was for a buffer of BFloat16, but `in1` holds"):
        run_compute(body, [[1.0], [1.0]], formats=["BFloat16", "Float32"], fp32_dest_acc_en=True)


@pytest.mark.parametrize("set_up", ["(0, 1, 2)", "(0, 0, 2);reconfig_data_format_srcb(1)"])
def test_integers_that_the_matrix_unit_adds_where_floats_are_copied(run_compute, set_up):
    body = f"""compute_kernel_hw_startup{set_up};
cb_wait_front(0, 1); tile_regs_acquire(); copy_init(0);
copy_tile(0, 0, 0);"""
    with pytest.raises(KernelFault, match=r"the matrix unit adds integers .* `in0` holds BFloat16"):
        run_compute(body, [[1.0], [1]], formats=["BFloat16", "Int32"], fp32_dest_acc_en=True)


def test_typecast_after_the_init_of_another_one(run_compute):
    formats = "<(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::{}>"
    body = OPEN + f"typecast_tile_init{formats.format('UInt32')}();"
    with pytest.raises(KernelFault, match="typecast_tile_init of its own formats"):
        run_compute(
            f"{body}\ntypecast_tile{formats.format('Int32')}(0);",
            [[1.0]],
            headers=["eltwise_unary/typecast.h"],
            fp32_dest_acc_en=True,
        )


def test_format_that_the_packer_is_not_configured_for(run_compute):
    body = PACKING.replace("hw_startup(0, 0, 1)", "hw_startup(0, 0, 0)") + "pack_tile(0, 1);"
    with pytest.raises(KernelFault, match="pack_reconfig_data_format is missing"):
        run_compute(body, [[1.0]], output_format="Float32")


def test_unpack_to_dest_excludes_the_matrix_unit(run_compute):
    body = OPEN + "add_init(0, 0);\nadd_tiles(0, 0, 0, 0, 0);"
    with pytest.raises(KernelFault, match="cannot feed the matrix unit"):
        run_compute(
            body,
            [[1.0]],
            formats=["Float32"],
            output_format="Float32",
            unpack_to_dest=True,
            fp32_dest_acc_en=True,
        )


def test_a_source_set_up_for_another_way_to_unpack(run_compute):
    """The output is not marked: what it sets up does not fit the input, which is."""
    body = OPEN.replace("hw_startup(0, 0, 1)", "hw_startup(1, 1, 1)")
    assert body != OPEN
    with pytest.raises(KernelFault, match="a buffer that is not marked UnpackToDestFp32 but `in0`"):
        run_compute(
            body + "copy_init(0);\ncopy_tile(0, 0, 0);",
            [[1.0]],
            formats=["Float32"],
            output_format="Float32",
            unpack_to_dest=True,
            fp32_dest_acc_en=True,
        )


ADDRESS = "get_common_arg_val<uint32_t>(0)"
ACCESSOR = f"const auto t = TensorAccessor(TensorAccessorArgs<1>(), {ADDRESS});"
READ = f"{ACCESSOR} cb_reserve_back(0, 1);"
NETWORK_FAULTS = {
    "page 2 of a tensor with 2 pages": f"{READ}\nnoc_async_read_page(2, t, get_write_ptr(0));",
    "page -1 of a tensor with 2 pages": f"{READ}\nnoc_async_read_page(-1, t, get_write_ptr(0));",
    "L1 address 0x10 lies in no circular buffer": f"{READ}\nnoc_async_read_page(0, t, 16);",
    "a transfer of 2048 bytes reaches past the end of `in0`": (
        f"{READ}\nnoc_async_read_page(0, t, get_write_ptr(0) + 4096 - 1024);"
    ),
    "differ modulo 32": f"{READ}\nnoc_async_read_page(0, t, get_write_ptr(0) + 16);",
    "leaves the page": (
        f"{READ}\nnoc_async_read(t.get_noc_addr(1, 1024), get_write_ptr(0), 2048);"
    ),
    "there is no tensor at address 0x1": (
        "const auto t = TensorAccessor(TensorAccessorArgs<1>(), 1); \n"
        "noc_async_read_page(0, t, get_write_ptr(0));"
    ),
    "the accessor's page size": (
        "const auto t = TensorAccessor(TensorAccessorArgs<1>(), get_common_arg_val<uint32_t>(0), "
        "1024);\nnoc_async_read_page(0, t, get_write_ptr(0));"
    ),
    "without noc_async_read_barrier": f"{READ}\nnoc_async_read_page(0, t, get_write_ptr(0));",
    "without noc_async_write_barrier": (
        f"{READ}\nnoc_async_write_page(0, t, get_write_ptr(0));noc_async_writes_flushed();"
    ),
    "differ modulo 16": f"{READ}\nnoc_async_write_page(0, t, get_write_ptr(0) + 8);",
    "0x20 is not a NoC address": f"{READ}\nnoc_async_read(32, get_write_ptr(0), 32);",
    "runtime argument 0 is read, but the kernel has none": "\nget_arg_val<uint32_t>(0);",
    "moves past the end of `in0`: page 1 plus 2 of 2 pages": (
        "cb_reserve_back(0, 1); cb_push_back(0, 1); cb_wait_front(0, 1); cb_pop_front(0, 1);"
        "cb_reserve_back(0, 2);\ncb_push_back(0, 2);"
    ),
}


def _reader(tiny, body: str):
    source = f'#include "api/dataflow/dataflow_api.h"\nvoid kernel_main() {{\n{body}\n}}\n'
    return tiny.make_kernel("read", ThreadKind.READER, source, (0,))


def _launch_reader(tiny, cache_dir, body, **tensor):
    tensors = [tiny.Tensor(np.ones((2, 512), np.float32), **tensor)]
    operation = tiny.make_operation([_reader(tiny, body)], [tiny.make_buffer("in0", 0, 1, 2)], 1)
    launch(operation, tensors, cache_dir=cache_dir)


@pytest.mark.parametrize("message", NETWORK_FAULTS, ids=lambda text: text[:40])
def test_network_fault(tiny, cache_dir, message):
    with pytest.raises(KernelFault) as caught:
        _launch_reader(tiny, cache_dir, NETWORK_FAULTS[message])
    diagnostic = caught.value.diagnostics[0]
    assert message in diagnostic.message
    assert diagnostic.primary.span.line == 4


def test_l1_tensors_are_aligned_to_16(tiny, cache_dir):
    body = f"{READ}\nnoc_async_read_page(0, t, get_write_ptr(0) + 16);noc_async_read_barrier();"
    _launch_reader(tiny, cache_dir, body, memory="l1")


def test_blackhole_dram_reads_are_aligned_to_64(tiny, cache_dir):
    body = f"{READ}\nnoc_async_read_page(0, t, get_write_ptr(0) + 32);noc_async_read_barrier();"
    _launch_reader(tiny, cache_dir, body)
    tensors = [tiny.Tensor(np.ones((2, 512), np.float32))]
    operation = tiny.make_operation(
        [_reader(tiny, body)], [tiny.make_buffer("in0", 0, 1, 2)], 1, target="blackhole"
    )
    with pytest.raises(KernelFault, match="differ modulo 64"):
        launch(operation, tensors, cache_dir=cache_dir)


def test_a_fault_keeps_what_was_written(tiny, cache_dir):
    body = f"""{ACCESSOR} cb_reserve_back(0, 1);
noc_async_write_page(1, t, get_write_ptr(0)); noc_async_write_barrier();
cb_wait_front(0, 3);"""
    tensor = tiny.Tensor(np.ones((2, 512), np.float32))
    operation = tiny.make_operation([_reader(tiny, body)], [tiny.make_buffer("in0", 0, 1, 2)], 1)
    with pytest.raises(KernelFault, match="cb_wait_front asks for 3 pages"):
        launch(operation, [tensor], cache_dir=cache_dir)
    assert (tensor.tiles[0] == 1).all()
    assert np.isnan(tensor.tiles[1]).all()  # L1 that nobody wrote


def test_reads_land_at_the_barrier(tiny, cache_dir):
    body = f"""{ACCESSOR} cb_reserve_back(0, 1);
noc_async_read_page(0, t, get_write_ptr(0));
noc_async_write_page(1, t, get_write_ptr(0)); noc_async_write_barrier();
noc_async_read_barrier();"""
    tensor = tiny.Tensor(np.ones((2, 512), np.float32))
    operation = tiny.make_operation([_reader(tiny, body)], [tiny.make_buffer("in0", 0, 1, 2)], 1)
    launch(operation, [tensor], cache_dir=cache_dir)
    assert np.isnan(tensor.tiles[1]).all()


def test_copy_within_l1(tiny, cache_dir):
    body = f"""{ACCESSOR} cb_reserve_back(0, 2); uint32_t l1 = get_write_ptr(0);
noc_async_read_page(0, t, l1); noc_async_read_barrier();
noc_async_read(get_noc_addr(l1), l1 + 2048, 2048); noc_async_read_barrier();
noc_async_write(l1 + 2048, t.get_noc_addr(1), 2048); noc_async_write_barrier();"""
    tensor = tiny.Tensor(np.arange(1024, dtype=np.float32).reshape(2, 512))
    operation = tiny.make_operation([_reader(tiny, body)], [tiny.make_buffer("in0", 0, 1, 2)], 1)
    launch(operation, [tensor], cache_dir=cache_dir)
    np.testing.assert_array_equal(tensor.tiles[1], np.arange(512))


def test_padding_of_pages_is_not_stored(tiny, cache_dir):
    """Row-major pages of 40 bytes move as 64."""
    body = f"""{ACCESSOR} cb_reserve_back(0, 1); uint32_t l1 = get_write_ptr(0);
noc_async_read_page(0, t, l1); noc_async_read_barrier();
noc_async_write_page(1, t, l1); noc_async_write_barrier();"""
    tensor = tiny.Tensor(np.arange(30, dtype=np.float32).reshape(3, 10))
    operation = tiny.make_operation([_reader(tiny, body)], [tiny.make_buffer("in0", 0, 1, 2)], 1)
    launch(operation, [tensor], cache_dir=cache_dir)
    assert tensor.tiles[1].tolist() == list(range(10))
    assert tensor.tiles[2].tolist() == list(range(20, 30))


def test_a_second_kernel_may_not_push(tiny, cache_dir):
    source = '#include "api/dataflow/dataflow_api.h"\nvoid kernel_main() {\n'
    source += "cb_reserve_back(0, 1);\ncb_push_back(0, 1);\n}\n"
    kernels = [
        tiny.make_kernel("first", ThreadKind.READER, source),
        tiny.make_kernel("second", ThreadKind.WRITER, source),
    ]
    operation = tiny.make_operation(kernels, [tiny.make_buffer("in0", 0, 1, 2)], 0)
    with pytest.raises(KernelFault, match=r"`second` .* a second kernel pushes to `in0`"):
        launch(operation, [], cache_dir=cache_dir)


REJECTED = {
    "cb_wait_front(0, 1);": "cb_wait_front",  # nothing included
    '#include "api/compute/cb_api.h"\ntile_regs_acquire();': "tile_regs_acquire",
    '#include "api/compute/reg_api.h"\ncb_wait_front(0, 1);': "cb_wait_front",
    '#include "api/compute/no_such.h"\n': "no_such.h",
    "constexpr uint32_t cb = get_compile_time_arg_val(1);": "Index out of range",
    "uint32_t n = 3; for (int i = 0; i < n; ++i) {}": "sign",
}


@pytest.mark.wrong_kernel("each lacks an include or breaks a rule of C++ that the chip's build has")
@pytest.mark.parametrize("text", REJECTED, ids=lambda text: text[-30:])
def test_the_compiler_rejects_what_the_chips_compiler_would(tiny, cache_dir, text):
    head, _, body = text.rpartition("\n")
    source = f"#include <cstdint>\n{head}\nvoid kernel_main() {{\n{body}\n}}\n"
    kernel = tiny.make_kernel("compute", ThreadKind.COMPUTE, source)
    operation = tiny.make_operation([kernel], [tiny.make_buffer("in0", 0, 1)], 0)
    with pytest.raises(InternalError) as caught:
        launch(operation, [], cache_dir=cache_dir)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code is codes.COMPILER_FAILED
    assert REJECTED[text] in diagnostic.facts["compiler_output"]
    if "out of range" not in REJECTED[text]:
        assert diagnostic.primary.span.line == (2 if not body else 4)


def test_unknown_formats_and_too_large_buffers(tiny, cache_dir, monkeypatch):
    monkeypatch.setitem(PAGE_BYTES, "Tf32", 4096)
    kernel = tiny.make_kernel("compute", ThreadKind.COMPUTE, "void kernel_main() {}")
    unknown = tiny.make_operation([kernel], [tiny.make_buffer("in0", 0, 1, 1, "Tf32")], 0)
    with pytest.raises(UsageError, match=r"TTL7001(.|\n)*does not run Tf32 buffers yet"):
        launch(unknown, [], cache_dir=cache_dir)
    large = tiny.make_operation([kernel], [tiny.make_buffer("in0", 0, 717)], 0)
    with pytest.raises(UsageError, match="TTL4001"):
        launch(large, [], cache_dir=cache_dir)


SPINNING = {
    "call with a line": ("\nwhile (true) get_write_ptr(0);", 4),
    "line known later": ("while (true) { get_absolute_logical_x();\nget_write_ptr(0); }", 4),
    "no line known": ("\nwhile (true) get_absolute_logical_x();", None),
}


@pytest.mark.parametrize("case", SPINNING)
def test_a_kernel_that_never_lets_others_run(tiny, cache_dir, case):
    body, line = SPINNING[case]
    operation = tiny.make_operation([_reader(tiny, body)], [tiny.make_buffer("in0", 0, 1, 2)], 1)
    tensor = tiny.Tensor(np.ones((2, 512), np.float32))
    with pytest.raises(KernelFault) as caught:
        launch(operation, [tensor], cache_dir=cache_dir, step_budget=1000)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code is codes.SPINNING
    assert "kernel `read` on node (0, 0) ran for" in diagnostic.message
    assert (diagnostic.primary and diagnostic.primary.span.line) == line
    assert 1000 < diagnostic.facts["steps"] <= 2001


def test_steps_are_counted_anew_when_others_have_run(tiny, cache_dir):
    """Each kernel takes far more steps than the budget, but few of them at a time."""
    source = '#include "api/dataflow/dataflow_api.h"\nvoid kernel_main() {\n'
    source += "for (int i = 0; i < 5000; ++i) { BODY }\n}\n"
    push = "cb_reserve_back(0, 1); cb_push_back(0, 1);"
    pop = "cb_wait_front(0, 1); cb_pop_front(0, 1);"
    kernels = [
        tiny.make_kernel("read", ThreadKind.READER, source.replace("BODY", push)),
        tiny.make_kernel("write", ThreadKind.WRITER, source.replace("BODY", pop)),
    ]
    operation = tiny.make_operation(kernels, [tiny.make_buffer("in0", 0, 1, 2)], 0)
    launch(operation, [], cache_dir=cache_dir, step_budget=1000)
