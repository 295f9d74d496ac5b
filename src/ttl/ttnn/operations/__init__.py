"""The built-in operations that programs mix with their kernels, loaded when they are first used."""

from importlib import import_module
from typing import Any

from ttl.diagnostics.names import unknown_name

# By module, so that `import ttnn` can name them all and load none.
OPERATIONS: dict[str, tuple[str, ...]] = {
    "arithmetic": (
        "add", "add_", "div", "divide", "divide_", "eq", "floor_div", "fmod", "ge", "gt", "le",
        "logical_and", "logical_or", "logical_xor", "lt", "maximum", "minimum", "mul", "multiply",
        "multiply_", "ne", "pow", "remainder", "rsub", "sub", "subtract", "subtract_", "where",
    ),
    "elementwise": (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "clamp", "clip", "cos",
        "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "frac", "isfinite", "isinf",
        "isnan", "log", "log10", "log1p", "log2", "logical_not", "neg", "reciprocal", "round",
        "rsqrt", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
    ),
    "activations": (
        "celu", "elu", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
        "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softplus",
        "softsign", "swish",
    ),
    "reduction": ("argmax", "cumsum", "max", "mean", "min", "prod", "std", "sum", "var"),
    "ordering": ("gather", "scatter", "sort", "topk"),
    "matmul": ("linear", "matmul"),
    "shape": (
        "chunk", "concat", "embedding", "expand", "pad", "permute", "repeat", "repeat_interleave",
        "reshape", "slice", "split", "squeeze", "stack", "tilize", "transpose", "tril", "triu",
        "unsqueeze", "unsqueeze_to_4D", "untilize", "upsample",
    ),
    "normalization": ("layer_norm", "rms_norm", "softmax"),
}  # fmt: skip

NAMES = tuple(sorted(name for names in OPERATIONS.values() for name in names))


def load(name: str) -> Any:
    """The operation of that name."""
    for module, names in OPERATIONS.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise unknown_name("the embedded ttnn", name, NAMES)
