"""The walk has no data: it runs where numpy and the simulator cannot be imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import ttl.passes.verify

HERE = Path(ttl.passes.verify.__file__).parent
FILECHECK = Path(__file__).parents[3] / "filecheck"

# The dialects name element types, which know their numpy types; from the walk on there is none.
PROGRAM = """
import sys
from xdsl.parser import Parser
from ttl.dialects import make_context

module = Parser(make_context(), open(sys.argv[1]).read()).parse_module()
for name in list(sys.modules):
    if name.split(".")[0] in ("numpy", "ml_dtypes") or name.startswith(("ttl.sim", "ttl.ttnn")):
        del sys.modules[name]
for name in ("numpy", "ml_dtypes", "ttl.sim", "ttl.ttnn"):
    sys.modules[name] = None  # an import of it fails

from ttl.diagnostics import CompileError
from ttl.passes.verify import check_synchronization

found = check_synchronization(module, with_warnings=True)
print(*[each.code.code for each in found])
for name in ("numpy", "ml_dtypes", "ttl.sim", "ttl.ttnn"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise SystemExit(f"{name} is there")
"""


def run(file: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(FILECHECK / file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_neither_numpy_nor_the_simulator_is_imported() -> None:
    assert run("ttl_verify_pipenet_schedule.mlir") == ""
    assert run("ttl_verify_pipenet_schedule_refuses_cycle.mlir") == "TTL5001"


def test_no_module_of_it_names_them() -> None:
    for file in sorted(HERE.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not any(name.startswith(("numpy", "ttl.sim", "ml_dtypes")) for name in names)
