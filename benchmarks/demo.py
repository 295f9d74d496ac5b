"""One program on both backends: simulated, and compiled to C++ kernels that run on this CPU."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.processes import TTL, run

PROGRAM = "examples/matmul_bias_relu.py"


def main() -> int:
    for title, options in (("simulator", ()), ("compiled, on this CPU", ("--host",))):
        print(f"== {title}: ttl {' '.join(('run', *options, PROGRAM))}", flush=True)
        try:
            cost = run([*TTL, "run", *options, PROGRAM], show=True)
        except subprocess.CalledProcessError as error:
            return error.returncode
        print(f"   {cost.wall_seconds:.2f} s, Python start included\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
