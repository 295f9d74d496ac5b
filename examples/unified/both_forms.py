"""The examples as unified operations beside the kernels written by hand: results and lengths."""

import inspect
import sys
from importlib import util
from pathlib import Path

import numpy as np
import ttnn

import ttl

HERE = Path(__file__).resolve().parent
# The tensors of each example, by their sizes; the last is the result.
SQUARE = (256, 256)
EXAMPLES = {
    "elementwise": ("multiply_add_exp", [SQUARE] * 4),
    "matmul_bias_relu": ("matmul_bias_relu", [SQUARE] * 4),
    "softmax": ("softmax", [SQUARE] * 2),
    "split_sum": ("split_sum", [SQUARE, SQUARE, (256, 64)]),
    "barrier": ("rotate_rows", [SQUARE] * 3),
    "multicast_matmul": ("multicast_matmul", [SQUARE] * 3),
    "ring_all_reduce": ("ring_all_reduce", [SQUARE] * 2),
}


def load(file: Path, name: str) -> ttl.Operation:
    """An operation of one of the files."""
    sys.path.insert(0, str(HERE.parent))
    spec = util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(HERE.parent))
    operation: ttl.Operation = getattr(module, name)
    return operation


def forms(example: str) -> list[ttl.Operation]:
    """The operation as one body, and as kernels."""
    name, _ = EXAMPLES[example]
    return [load(folder / f"{example}.py", name) for folder in (HERE, HERE.parent)]


def tensors(example: str, seed: int = 0) -> list[ttnn.Tensor]:
    device = ttnn.open_device(device_id=0)
    generator = np.random.default_rng(seed)
    _, sizes = EXAMPLES[example]
    arrays = [4 * generator.random(size, np.float32) - 2 for size in sizes]
    return [ttl.from_numpy(each, dtype=ttnn.bfloat16, device=device) for each in arrays]


def main() -> None:
    print(f"{'example':18} {'unified':>8} {'kernels':>8}   lines")
    for example in EXAMPLES:
        results, lines = [], []
        for operation in forms(example):
            given = tensors(example)
            operation(*given)
            results.append(ttl.to_numpy(given[-1]))
            lines.append(len(inspect.getsource(operation.function).splitlines()))
        is_equal = np.array_equal(results[0], results[1])
        print(f"{example:18} {lines[0]:8} {lines[1]:8}   {'same bits' if is_equal else 'DIFFER'}")


if __name__ == "__main__":
    main()
