"""What a kernel's own C++ can do wrong without a call: a fault, and the interpreter goes on."""

from __future__ import annotations

import platform
import sys

import numpy as np
import pytest

from ttl.artifact import ThreadKind
from ttl.diagnostics import KernelFault, codes
from ttl.host import execution, launch

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
    reason="the runtime has no signals here",
)
HEAD = '#include "api/dataflow/dataflow_api.h"\n'


def run(tiny, cache_dir, body: str, before: str = "", nodes: int = 1) -> None:
    source = f"{HEAD}{before}\nvoid kernel_main() {{\n{body}\n}}\n"
    kernel = tiny.make_kernel("read", ThreadKind.READER, source)
    buffers = [tiny.make_buffer("in0", 0, 1, 2)]
    operation = tiny.make_operation([kernel], buffers, 0, (nodes - 1, 0))
    launch(operation, [], cache_dir=cache_dir, threads=1)


WILD = {
    "a pointer to nowhere": ("*reinterpret_cast<volatile uint32_t*>((uintptr_t)64) = 1;", "0x40"),
    "L1 of no node": (
        "*reinterpret_cast<volatile uint32_t*>((uintptr_t)0xfffffff0u) = 1;",
        "0xfffffff0",
    ),
}


@pytest.mark.parametrize("name", WILD)
def test_wild_pointers(tiny, cache_dir, name):
    text, address = WILD[name]
    with pytest.raises(KernelFault) as caught:
        run(tiny, cache_dir, f"cb_reserve_back(0, 1);\n{text}")
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code is codes.EXECUTOR_FAULT
    assert f"the kernel uses address {address}" in diagnostic.message
    assert diagnostic.primary.span.line == 4  # the last call before it


DEEPER = (
    "int deeper(int n) { volatile int kept[64]; kept[n % 64] = n;"
    " return n == -1 ? 0 : deeper(n + 1) + kept[n % 64]; }"
)
TOO_DEEP = "needs more than the 262144 bytes of its stack"


def test_endless_recursion(tiny, cache_dir):
    with pytest.raises(KernelFault, match=TOO_DEEP):
        run(tiny, cache_dir, "cb_reserve_back(0, 1 + (deeper(0) & 0));", DEEPER)


def test_endless_recursion_on_the_stack_of_a_kernel_that_has_ended(tiny, cache_dir):
    body = "if (get_absolute_logical_x() == 2) cb_reserve_back(0, 1 + (deeper(0) & 0));"
    with pytest.raises(KernelFault, match=TOO_DEEP):
        run(tiny, cache_dir, body, DEEPER, nodes=3)


def test_division_by_zero(tiny, cache_dir):
    body = "volatile int zero = 0;\ncb_reserve_back(0, 1); volatile int x = 7 / zero; (void)x;"
    if platform.machine() == "x86_64":  # elsewhere the processor gives a number, as the chip does
        with pytest.raises(KernelFault, match="divides by zero"):
            run(tiny, cache_dir, body)


def test_a_kernel_that_spins_without_a_call(tiny, cache_dir, monkeypatch):
    monkeypatch.setattr(execution, "SILENT_MILLISECONDS", 500)
    body = "cb_reserve_back(0, 1);\nvolatile uint32_t spins = 0; while (true) spins = spins + 1;"
    with pytest.raises(KernelFault) as caught:
        run(tiny, cache_dir, body)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code is codes.SPINNING
    assert "ran on without a call" in diagnostic.message
    assert diagnostic.primary.span.line == 4


def test_l1_is_memory(tiny, cache_dir):
    """A kernel stores to L1 by a pointer and reads it back, then writes it to a tensor."""
    source = f"""{HEAD}
void kernel_main() {{
  const auto t = TensorAccessor(TensorAccessorArgs<1>(), get_common_arg_val<uint32_t>(0));
  cb_reserve_back(0, 1);
  volatile tt_l1_ptr uint32_t* words =
      reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)get_write_ptr(0));
  for (uint32_t i = 0; i < 512; ++i) words[i] = i;
  for (uint32_t i = 1; i < 512; ++i) words[i] = words[i] + words[i - 1];
  noc_async_write_page(0, t, get_write_ptr(0)); noc_async_write_barrier();
}}
"""
    tensor = tiny.Tensor(np.zeros((1, 512), np.uint32))
    kernel = tiny.make_kernel("read", ThreadKind.READER, source, (0,))
    operation = tiny.make_operation([kernel], [tiny.make_buffer("in0", 0, 1, 2)], 1)
    launch(operation, [tensor], cache_dir=cache_dir)
    np.testing.assert_array_equal(tensor.tiles[0], np.cumsum(np.arange(512)))


def test_the_process_still_works_afterwards(tiny, cache_dir):
    for _ in range(3):
        with pytest.raises(KernelFault):
            run(tiny, cache_dir, "*reinterpret_cast<volatile uint32_t*>((uintptr_t)64) = 1;")
    run(tiny, cache_dir, "cb_reserve_back(0, 1);")
