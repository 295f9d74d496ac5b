"""The programs of examples/pytorch, as the README says to run them."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tt_torch
from stablehlo_oracle import mlir_text

ROOT = Path(__file__).parents[2]


BUFFERS = {
    "eltwise_add": {"a_dfb", "b_dfb", "y_dfb"},
    "mlp_gelu": {"x_dfb", "bias_dfb", "y_dfb"},
    "attention": {"q_dfb", "k_dfb", "v_dfb", "y_dfb"},
    "llama_block": {"weight_dfb", "gate_dfb", "cos_dfb", "mask_dfb"},
}
CALLS = {"llama_block": 13}  # of two layers: 5 norms, and 2 of each other, 4 of the rotation
LARGE = pytest.param("llama_block", marks=pytest.mark.full)


@pytest.mark.sampled(1)  # two processes of torch each
@pytest.mark.parametrize("name", [*(name for name in BUFFERS if name != "llama_block"), LARGE])
def test_example(name, tmp_path):
    """torch.compile, and the flatbuffer in another process: both within the bound of their ops."""
    program, trace = ROOT / "examples" / "pytorch" / f"{name}.py", tmp_path / "trace.jsonl"
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TTL_TRACE": str(trace)},
    )
    assert done.returncode == 0, done.stderr
    assert f"{name}: compiling it with torch.compile" in done.stderr  # not silent for so long
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    pushed = [event["subject"] for event in events if event["kind"] == "buffer_push"]
    assert set(pushed) >= BUFFERS[name]
    half = len(pushed) // 2
    assert Counter(pushed[:half]) == Counter(pushed[half:])  # compiled; in the other process
    lines = re.findall(r"PCC (\S+), largest error (\S+) of at most (\S+)", done.stdout)
    assert len(lines) == 2
    for pcc, error, bound in lines:
        assert float(pcc) >= 0.999 and float(error) <= float(bound)


def test_without_torch_the_import_says_how_to_get_it():
    program = "import sys; sys.modules['torch'] = None; import ttl; import tt_torch"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: tt_torch needs torch, which is not installed: pip install '.[torch]'"
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BUFFERS)
def test_kernels_of_an_example_are_compiled_here(name, monkeypatch):
    """In this process, where every compiled kernel is checked against the device headers."""
    monkeypatch.syspath_prepend(ROOT / "examples" / "pytorch")
    model, args, *_ = importlib.import_module(name).make()
    exported = tt_torch.export(model, args)
    assert exported.flatbuffer() == tt_torch.export(model, args).flatbuffer()
    calls = mlir_text(exported.stablehlo).count("stablehlo.custom_call @tt.tt_lang_op(")
    assert calls == CALLS.get(name, 1)
