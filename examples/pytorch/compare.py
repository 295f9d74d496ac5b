"""What the examples share: each way of running a model, compared with torch in f32."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

import tt_torch

# A model, its arguments, what it gives in f32, and how far a result may be from that.
Tensors = tuple[torch.Tensor, ...]
Case = tuple[torch.nn.Module, Tensors, torch.Tensor, float]

HALF_ULP = 2**-8  # the largest relative error of rounding to bfloat16


def run_compiled(model: torch.nn.Module, args: Tensors) -> torch.Tensor:
    """With torch.compile, on device "tt"."""
    with torch.no_grad():
        compiled = torch.compile(model.to("tt"), backend="tt", fullgraph=True)
        result: torch.Tensor = compiled(*(each.to("tt") for each in args)).cpu()
    return result


def run_exported(model: torch.nn.Module, args: Tensors, folder: Path) -> torch.Tensor:
    """As a flatbuffer, in a process that has neither the model nor torch."""
    exported = tt_torch.export(model, args)
    exported.save(folder / "model.ttnn")
    np.savez(folder / "inputs.npz", *(widened(each) for each in exported.inputs(*args)))
    ttl = Path(sys.executable).with_name("ttl")
    options = ["--inputs", "inputs.npz", "--outputs", "outputs.npz"]
    subprocess.run([ttl, "run-flatbuffer", "model.ttnn", *options], cwd=folder, check=True)
    with np.load(folder / "outputs.npz") as outputs:
        return torch.from_numpy(outputs[outputs.files[-1]].astype(np.float32))


def widened(array: Any) -> Any:
    """numpy's files know no bfloat16; f32 has all its values."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def compare(name: str, result: torch.Tensor, expected: torch.Tensor, bound: float) -> None:
    found, wanted = result.float().flatten(), expected.flatten()
    pcc = torch.corrcoef(torch.stack([found, wanted]))[0, 1].item()
    largest = (found - wanted).abs().max().item()
    print(f"{name}: PCC {pcc:.6f}, largest error {largest:.4f} of at most {bound:.4f}")
    if not (pcc >= 0.999 and largest <= bound):
        sys.exit(f"{name}: the result is wrong")


def report(text: str) -> None:
    """What takes so long; results go to stdout."""
    print(text, file=sys.stderr, flush=True)


def run_everywhere(
    name: str, model: torch.nn.Module, args: Tensors, expected: torch.Tensor, bound: float
) -> None:
    report(f"{name}: compiling it with torch.compile and running it, some 10 seconds")
    compare(f"{name}, torch.compile", run_compiled(model, args), expected, bound)
    report(f"{name}: exporting it, and running the flatbuffer in another process")
    with tempfile.TemporaryDirectory() as folder:
        result = run_exported(model, args, Path(folder))
    compare(f"{name}, flatbuffer in another process", result, expected, bound)
