"""Models as they come, compiled for `tt`: which give what torch gives, and how quickly.

python -m benchmarks.models [NAME ...]

A row is right, wrong, refused with the operation, or slower than its aim. On one thread of the CPU;
calls of eager torch and of the compiled model take turns, and the least of each counts. The times
of models of a real size are those of benchmarks.models_speed.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from .model_zoo import ROWS  # noqa: E402

# Times eager: small models are mostly calls of Python, ours as well as torch's.
AIM = 8.0
TOLERANCE = 2e-5  # of the largest number of a result, in f32
CALLS = 5


@dataclass(frozen=True, slots=True)
class Found:
    name: str
    state: str  # right, wrong, refused, slower
    detail: str = ""
    error: float = 0.0
    ratio: float = 0.0

    def __str__(self) -> str:
        figures = f"{self.error:.1e} {self.ratio:6.1f} x" if self.state != "refused" else " " * 16
        return f"{self.name:16} {self.state:8} {figures}  {self.detail}".rstrip()


def judge(name: str) -> Found:
    """Compile one of the models, and compare it with itself."""
    import torch

    import tt_torch  # noqa: F401
    from tt_torch.lowering import UnsupportedOperation

    torch._dynamo.reset()
    torch.manual_seed(0)
    model, arguments = ROWS[name]()
    for module in model.eval().modules():
        if isinstance(module, torch.nn.Conv2d):  # so that something is left after many of them
            torch.nn.init.kaiming_normal_(module.weight)
    moved = copy.deepcopy(model).to("tt")  # so that nothing is left to the CPU
    given = {key: _placed(value) for key, value in arguments.items()}
    compiled = torch.compile(moved, backend="tt")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = _tensors(model(**arguments))
        try:
            found = [each.cpu() for each in _tensors(compiled(**given))]
        except UnsupportedOperation as refused:
            return Found(name, "refused", refused.diagnostics[0].message)
        error = _apart(wanted, found)
        if error > TOLERANCE:
            return Found(name, "wrong", error=error)
        ratio = _ratio(lambda: model(**arguments), lambda: compiled(**given))
    return Found(name, "right" if ratio <= AIM else "slower", "", error, ratio)


def _placed(value: Any) -> Any:
    return value.to("tt") if hasattr(value, "to") else value


def _tensors(value: Any) -> list[Any]:
    import torch
    from torch.utils import _pytree as pytree

    leaves = pytree.tree_leaves(dict(value) if hasattr(value, "keys") else value)
    return [each for each in leaves if isinstance(each, torch.Tensor) and each.numel()]


def _apart(wanted: Sequence[Any], found: Sequence[Any]) -> float:
    """The largest error, measured by the largest number of its tensor."""
    if [each.shape for each in wanted] != [each.shape for each in found]:
        return float("inf")
    errors = [
        float((right.float() - own.float()).abs().max() / right.float().abs().max().clamp(1e-30))
        for right, own in zip(wanted, found, strict=True)
    ]
    return max(errors, default=0.0)


def _ratio(eager: Any, compiled: Any) -> float:
    times: dict[Any, list[float]] = {eager: [], compiled: []}
    for _ in range(CALLS):
        for call, taken in times.items():
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
    return min(times[compiled]) / min(times[eager])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ROWS)}")
    chosen = parser.parse_args(arguments).names or list(ROWS)
    counts: dict[str, int] = {}
    for name in chosen:
        found = judge(name)
        counts[found.state] = counts.get(found.state, 0) + 1
        print(found, flush=True)
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return 1 if "wrong" in counts else 0


if __name__ == "__main__":
    sys.exit(main())
