"""The header check passes good kernels and catches each kind of bad one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headers.check import TARGETS, TargetName, Thread, check_kernel, check_operation
from headers.kernel_text import linker_faults
from ttl.artifact import Buffer, CompiledOperation, ComputeConfig, Kernel, Operand, ThreadKind

SAMPLES = Path(__file__).parent / "samples"
FORMATS = {index: "BFloat16" for index in range(4)}
BUFFERS = [0, 1, 2, 3]
ACCESSORS = [2, 2048] * 4
THREADS: dict[str, Thread] = {
    "elementwise_compute": "compute",
    "elementwise_read": "reader",
    "elementwise_write": "writer",
    "matmul_compute": "compute",
}


def check(source: str, thread: Thread, target: TargetName = "wormhole_b0") -> list[str]:
    arguments = BUFFERS if thread == "compute" else BUFFERS + ACCESSORS
    return check_kernel(source, thread, arguments, FORMATS, target=target)


def sample(name: str, *edits: tuple[str, str]) -> str:
    """A sample kernel, with each edit made at its first place."""
    text = (SAMPLES / f"{name}.cpp").read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", sorted(THREADS))
def test_good_kernel_passes(name: str, target: TargetName) -> None:
    assert check(sample(name), THREADS[name], target) == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("fp32", [False, True])
@pytest.mark.parametrize("full_sync", [False, True])
def test_compute_configurations_pass(fp32: bool, full_sync: bool) -> None:
    messages = check_kernel(
        sample("matmul_compute"),
        "compute",
        BUFFERS,
        FORMATS,
        fp32_dest_acc_en=fp32,
        dst_full_sync_en=full_sync,
    )
    assert messages == []


# gcc or clang
CALL = "too (few|many) arguments|no matching function"


def undeclared(name: str) -> str:
    return f"'{name}' was not declared|undeclared identifier '{name}'"


BAD_COMPUTE = {
    "missing argument": ("mul_init(a_dfb, b_dfb)", "mul_init(a_dfb)", CALL),
    "extra argument": ("cb_pop_front(a_dfb, 4)", "cb_pop_front(a_dfb, 4, 1)", CALL),
    "no such function": ("exp_tile(dst)", "expo_tile(dst)", undeclared("expo_tile")),
    "removed add_tiles_init": (
        "add_binary_tile_init()",
        "add_tiles_init(a_dfb, b_dfb)",
        undeclared("add_tiles_init"),
    ),
    "removed binary_op_init_common": (
        "compute_kernel_hw_startup(a_dfb, b_dfb, y_dfb)",
        "binary_op_init_common(a_dfb, b_dfb, y_dfb)",
        undeclared("binary_op_init_common"),
    ),
    "missing include": (
        '#include "api/compute/eltwise_unary/exp.h"\n',
        "",
        undeclared("exp_tile_init"),
    ),
    "no such header": ("unary/exp.h", "unary/expo.h", "No such file|file not found"),
    "wrong template argument": ("pack_tile<true>", "pack_tile<uint32_t>", CALL),
    "network call in compute": (
        "exp_tile_init();",
        "noc_async_read_barrier();",
        undeclared("noc_async_read_barrier"),
    ),
    "sign compare": ("i < 2", "i < get_arg_val<uint32_t>(0)", "different sign"),
    "argument index out of range": (
        "get_compile_time_arg_val(3)",
        "get_compile_time_arg_val(4)",
        "ndex out of range",
    ),
    "undeclared variable": ("copy_init(c_dfb)", "copy_init(d_dfb)", undeclared("d_dfb")),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", sorted(BAD_COMPUTE))
def test_bad_compute_kernel_is_caught(fault: str, target: TargetName) -> None:
    old, new, expected = BAD_COMPUTE[fault]
    messages = check(sample("elementwise_compute", (old, new)), "compute", target)
    assert any(re.search(expected, message) for message in messages), messages


BAD_READ = {
    "missing argument": ("noc_async_read_page(page, a, ", "noc_async_read_page(a, ", CALL),
    "extra argument": ("cb_push_back(a_dfb, 4)", "cb_push_back(a_dfb, 4, 4)", CALL),
    "no such function": (
        "noc_async_read_barrier",
        "noc_read_barrier",
        undeclared("noc_read_barrier"),
    ),
    "integer for a pointer": (
        "noc_async_read_barrier();",
        "noc_semaphore_set(get_semaphore(0), 1);",
        "invalid conversion|" + CALL,
    ),
    "sign compare": ("i < 2", "i < get_arg_val<uint32_t>(0)", "different sign"),
    "argument index out of range": (
        "get_compile_time_arg_val(2)",
        "get_compile_time_arg_val(12)",
        "ndex out of range",
    ),
    "accessor past the arguments": (
        "TensorAccessorArgs<4>",
        "TensorAccessorArgs<12>",
        "ndex out of range",
    ),
    "newer language": (
        "noc_async_read_barrier();",
        "int32_t two[2] = {}; for (int32_t k = 0; int32_t v : two) { k += v; }",
        r"(?i)c\+\+20",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", sorted(BAD_READ))
def test_bad_data_movement_kernel_is_caught(fault: str, target: TargetName) -> None:
    old, new, expected = BAD_READ[fault]
    messages = check(sample("elementwise_read", (old, new)), "reader", target)
    assert any(re.search(expected, message) for message in messages), messages


def test_message_names_the_line_of_the_kernel() -> None:
    source = sample("elementwise_write", ("noc_async_write_barrier", "noc_write_barrier"))
    line = source[: source.index("noc_write_barrier")].count("\n") + 1
    messages = check(source, "writer")
    assert messages
    assert all(message.startswith(f"kernel.cpp:{line}:") for message in messages)


def test_main_in_a_namespace_is_caught() -> None:
    source = sample("elementwise_write", ("void kernel_main", "namespace n {\nvoid kernel_main"))
    assert "kernel_main() inside `namespace n`" in check(source + "}\n", "writer")[0]


def test_missing_main_is_caught() -> None:
    assert linker_faults("// void kernel_main() {}\nvoid kernel_main();\n")


GLOBAL_AT = "void kernel_main()"
HELPER = "struct Counter { Counter(); int n; };\nuint32_t seed();\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "declaration",
    [
        "uint32_t first = seed();",
        "static const uint32_t first{seed()};",
        "Counter counter;",
        "namespace n { uint32_t first = seed() + 1; }",
        "uint32_t many[2] = {1, seed()};",
    ],
)
def test_dynamic_global_is_caught(declaration: str) -> None:
    source = sample("elementwise_write", (GLOBAL_AT, f"{HELPER}{declaration}\n{GLOBAL_AT}"))
    messages = check(source, "writer")
    assert any("constant initializer" in message for message in messages), messages


def test_constant_globals_pass() -> None:
    declarations = """
