"""Compares the compile time of unified operations and of their handwritten kernels.

python -m benchmarks.unified_speed

The examples that are written otherwise by hand are compared with the kernels that they become.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

ROOT = Path(__file__).parents[1]
MOST = 1.3  # the largest allowed ratio
ROUNDS = 5


def seconds(make: Callable[[], Any], tensors: tuple[Any, ...]) -> float:
    """Return the seconds of one compilation without cached results."""
    from ttl.config import Config
    from ttl.driver.compile import compile_operation
    from ttl.target import load

    target, operation = load("wormhole_b0"), make()
    start = process_time()
    program = operation.program(tensors, {}, target.default_grid)
    compile_operation(program, target, Config())
    return process_time() - start


def shown_kernels(both_forms: Any, example: str) -> Callable[[], Any]:
    from ttl.source.unified.unify import shown_threads

    operation = both_forms.forms(example)[0]
    given = dict(zip(operation.signature.parameters, both_forms.tensors(example), strict=True))
    text = (shown_threads(operation, given) or "").partition("becomes\n")[2]
    file = Path(tempfile.mkdtemp()) / "kernels.py"
    file.write_text(text, encoding="utf-8")

    def make() -> Any:
        module: dict[str, Any] = {}
        exec(compile(text, str(file), "exec"), module)
        return module[operation.__name__]

    return make


def main() -> int:
    sys.path.insert(0, str(ROOT / "examples" / "unified"))
    both_forms: Any = import_module("both_forms")

    from ttl.source.unified.unify import forget

    worst = 0.0
    for example in both_forms.EXAMPLES:
        tensors = tuple(both_forms.tensors(example))
        by_hand = shown_kernels(both_forms, example)
        unified = lambda e=example: both_forms.forms(e)[0]  # noqa: E731
        best = [float("inf"), float("inf")]
        for _ in range(ROUNDS):
            for place, make in enumerate((unified, by_hand)):
                forget()
                best[place] = min(best[place], seconds(make, tensors))
        ratio = best[0] / best[1]
        worst = max(worst, ratio)
        print(f"{example:18} {1000 * best[0]:7.1f} ms {1000 * best[1]:7.1f} ms  {ratio:.2f} times")
    print(f"at most {worst:.2f} times as long; {MOST} are allowed")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
