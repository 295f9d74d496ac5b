"""Runs programs as they are, with the real ttnn or the embedded one, and prints what came of it.

Run by the real ttnn's Python: `run_programs.py real|executed|simulated CHIP FOLDER PROGRAM...`.
The last two are with the embedded ttnn. Prints JSON, for each program: what it prints, of every
launch the kernels, the tensors, and digests of what these hold afterwards, and how many operations
were compiled so far.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import runpy
import sys
from dataclasses import astuple
from pathlib import Path
from typing import Any

from device import mock_chip


def main() -> None:
    which, chip, folder, *programs = sys.argv[1:]
    place = Path(folder)
    recorder: Any = None
    if which == "real":
        mock_chip.prepare(chip, place)
        from device.recorder import Recorder

        recorder = Recorder(chip, place)
        recorder.install()
    else:
        import ttl.ttnn

        sys.modules["ttnn"] = ttl.ttnn
        backend = {"executed": "host", "simulated": "sim"}[which]
        os.environ |= {"TTL_BACKEND": backend, "TTL_TARGET": chip}
    launches = _noted_launches()
    found = {}
    for program in programs:
        name = Path(program).stem
        if recorder is not None:
            recorder.begin(name)
        found[name] = {"printed": _printed(program), "launches": launches.copy()}
        found[name]["compiled"] = _compiled_so_far()
        launches.clear()
    print(json.dumps(found))


def _noted_launches() -> list[Any]:
    """What runs on the executor from now on."""
    import ttl.host

    launch, launches = ttl.host.launch, []

    def noted(compiled: Any, storages: Any, **options: Any) -> None:
        launch(compiled, storages, **options)
        values = [storage.logical.tobytes() for storage in storages]
        operands = [(o.shape, o.dtype, o.layout, astuple(o.memory)) for o in compiled.operands]
        kernels = [kernel.cpp_source for kernel in compiled.kernels]
        digests = [hashlib.sha256(each).hexdigest() for each in values]
        launches.append({"kernels": kernels, "operands": operands, "results": digests})

    ttl.host.launch = noted
    return launches


def _compiled_so_far() -> int:
    from ttl.driver import PROCESS_DRIVER

    return PROCESS_DRIVER.artifacts.count


def _printed(program: str) -> str:
    output = io.StringIO()
    sys.path.insert(0, str(Path(program).parent))
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(program, run_name="__main__")
    except Exception as error:
        output.write(str(error))
    finally:
        sys.path.pop(0)
    return output.getvalue()


if __name__ == "__main__":
    main()
