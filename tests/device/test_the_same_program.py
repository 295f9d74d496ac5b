"""Programs run unchanged with the real ttnn, up to the launch; what it is given is then executed.

The chip is one that ttnn only believes in (mock_chip.py), so ttnn makes tensors, addresses, words
of accessors and descriptors itself. The programs it is given run on our executor (recorder.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from device.real_ttnn import NO_INTERPRETER, find_environment, run_in_environment
from headers.check import check_folder

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "examples"
WITH_TTNN = sorted(EXAMPLES.glob("*.py"))
WITH_ARRAYS = sorted((EXAMPLES / "pykernel").glob("*.py"))
OWN = sorted((HERE / "programs").glob("*.py"))
CHIPS = ("wormhole_b0", "blackhole")
# Wall time differs between two runs of a program.
TIME = re.compile(r" *[\d.]+ ms")


@pytest.fixture(scope="module", autouse=True)
def environment() -> Path:
    python = find_environment()
    if python is None:
        pytest.skip(NO_INTERPRETER)
    return python


def run(which: str, chip: str, folder: Path, programs: Iterable[Path]) -> dict[str, Any]:
    folder.mkdir()
    script, names = HERE / "run_programs.py", map(str, programs)
    output = run_in_environment(script, which, chip, str(folder), *names, folder=folder)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    for program in found.values():
        program["printed"] = TIME.sub("", program["printed"])
    return found


def programs_with_ttnn(folder: Path) -> list[Path]:
    (text,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    readme = folder / "readme.py"
    readme.write_text(text)
    examples = [path for path in WITH_TTNN if path.stem != "sample_inputs"]
    return [readme, *examples, EXAMPLES / "wrong" / "deadlock.py", *OWN]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("chip", CHIPS)
def test_programs_run_with_either_ttnn(chip: str, tmp_path: Path) -> None:
    """The same kernels, the same tensors, the same bits in them, and the same output."""
    programs = programs_with_ttnn(tmp_path)
    real = run("real", chip, tmp_path / "real", programs)
    embedded = run("executed", chip, tmp_path / "embedded", programs)
    assert list(real) == [path.stem for path in programs]
    for name in real:
        assert real[name] == embedded[name], name
    launched = {name for name, found in real.items() if found["launches"]}
    assert launched == set(real) - {"deadlock"}
    assert "error[TTL5001]" in real["deadlock"]["printed"]
    for name in ("readme", *(path.stem for path in WITH_TTNN if path.stem != "sample_inputs")):
        errors = [float(each) for each in re.findall(r"error ([\d.]+)%", real[name]["printed"])]
        assert all(error < 1 for error in errors) and "Traceback" not in real[name]["printed"]
        # The kernels as the descriptors have them, against the device headers.
        assert check_folder(tmp_path / "real" / f"{name}-0", [chip]) == []


def test_programs_of_arrays_run_beside_the_real_ttnn(tmp_path: Path) -> None:
    """They have no tensors of ttnn: they are simulated, whichever ttnn there is."""
    real = run("real", CHIPS[0], tmp_path / "real", WITH_ARRAYS)
    assert real == run("simulated", CHIPS[0], tmp_path / "simulated", WITH_ARRAYS)
    assert all(re.match("correlation 1|largest error", each["printed"]) for each in real.values())


def test_arrays_become_the_same_tensors(tmp_path: Path) -> None:
    assert run_in_environment(HERE / "arrays.py", str(tmp_path), folder=tmp_path).endswith("74\n")


def test_nothing_beside_the_examples_is_taken_for_a_part_of_ttnn(tmp_path: Path) -> None:
    """`python examples/elementwise.py` looks in examples/ first, for the torch of ttnn too."""
    script = tmp_path / "script.py"
    begin = f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\n"
    script.write_text(f"{begin}import ttnn\nprint(ttnn.__name__)\n")
    assert run_in_environment(script, folder=tmp_path).endswith("ttnn\n")
