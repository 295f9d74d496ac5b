"""The examples as unified operations: the results and the kernels of those written by hand."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import Config, process_variables
from ttl.driver.compile import compile_operation
from ttl.source.unified.unify import show_threads
from ttl.target import load

EXAMPLES = Path(__file__).parents[2] / "examples"
TARGET = load("wormhole_b0")
# Sends and receives of these stand in one kernel where they are written by hand.
OTHERWISE_WRITTEN = ("multicast_matmul", "ring_all_reduce")


def _both_forms() -> ModuleType:
    sys.path.insert(0, str(EXAMPLES / "unified"))
    try:
        import both_forms
    finally:
        sys.path.pop(0)
    return both_forms


BOTH_FORMS = _both_forms()


def result(operation, example: str) -> np.ndarray:
    given = BOTH_FORMS.tensors(example)
    operation(*given)
    return ttl.to_numpy(given[-1])


def kernels(operation, example: str) -> list[str]:
    return kernel_texts(operation, BOTH_FORMS.tensors(example))


def kernel_texts(operation, tensors) -> list[str]:
    """The C++ texts, with names for what they declare in the order in which they do."""
    program = operation.program(tuple(tensors), {}, TARGET.default_grid)
    compiled = compile_operation(program, TARGET, Config())
    return [_normal(kernel.cpp_source) for kernel in compiled.kernels]


DECLARED = re.compile(r"\b(?:u?int32_t|bool|float|auto|[A-Z]\w*<.*?>) (\w+)\b(?=\s*[=(;{])")


def _normal(text: str) -> str:
    text = re.sub(r"\s*//.*", "", text)
    names = dict.fromkeys(DECLARED.findall(text))
    for number, name in enumerate(names):
        text = re.sub(rf"\b{name}\b", f"name_{number}", text)
    return text


def executed(text: str, name: str, folder: Path):
    file = folder / "kernels.py"
    file.write_text(text, encoding="utf-8")
    module: dict = {}
    exec(compile(text, str(file), "exec"), module)
    return module[name]


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("example", BOTH_FORMS.EXAMPLES)
def test_results_are_the_same_bit_for_bit(example: str, backend: str) -> None:
    unified, by_hand = BOTH_FORMS.forms(example)
    with process_variables({"TTL_BACKEND": backend}):
        np.testing.assert_array_equal(result(unified, example), result(by_hand, example))


@pytest.mark.parametrize("example", [e for e in BOTH_FORMS.EXAMPLES if e not in OTHERWISE_WRITTEN])
def test_kernels_are_the_same_up_to_names(example: str) -> None:
    unified, by_hand = BOTH_FORMS.forms(example)
    assert kernels(unified, example) == kernels(by_hand, example)


@pytest.mark.parametrize("example", BOTH_FORMS.EXAMPLES)
def test_the_kernels_that_are_shown_run(example: str, tmp_path: Path) -> None:
    unified, _ = BOTH_FORMS.forms(example)
    given = dict(zip(unified.signature.parameters, BOTH_FORMS.tensors(example), strict=True))
    shown = show_threads(unified, given)
    assert shown is not None
    text = shown.partition("# The kernels that it becomes\n")[2]
    operation = executed(text, unified.__name__, tmp_path)
    np.testing.assert_array_equal(result(operation, example), result(unified, example))
    assert kernels(operation, example) == kernels(unified, example)
    assert show_threads(operation, given) is None


def test_the_operation_of_the_readme(tmp_path: Path) -> None:
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    text = re.search(r"```python\n(.*?)\n\n\ndevice = ", readme, re.DOTALL)
    assert text is not None
    by_hand = executed(text[1], "scaled_sum", tmp_path)
    unified = BOTH_FORMS.load(EXAMPLES / "unified" / "scaled_sum.py", "scaled_sum")
    device = ttnn.open_device(device_id=0)
    numbers = np.random.default_rng(0).random((2, 64, 128), np.float32)
    results = []
    for operation in (unified, by_hand):
        a, b = (ttl.from_numpy(each, dtype=ttnn.bfloat16, device=device) for each in numbers)
        y = ttnn.zeros_like(a)
        operation(a, b, y)
        results.append(ttl.to_numpy(y))
    np.testing.assert_array_equal(*results)
    assert kernel_texts(unified, (a, b, y)) == kernel_texts(by_hand, (a, b, y))
