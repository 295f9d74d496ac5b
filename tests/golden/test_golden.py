"""The C++ and the manifest of the examples, as files that are read in review.

`pytest tests/golden --update-golden` writes them again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from golden.example_programs import EXAMPLES, OPERATIONS, compile_example
from ttl.artifact.manifest import to_json

HERE = Path(__file__).parent


def check(path: Path, text: str, update: bool) -> None:
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, f"{path} differs; read the change, then --update-golden"


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


def without_machine(text: str, name: str) -> str:
    """Paths of this machine as paths in the repository."""
    return text.replace(str(EXAMPLES / f"{name}.py"), f"examples/{name}.py")


def without_sources(manifest: dict[str, Any]) -> dict[str, Any]:
    """The C++ has files of its own."""
    kernels = [{**kernel, "cpp_source": "..."} for kernel in manifest["kernels"]]
    return {**manifest, "kernels": kernels}


@pytest.mark.parametrize("name", OPERATIONS)
def test_kernels_are_the_golden_ones(name: str, update: bool) -> None:
    for kernel in compile_example(name).kernels:
        check(HERE / name / f"{kernel.name}.cpp", kernel.cpp_source, update)


@pytest.mark.parametrize("name", OPERATIONS)
def test_manifest_is_the_golden_one(name: str, update: bool) -> None:
    text = json.dumps(without_sources(to_json(compile_example(name))), indent=1) + "\n"
    text = without_machine(text, name)
    assert str(EXAMPLES.parent) not in text
    check(HERE / name / "manifest.json", text, update)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_golden_folder_has_nothing_else(name: str) -> None:
    kernels = compile_example(name).kernels
    expected = {f"{kernel.name}.cpp" for kernel in kernels} | {"manifest.json"}
    assert {path.name for path in (HERE / name).iterdir()} == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OPERATIONS)
def test_another_process_and_hash_seed_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    """All processes against the golden files, so against each other."""
    golden = json.loads((HERE / name / "manifest.json").read_text())
    for seed in "012":
        folder = tmp_path / seed
        command = [str(Path(sys.executable).parent / "ttl"), "compile", "--compile-only"]
        subprocess.run(
            [*command, str(EXAMPLES / f"{name}.py"), "-o", str(folder)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            timeout=60,
        )
        for kernel in [each.name for each in compile_example(name).kernels]:
            written = (folder / "kernels" / f"{kernel}.cpp").read_text()
            assert written == (HERE / name / f"{kernel}.cpp").read_text()
        manifest = (folder / "manifest.json").read_text()
        assert without_sources(json.loads(without_machine(manifest, name))) == golden
        assert manifest == (tmp_path / "0" / "manifest.json").read_text()
