"""`python -m benchmarks.tracing`: what a trace costs, as a multiple of the time without.

Every program runs plain and traced, on the simulator and compiled, in processes of their own by
turns; CPU seconds of one call, the least of all rounds. The file is written within the call.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = {
    "add 1024x1024, 1x1-tile blocks": ("add.py", "1024", "1"),
    "add 2048x2048, 4x4-tile blocks": ("add.py", "2048", "4"),
    "matmul 1024^3, 2x2x2-tile blocks": ("matmul.py", "1024", "2"),
    "matmul 1024^3, row and column multicast, 2x2": ("multicast_matmul.py", "1024", "2"),
    "softmax 2048x512, row blocks": ("softmax.py", "2048", "512"),
}
BACKENDS = {"simulator": {}, "compiled": {"TTL_BACKEND": "host"}}
ROUNDS = 3
HERE = Path(__file__).parent / "programs"


def cpu_seconds(program: tuple[str, ...], settings: dict[str, str]) -> float:
    command = [sys.executable, str(HERE / program[0]), *program[1:]]
    done = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, check=True
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures["cpu_seconds"]


def main() -> None:
    print("| program | backend | plain, CPU s | traced | times |")
    print("| --- | --- | ---: | ---: | ---: |")
    for name, program in PROGRAMS.items():
        for backend, settings in BACKENDS.items():
            plain, traced = [], []
            for _ in range(ROUNDS):
                with tempfile.TemporaryDirectory() as folder:
                    file = str(Path(folder) / "trace.json")
                    plain.append(cpu_seconds(program, settings))
                    traced.append(cpu_seconds(program, settings | {"TTL_TRACE": file}))
            ratio = min(traced) / min(plain)
            print(f"| {name} | {backend} | {min(plain):.3g} | {min(traced):.3g} | {ratio:.1f} |")


if __name__ == "__main__":
    main()
