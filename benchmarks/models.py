"""Models as they come, compiled for `tt`: how quickly, and which give what their owner gives.

python -m benchmarks.models [NAME ...] [--times] [--seconds 6]

The first table has the times of models of a real size (benchmarks.model_times), the second one
small models of many kinds: each is right, wrong, refused with the operation, slower than its aim,
or of a package that is not installed. On one thread of the CPU; calls of eager torch, or of flax
without jit, and of the compiled model take turns, and the least CPU time of each counts. Names
choose rows of the second table, --times the first one alone.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from . import model_times  # noqa: E402
from .model_zoo import ROWS, prepare_torchvision  # noqa: E402

OF_FLAX = ("flax-mlp", "flax-cnn", "flax-decoder", "flax-transformer", "flax-rnn", "nnx-mixer")
NAMES = (*ROWS, *OF_FLAX)
# Multiple of eager's time: small models mostly call Python, in ours as in torch's.
AIM = 8.0
TOLERANCE = 2e-5  # relative to the largest number of a result, in f32
CALLS = 5


@dataclass(frozen=True, slots=True)
class Found:
    name: str
    state: str  # right, wrong, refused, slower, missing
    detail: str = ""
    error: float = 0.0
    ratio: float = 0.0

    def __str__(self) -> str:
        has_figures = self.state not in ("refused", "missing")
        figures = f"{self.error:.1e} {self.ratio:6.1f} x" if has_figures else " " * 16
        return f"{self.name:20} {self.state:8} {figures}  {self.detail}".rstrip()


def judge(name: str) -> Found:
    """Compile a model, and compare it with the uncompiled one."""
    from ttl.diagnostics import CompileError

    try:
        eager, compiled, exact = _of_flax(name) if name in OF_FLAX else _of_torch(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted, found = _arrays(eager()), _arrays(compiled())
            error = _apart(wanted, found)
            if error > TOLERANCE:  # eager's own kernels may have the same error
                truth = _arrays(exact())
                error = max(error - _apart(truth, wanted), _apart(truth, found))
            if error > TOLERANCE:
                return Found(name, "wrong", error=error)
            ratio = _ratio(eager, compiled)
    except CompileError as refused:
        return Found(name, "refused", refused.diagnostics[0].message)
    except ModuleNotFoundError as missing:
        return Found(name, "missing", f"{missing.name} is not installed")
    return Found(name, "right" if ratio <= AIM else "slower", "", error, ratio)


# The model unmodified, compiled, and unmodified in f64.
Calls = tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]


def _of_torch(name: str) -> Calls:
    import torch

    import tt_torch  # noqa: F401

    prepare_torchvision()
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, arguments = ROWS[name]()
    for module in model.eval().modules():
        if isinstance(module, torch.nn.Conv2d):  # keeps values from vanishing after many layers
            torch.nn.init.kaiming_normal_(module.weight)
    moved = copy.deepcopy(model).to("tt")  # so that nothing runs on the CPU
    given = {key: _placed(value) for key, value in arguments.items()}
    compiled = torch.compile(moved, backend="tt")
    without = torch.no_grad()

    def exact() -> Any:
        wide = {key: each.double() if _is_float(each) else each for key, each in arguments.items()}
        return copy.deepcopy(model).double()(**wide)

    return without(lambda: model(**arguments)), without(lambda: compiled(**given)), without(exact)


def _of_flax(name: str) -> Calls:
    import jax

    from ttgraph.jax import compile as compile_jax

    from .model_zoo_flax import ROWS as rows

    function, arguments = rows[name]()
    compiled = compile_jax(function)
    wait: Any = jax.block_until_ready

    def eager() -> Any:
        return wait(function(*arguments))

    return eager, lambda: compiled(*arguments), eager


def _is_float(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "is_floating_point", False) is True


def _placed(value: Any) -> Any:
    return value.to("tt") if hasattr(value, "to") else value


def _arrays(value: Any) -> list[Any]:
    """Return the non-empty arrays of a model's result, in f32."""
    import numpy as np
    import torch
    from torch.utils import _pytree as pytree

    leaves = pytree.tree_leaves(dict(value) if hasattr(value, "keys") else value)
    tensors = [each.cpu().float() if isinstance(each, torch.Tensor) else each for each in leaves]
    arrays = [np.asarray(each, np.float32) for each in tensors if hasattr(each, "shape")]
    return [each for each in arrays if each.size]


def _apart(wanted: Sequence[Any], found: Sequence[Any]) -> float:
    """Return the largest error, relative to the largest number of its tensor."""
    if [each.shape for each in wanted] != [each.shape for each in found]:
        return float("inf")
    errors = [
        float(abs(right - own).max() / max(abs(right).max(), 1e-30))
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
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.models", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--times", action="store_true", help="the table of times alone")
    parser.add_argument("--seconds", type=float, default=6.0, help="of calls of each row of times")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no model {', '.join(sorted(unknown))}")
    status = 0 if options.names else model_times.table(options.seconds)
    return status if options.times else compatibility(options.names or NAMES) or status


def compatibility(names: Sequence[str]) -> int:
    counts: dict[str, int] = {}
    print(f"\n{'':20} {'':8} {'apart':7} {'x eager':>8}")
    for name in names:
        found = judge(name)
        counts[found.state] = counts.get(found.state, 0) + 1
        print(found, flush=True)
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return 1 if "wrong" in counts else 0


if __name__ == "__main__":
    sys.exit(main())
