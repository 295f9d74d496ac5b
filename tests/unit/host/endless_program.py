"""Runs kernels that never end until SIGINT, which it sends to itself: see test_interrupt.py."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

from ttl.artifact import Buffer, CompiledOperation, Kernel, Operand, ThreadKind
from ttl.host import execution, launch

READ = """#include "api/dataflow/dataflow_api.h"
void kernel_main() {
  const auto t = TensorAccessor(TensorAccessorArgs<1>(), get_common_arg_val<uint32_t>(0));
  cb_reserve_back(0, 1);
  noc_async_write_page(1, t, get_write_ptr(0)); noc_async_write_barrier();
  while (true) { LOOP }
}
"""
WRITE = """#include "api/dataflow/dataflow_api.h"
void kernel_main() { while (true) { cb_wait_front(0, 1); cb_pop_front(0, 1); } }
"""
LOOPS = {
    "others run": "cb_reserve_back(0, 1); cb_push_back(0, 1);",
    "others do not run": "get_write_ptr(0);",
    "nothing is called": "static volatile int spins = 0; spins = spins + 1;",
}


def endless_operation(loop: str) -> CompiledOperation:
    """Its reader overwrites page 1 of the tensor and then does LOOPS[loop] for ever."""
    kernels = (
        Kernel("read", ThreadKind.READER, READ.replace("LOOP", LOOPS[loop]), (0,)),
        Kernel("write", ThreadKind.WRITER, WRITE),
    )
    buffers = (Buffer("in0", 0, "BFloat16", 1, 2),)
    operands = (Operand("t", (64, 32), "bfloat16", "tile"),)
    return CompiledOperation(
        "endless", "wormhole_b0", "0.81", kernels, buffers, operands, ((0, 0), (0, 0))
    )


class Tensor:
    page_bytes = 2048
    memory = "dram"

    def __init__(self) -> None:
        self.given = np.zeros((2, 2048), np.uint8)  # what the runtime works on
        self.written = False

    def read_pages(self) -> np.ndarray:
        return self.given

    def write_pages(self, pages: np.ndarray) -> None:
        self.written = bool(pages[1].all())


def interrupt_when_written(tensor: Tensor) -> None:
    while not tensor.given[1].all():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def main(loop: str, cache_dir: str) -> None:
    # A run in the background is started with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tensor = Tensor()
    threading.Thread(target=interrupt_when_written, args=(tensor,), daemon=True).start()
    try:
        launch(endless_operation(loop), [tensor], cache_dir=Path(cache_dir), step_budget=2**62)
    except KeyboardInterrupt:
        print("interrupted, the tensor is", "written" if tensor.written else "not written")
    print("still running:", list(execution.in_flight.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
