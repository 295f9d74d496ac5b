"""Two hundred random unified operations: the same kernels and results as those split by hand.

The Python of their kernels is the same, statement by statement, and so is what the simulator makes
of it. The C++ is the same up to names, so it is run once, and computes the bits of the simulator:
of one in ten always, of all with --full.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import ttl
from property.unified_programs import THREADS, Maker, Program
from ttl import ttnn
from ttl.config import Config, process_variables
from ttl.driver.compile import compile_operation
from ttl.source.unified.unify import show_threads
from ttl.target import load

COUNT = 200
DEVICE = ttnn.open_device(device_id=0)
TARGET = load("wormhole_b0")


def operation(text: str, file: Path):
    file.write_text(text, encoding="utf-8")
    module: dict = {}
    exec(compile(text, str(file), "exec"), module)
    return module["operation"]


def tensors(program: Program) -> list:
    generator = np.random.default_rng(0)
    arrays = [generator.random((32 * program.rows, 64), np.float32) - 0.5 for _ in range(3)]
    return [ttl.from_numpy(each, dtype=ttnn.bfloat16, device=DEVICE) for each in arrays]


def result(made, program: Program, backend: str) -> np.ndarray:
    given = tensors(program)
    with process_variables({"TTL_BACKEND": backend}):
        made(*given)
    return ttl.to_numpy(given[-1])


DECLARED = re.compile(r"\b(?:u?int32_t|bool|float|auto|[A-Z]\w*<.*?>) (\w+)\b(?=\s*[=(;{])")


def kernels(made, program: Program) -> list[str]:
    found = made.program(tuple(tensors(program)), {}, TARGET.default_grid)
    texts = []
    for kernel in compile_operation(found, TARGET, Config()).kernels:
        text = re.sub(r"\s*//.*", "", kernel.cpp_source)
        for number, name in enumerate(dict.fromkeys(DECLARED.findall(text))):
            text = re.sub(rf"\b{name}\b", f"name_{number}", text)
        texts.append(text)
    return texts


def python(text: str) -> dict[str, str]:
    """The kernels of an operation as Python prints them."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.unparse(node) for node in functions if node.name in THREADS}


def shown(made, program: Program) -> str:
    names = dict(zip("aby", tensors(program), strict=True))
    return (show_threads(made, names) or "").partition("becomes\n")[2]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(COUNT))
def test_the_threads_are_those_of_the_hand_split_form(seed: int, tmp_path: Path) -> None:
    program = Maker(seed).program()
    unified = operation(program.unified(), tmp_path / "unified.py")
    split = operation(program.split(), tmp_path / "split.py")
    assert python(shown(unified, program)) == python(program.split())
    np.testing.assert_array_equal(result(unified, program, "sim"), result(split, program, "sim"))


FULL = [
    seed if seed % 10 == 0 else pytest.param(seed, marks=pytest.mark.full) for seed in range(COUNT)
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", FULL)
def test_the_kernels_are_those_of_the_hand_split_form(seed: int, tmp_path: Path) -> None:
    program = Maker(seed).program()
    unified = operation(program.unified(), tmp_path / "unified.py")
    split = operation(program.split(), tmp_path / "split.py")
    assert kernels(unified, program) == kernels(split, program)
    on_host = result(unified, program, "host")
    np.testing.assert_array_equal(on_host, result(split, program, "sim"))
