"""Built-in operations that programs mix with their kernels, loaded at their first use."""

from importlib import import_module
from typing import Any

from ttl.diagnostics.names import unknown_name

# By module, so that `import ttnn` can list them without loading them.
OPERATIONS: dict[str, tuple[str, ...]] = {
    "arithmetic": (
        "add", "add_", "addcdiv", "addcmul", "atan2", "bitwise_and", "bitwise_left_shift",
        "bitwise_or", "bitwise_right_shift", "bitwise_xor", "div", "div_", "divide", "divide_",
        "eq", "floor_div", "fmod", "ge", "gt", "isclose", "le", "lerp", "logical_and",
        "logical_or", "logical_right_shift", "logical_xor", "lt", "maximum", "minimum", "mul",
        "mul_", "multiply", "multiply_", "ne", "pow", "remainder", "rsub",
        "squared_difference", "sub", "sub_", "subtract", "subtract_", "where",
    ),
    "elementwise": (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "ceil", "clamp",
        "clip", "cos", "cosh", "eqz", "erf", "erfc", "erfinv", "exp", "exp2", "expm1",
        "fill", "floor", "frac", "gez", "gtz", "identity", "isfinite", "isinf", "isnan",
        "lez", "log", "log10", "log1p", "log2", "logical_not", "ltz", "neg", "nez", "reciprocal",
        "round", "rsqrt", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh",
        "trunc",
    ),
    "activations": (
        "celu", "elu", "gelu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
        "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softplus",
        "softsign", "swish",
    ),
    "reduction": ("argmax", "cumprod", "cumsum", "max", "mean", "min", "prod", "std", "sum", "var"),
    "ordering": ("gather", "scatter", "sort", "topk"),
    "matmul": ("addmm", "linear", "matmul"),
    "shape": (
        "chunk", "concat", "embedding", "expand", "pad", "permute", "repeat", "repeat_interleave",
        "reshape", "slice", "split", "squeeze", "stack", "tilize", "transpose", "tril", "triu",
        "unsqueeze", "unsqueeze_to_4D", "untilize", "upsample", "view",
    ),
    "windows": ("conv2d", "conv_transpose2d"),
    "normalization": ("layer_norm", "rms_norm", "softmax"),
}  # fmt: skip

NAMES = tuple(sorted(name for names in OPERATIONS.values() for name in names))


def load(name: str) -> Any:
    """Load the operation of that name."""
    for module, names in OPERATIONS.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise unknown_name("the embedded ttnn", name, NAMES)