constexpr uint32_t size = 4;
static uint32_t count = size * 2;
uint32_t table[2] = {1, 2};
enum class Order { Row, Column };
struct Pair { uint32_t a = 1, b = 2; };
uint32_t clamp_to(uint32_t value, uint32_t limit = 4);
uint32_t clamp_to(uint32_t value, uint32_t limit) { return value < limit ? value : limit; }
template <typename T> T twice(T value) { return value + value; }
namespace n { uint32_t unset; }
"""
    source = sample("elementwise_write", (GLOBAL_AT, declarations + GLOBAL_AT))
    assert check(source, "writer") == []


def operation(**edits: tuple[str, str]) -> CompiledOperation:
    """The elementwise sample as the compiler would hand it over."""
    kinds = {"compute": ThreadKind.COMPUTE, "read": ThreadKind.READER, "write": ThreadKind.WRITER}
    kernels = tuple(
        Kernel(
            name=name,
            thread=kind,
            cpp_source=sample(f"elementwise_{name}", *([edits[name]] if name in edits else [])),
            config=ComputeConfig() if kind is ThreadKind.COMPUTE else None,
        )
        for name, kind in kinds.items()
    )
    return CompiledOperation(
        name="elementwise",
        target="wormhole_b0",
        device_api="0.81",
        kernels=kernels,
        buffers=tuple(Buffer(f"{n}_dfb", i, "BFloat16", 4, 2) for i, n in enumerate("abcy")),
        operands=tuple(Operand(n, (256, 256), "bfloat16", "tile") for n in "abcy"),
        core_range=((0, 0), (1, 1)),
    )


def test_operation_passes_on_both_chips() -> None:
    assert check_operation(operation(), TARGETS) == []


def test_operation_message_names_kernel_and_chip() -> None:
    messages = check_operation(operation(read=("noc_async_read_page", "noc_async_read_pages")))
    assert messages
    assert all(message.startswith("read (wormhole_b0): kernel.cpp:") for message in messages)
