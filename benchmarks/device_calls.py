"""`python -m benchmarks.device_calls`: what a call of an operation on a device costs the host.

The descriptors and the specs of tensors are those of the real ttnn; `generic_op` does nothing, and
tensors are stand-ins of the tests, so what is measured is Python above the call of ttnn. Runs
itself with the Python of the real ttnn (`make real-ttnn`).
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
CALLS = 200
ROUNDS = 15
AIM_MICROSECONDS = 50


def microseconds(call: Callable[[], object]) -> tuple[float, float]:
    """Return the least and the median CPU time of a call, over several rounds of many calls."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(CALLS):
            call()
        times.append(1e6 * (time.process_time() - start) / CALLS)
    return min(times), statistics.median(times)


def measure() -> None:
    """Measure with the real ttnn."""
    import numpy as np
    import ttnn

    from device.standins import Device, Tensor, install
    from golden.example_programs import operation_of
    from ttl.driver import PROCESS_DRIVER

    launches = install(ttnn)
    vars(ttnn)["generic_op"] = lambda tensors, program: tensors[-1]
    operation = operation_of("elementwise")
    spec = ttnn.Tensor(np.zeros((256, 256), np.float32), ttnn.float32, layout=ttnn.TILE_LAYOUT).spec
    device = Device()
    tensors = [
        Tensor((256, 256), ttnn.float32, ttnn.TILE_LAYOUT, device, position, spec)
        for position in range(4)
    ]
    operation(*tensors)
    assert not launches.calls
    bound = operation.bind(*tensors)
    for name, call in (("body run", lambda: operation(*tensors)), ("bound", lambda: bound())):
        least, median = microseconds(call)
        over = "" if least <= AIM_MICROSECONDS else f" (over {AIM_MICROSECONDS})"
        print(
            f"a call on a device, 4 tensors, {name:12} {least:8.1f} us{over}, median {median:.1f}"
        )
    assert PROCESS_DRIVER.device.programs.built == 1


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from device.real_ttnn import NO_INTERPRETER, find_environment

    python = find_environment()
    if python is None:
        sys.exit(NO_INTERPRETER)
    paths = ":".join(str(ROOT / name) for name in ("src", "tests", "."))
    command = [str(python), "-c", "from benchmarks.device_calls import measure; measure()"]
    done = subprocess.run(
        command, env={"PYTHONPATH": paths, "HOME": str(Path.home())}, capture_output=True, text=True
    )
    print(done.stdout, end="")
    if done.returncode:
        sys.exit(done.stderr)


if __name__ == "__main__":
    main()
