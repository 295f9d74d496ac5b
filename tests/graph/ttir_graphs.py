# ruff: noqa: E501
"""Graphs of one operation of TTIR, as tt-mlir writes them, with their meanings in numpy.

A row is: call, attributes, shapes of the inputs, shape of the result, meaning; a shape may end in an
element type. Each is written twice: with values, and with a buffer for the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np

F32, I32, BOOL = "f32", "i32", "i1"
_STORAGE = {"f32": np.float32, "i32": np.int32, "i1": np.bool_}


@dataclass(frozen=True)
class Graph:
    call: str
    attributes: str
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    result: tuple[tuple[int, ...], str]
    meaning: Callable[..., Any]
    low: float = -2.0
    high: float = 2.0

    @property
    def name(self) -> str:
        shapes = "_".join("x".join(map(str, shape)) for shape, _ in self.inputs)
        return f"{self.call}-{shapes}-{self.attributes}".replace(" ", "")[:60]

    def names(self, number: int) -> list[str]:
        return [f"%a{number}_{n}" for n in range(len(self.inputs))]

    def arguments(self, number: int) -> list[str]:
        pairs = zip(self.names(number), self.inputs, strict=True)
        return [f"{name}: {_type(*each)}" for name, each in pairs]

    def lines(self, number: int, with_buffer: bool) -> list[str]:
        names, types = self.names(number), [_type(*each) for each in self.inputs]
        result, lines = _type(*self.result), []
        if with_buffer and types:
            lines.append(f"  %out{number} = ttir.empty() : {result}")
            names, types = [*names, f"%out{number}"], [*types, result]
        attributes = f" <{{{self.attributes}}}>" if self.attributes else ""
        call = f'"ttir.{self.call}"({", ".join(names)}){attributes}'
        return [*lines, f"  %r{number} = {call} : ({', '.join(types)}) -> {result}"]

    def arrays(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [self._array(rng, shape, element) for shape, element in self.inputs]

    def _array(self, rng: np.random.Generator, shape: tuple[int, ...], element: str) -> Any:
        if element == F32:
            return rng.uniform(self.low, self.high, shape).astype(np.float32)
        high = 2 if element == BOOL else int(self.high)
        return rng.integers(0, high, shape).astype(_STORAGE[element])


def _type(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def text_of(graphs: Sequence[Graph], *, with_buffer: bool) -> str:
    """One function that has them all."""
    numbered = list(enumerate(graphs))
    arguments = ", ".join(each for n, graph in numbered for each in graph.arguments(n))
    results = ", ".join(_type(*graph.result) for graph in graphs)
    body = [line for n, graph in numbered for line in graph.lines(n, with_buffer)]
    values = ", ".join(f"%r{n}" for n, _ in numbered)
    start = f"func.func @main({arguments}) -> ({results}) {{"
    return "\n".join([start, *body, f"  return {values} : {results}", "}"])


def graph(
    call: str, attributes: str, inputs: list[Any], result: Any, meaning: Any, **others: Any
) -> Graph:
    def pair(given: Any) -> tuple[tuple[int, ...], str]:
        if given and isinstance(given[-1], str):
            return tuple(given[:-1]), given[-1]
        return tuple(given), F32

    return Graph(call, attributes, tuple(map(pair, inputs)), pair(result), meaning, **others)


A = (3, 40)
_gelu = np.vectorize(lambda x: 0.5 * x * (1 + erf(x / 2**0.5)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


UNARY = {
    "abs": np.abs,
    "neg": np.negative,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "sign": np.sign,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "silu": lambda x: x * sigmoid(x),
    "gelu": _gelu,
    "erf": np.vectorize(erf),
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "square": np.square,
    "reciprocal": lambda x: 1 / x,
    "cbrt": np.cbrt,
    "trunc": np.trunc,
    "frac": lambda x: x - np.trunc(x),
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tan": np.tan,
    "isfinite": np.isfinite,
    "signbit": np.signbit,
}
POSITIVE = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: x**-0.5}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
    "remainder": np.fmod,
}
REDUCTIONS = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}


def _elementwise() -> list[Graph]:
    found = [graph(name, "", [A], A, meaning) for name, meaning in UNARY.items()]
    found += [graph(name, "", [A], A, meaning, low=0.5) for name, meaning in POSITIVE.items()]
    found += [graph(name, "", [A, A], A, meaning) for name, meaning in BINARY.items()]
    found += [
        graph(name, "", [(3, 1), (40,)], A, meaning)
        for name, meaning in BINARY.items()
        if name in ("add", "multiply", "maximum", "lt")
    ]
    found += [
        graph("pow", "", [A, A], A, np.power, low=0.5),
        graph("leaky_relu", "parameter = 0.1 : f32", [A], A, lambda x: np.where(x > 0, x, 0.1 * x)),
        graph("where", "", [(*A, BOOL), A, A], A, np.where),
        graph(
            "clamp_scalar", "min = -1.0 : f32, max = 0.5 : f32", [A], A, lambda x: x.clip(-1, 0.5)
        ),
        graph("clamp_tensor", "", [A, A, A], A, lambda x, a, b: np.minimum(np.maximum(x, a), b)),
        graph("typecast", "", [A], (*A, I32), lambda x: x.astype(np.int32), high=9),
        graph("typecast", "", [(*A, I32)], A, lambda x: x.astype(np.float32), high=9),
        graph("logical_and", "", [(*A, BOOL), (*A, BOOL)], (*A, BOOL), np.logical_and),
        graph("logical_not", "", [(*A, BOOL)], (*A, BOOL), np.logical_not),
        graph("bitwise_and", "", [(*A, I32), (*A, I32)], (*A, I32), np.bitwise_and, high=100),
    ]
    return found


def _reductions() -> list[Graph]:
    found = []
    for name, meaning in REDUCTIONS.items():
        for attributes, dims, keep in (
            ("dim_arg = [-1 : i32], keep_dim = true", (2,), True),
            ("dim_arg = [0 : i32, 2 : i32], keep_dim = false", (0, 2), False),
            ("keep_dim = false", (0, 1, 2), False),
        ):
            if name == "prod" and len(dims) > 1:
                continue
            shape = tuple(np.empty((2, 3, 8)).sum(dims, keepdims=keep).shape)
            found.append(
                graph(
                    name,
                    attributes,
                    [(2, 3, 8)],
                    shape,
                    lambda x, f=meaning, d=dims, k=keep: f(x, axis=d, keepdims=k),
                )
            )
    found += [
        graph(
            "argmax",
            "dim_arg = [1 : i32], keep_dim = true",
            [(4, 40)],
            (4, 1, I32),
            lambda x: x.argmax(1)[:, None],
        ),
        graph("argmax", "keep_dim = false", [(4, 8)], (I32,), lambda x: x.argmax()),
        graph(
            "reduce_or",
            "dim_arg = [1 : i32], keep_dim = false",
            [(4, 8, BOOL)],
            (4, BOOL),
            lambda x: x.any(1),
        ),
        graph(
            "reduce_and",
            "dim_arg = [1 : i32], keep_dim = false",
            [(4, 2, BOOL)],
            (4, BOOL),
            lambda x: x.all(1),
        ),
        graph("cumsum", "dim = 1 : i64", [(4, 8)], (4, 8), lambda x: x.cumsum(1)),
        graph("cumsum", "dim = -2 : i64", [(4, 8)], (4, 8), lambda x: x.cumsum(0)),
        graph("cumprod", "dim = 0 : i64", [(4, 8)], (4, 8), lambda x: x.cumprod(0)),
        graph("softmax", "dimension = -1 : si32", [(4, 40)], (4, 40), lambda x: soft(x, -1)),
        graph(
            "softmax",
            "dimension = 0 : si32, numericStable = true",
            [(4, 40)],
            (4, 40),
            lambda x: soft(x, 0),
        ),
    ]
    return found


def soft(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _shapes() -> list[Graph]:
    b = (2, 3, 4)
    return [
        graph("transpose", "dim0 = 0 : si32, dim1 = 2 : si32", [b], (4, 3, 2), np.transpose),
        graph(
            "transpose",
            "dim0 = -1 : si32, dim1 = -2 : si32",
            [b],
            (2, 4, 3),
            lambda x: x.swapaxes(1, 2),
        ),
        graph(
            "permute",
            "permutation = array<i64: 2, 0, 1>",
            [b],
            (4, 2, 3),
            lambda x: x.transpose(2, 0, 1),
        ),
        graph("reshape", "shape = [6 : i32, 4 : i32]", [b], (6, 4), lambda x: x.reshape(6, 4)),
        graph("reshape", "shape = [24 : i32]", [b], (24,), np.ravel),
        graph("squeeze", "dim = 1 : si32", [(3, 1, 5)], (3, 5), lambda x: x.squeeze(1)),
        graph("unsqueeze", "dim = -1 : si32", [(3, 5)], (3, 5, 1), lambda x: x[..., None]),
        graph(
            "broadcast",
            "broadcast_dimensions = array<i64: 4, 1>",
            [(1, 5)],
            (4, 5),
            lambda x: x.repeat(4, 0),
        ),
        graph(
            "broadcast",
            "broadcast_dimensions = array<i64: 1, 6>",
            [(3, 1)],
            (3, 6),
            lambda x: x.repeat(6, 1),
        ),
        graph(
            "concat", "dim = 0 : si32", [(2, 4), (3, 4)], (5, 4), lambda *x: np.concatenate(x, 0)
        ),
        graph(
            "concat",
            "dim = -1 : si32",
            [(2, 4), (2, 3), (2, 1)],
            (2, 8),
            lambda *x: np.concatenate(x, 1),
        ),
        graph(
            "repeat",
            "repeat_dimensions = array<i64: 2, 3>",
            [(2, 4)],
            (4, 12),
            lambda x: np.tile(x, (2, 3)),
        ),
        graph(
            "repeat_interleave",
            "repeats = 3 : ui32, dim = 1 : si32",
            [(2, 4)],
            (2, 12),
            lambda x: x.repeat(3, 1),
        ),
        graph(
            "slice_static",
            "begins = [0 : i32, 1 : i32], ends = [4 : i32, 7 : i32], step = [1 : i32, 2 : i32]",
            [(4, 8)],
            (4, 3),
            lambda x: x[0:4, 1:7:2],
        ),
        graph(
            "slice_static",
            "begins = [-2 : i32, 0 : i32], ends = [4 : i32, -1 : i32], step = [1 : i32, 1 : i32]",
            [(4, 8)],
            (2, 7),
            lambda x: x[-2:4, 0:-1],
        ),
        graph(
            "index",
            "dim = 1 : i32, begin = 2 : i32, end = 7 : i32, step = 3 : i32",
            [(4, 8)],
            (4, 2),
            lambda x: x[:, 2:7:3],
        ),
        graph(
            "index_select",
            "dim = 1 : si32, begin = 1 : si32, length = 2 : si32, stride = 4 : si32",
            [(4, 8)],
            (4, 4),
            lambda x: x[:, [1, 2, 5, 6]],
        ),
        graph(
            "pad",
            "padding = array<i32: 0, 1, 2, 3>, value = 1.5 : f32",
            [(2, 4)],
            (3, 9),
            lambda x: np.pad(x, ((0, 1), (2, 3)), constant_values=1.5),
        ),
        graph(
            "reverse", "dimensions = array<i64: 0, 1>", [(3, 4)], (3, 4), lambda x: x[::-1, ::-1]
        ),
        graph("embedding", "", [(5, I32), (7, 8)], (5, 8), lambda i, w: w[i], high=7),
        graph("embedding", "", [(2, 3, I32), (7, 8)], (2, 3, 8), lambda i, w: w[i], high=7),
        graph(
            "gather",
            "dim = 1 : i32",
            [(3, 8), (3, 4, I32)],
            (3, 4),
            lambda x, i: np.take_along_axis(x, i, 1),
            high=8,
        ),
        graph(
            "scatter",
            "dim = 0 : i32, scatter_reduce_type = #ttcore.reduce_type<sum>",
            [(4, 8), (2, 8, I32), (2, 8)],
            (4, 8),
            scattered,
            high=4,
        ),
        graph(
            "concatenate_heads",
            "",
            [(1, 2, 5, 4)],
            (1, 5, 8),
            lambda x: x.transpose(0, 2, 1, 3).reshape(1, 5, 8),
        ),
        graph(
            "upsample2d",
            "scale_factor = array<i32: 2, 3>",
            [(1, 2, 3, 4)],
            (1, 4, 9, 4),
            lambda x: x.repeat(2, 1).repeat(3, 2),
        ),
        graph("zeros", "shape = array<i32: 4, 8>", [], (4, 8), lambda: np.zeros((4, 8))),
        graph("ones", "shape = array<i32: 4, 8>", [], (4, 8), lambda: np.ones((4, 8))),
        graph(
            "full",
            "shape = array<i32: 4, 8>, fill_value = 2.5 : f32",
            [],
            (4, 8),
            lambda: np.full((4, 8), 2.5),
        ),
        graph(
            "full",
            "shape = array<i32: 4, 8>, fill_value = 3 : i32",
            [],
            (4, 8, I32),
            lambda: np.full((4, 8), 3),
        ),
        graph(
            "arange",
            "start = 0 : si64, end = 8 : si64, step = 1 : si64, arange_dimension = 0 : i64",
            [],
            (8, I32),
            lambda: np.arange(8),
        ),
        graph(
            "arange",
            "start = 2 : si64, end = 17 : si64, step = 3 : si64, arange_dimension = 1 : i64",
            [],
            (4, 5),
            lambda: np.arange(2, 17, 3)[None].repeat(4, 0),
        ),
        graph(
            "constant",
            "value = dense<1.25> : tensor<70x70xf32>",
            [],
            (70, 70),
            lambda: np.full((70, 70), 1.25),
        ),
        graph(
            "constant",
            "value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>",
            [],
            (1, 2),
            lambda: np.array([[1.0, 2.0]]),
        ),
    ]


def scattered(x, index, source):
    found = x.copy()
    np.add.at(found, (index, np.arange(8)[None]), source)
    return found


def _products() -> list[Graph]:
    return [
        graph("matmul", "", [(4, 8), (8, 6)], (4, 6), np.matmul),
        graph("matmul", "transpose_b = true", [(4, 8), (6, 8)], (4, 6), lambda a, b: a @ b.T),
        graph("matmul", "transpose_a = true", [(8, 4), (8, 6)], (4, 6), lambda a, b: a.T @ b),
        graph("matmul", "", [(3, 4, 8), (3, 8, 6)], (3, 4, 6), np.matmul),
        graph("matmul", "", [(8,), (8, 6)], (6,), np.matmul),
        graph(
            "linear",
            "transpose_b = true",
            [(4, 8), (6, 8), (6,)],
            (4, 6),
            lambda a, b, c: a @ b.T + c,
        ),
        graph("linear", "", [(4, 8), (8, 6), (6,)], (4, 6), lambda a, b, c: a @ b + c),
        graph(
            "dot_general",
            "batch_dims_lhs = array<i64: 0>, contract_dims_lhs = array<i64: 2>, batch_dims_rhs = array<i64: 0>, contract_dims_rhs = array<i64: 1>",
            [(3, 4, 8), (3, 8, 6)],
            (3, 4, 6),
            np.matmul,
        ),
        graph(
            "dot_general",
            "batch_dims_lhs = array<i64>, contract_dims_lhs = array<i64: 0>, batch_dims_rhs = array<i64>, contract_dims_rhs = array<i64: 1>",
            [(8, 4), (6, 8)],
            (4, 6),
            lambda a, b: a.T @ b.T,
        ),
        graph(
            "rms_norm",
            "normalized_shape = array<i64: 40>, operandSegmentSizes = array<i32: 1, 0, 0>",
            [(4, 40)],
            (4, 40),
            rms,
        ),
        graph(
            "layer_norm",
            "normalized_shape = array<i64: 40>, epsilon = 1.0e-5 : f32, operandSegmentSizes = array<i32: 1, 0, 0>",
            [(4, 40)],
            (4, 40),
            layer,
        ),
        graph(
            "batch_norm_inference",
            "epsilon = 1.0e-5 : f32, dimension = 1 : i32",
            [(2, 3, 4, 4), (3,), (3,), (3,), (3,)],
            (2, 3, 4, 4),
            batch,
            low=0.5,
        ),
        graph(
            "conv2d",
            "stride = 1 : i32, padding = 0 : i32, dilation = 1 : i32, groups = 1 : i32",
            [(1, 6, 6, 3), (4, 3, 3, 3)],
            (1, 4, 4, 4),
            lambda x, w: conv(x, w, (1, 1), (0, 0, 0, 0)),
        ),
        graph(
            "conv2d",
            "stride = array<i32: 2, 1>, padding = array<i32: 1, 0, 2, 1>, dilation = 1 : i32, groups = 1 : i32",
            [(1, 6, 6, 3), (4, 3, 3, 3)],
            (1, 4, 5, 4),
            lambda x, w: conv(x, w, (2, 1), (1, 0, 2, 1)),
        ),
        graph(
            "max_pool2d",
            "kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>, dilation = array<i32: 1, 1>, padding = array<i32: 0, 0, 0, 0>, ceil_mode = false",
            [(1, 6, 6, 4)],
            (1, 3, 3, 4),
            lambda x: pool(x, np.max, 2, 2),
        ),
        graph(
            "max_pool2d",
            "kernel = 3 : i32, stride = 2 : i32, dilation = 1 : i32, padding = 0 : i32, ceil_mode = true",
            [(1, 6, 6, 4)],
            (1, 3, 3, 4),
            lambda x: pool(x, np.max, 3, 2),
        ),
        graph(
            "avg_pool2d",
            "kernel = 2 : i32, stride = 2 : i32, dilation = 1 : i32, padding = 0 : i32, ceil_mode = false",
            [(1, 6, 6, 4)],
            (1, 3, 3, 4),
            lambda x: pool(x, np.mean, 2, 2),
        ),
        graph(
            "global_avg_pool2d",
            "",
            [(1, 6, 6, 4)],
            (1, 1, 1, 4),
            lambda x: x.mean((1, 2), keepdims=True),
        ),
        graph(
            "scaled_dot_product_attention",
            "is_causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>",
            [(1, 2, 8, 4)] * 3,
            (1, 2, 8, 4),
            attention,
        ),
    ]


WINDOW_3D = "stride = 1 : i32, padding = array<i32: 1, 0, 1>, groups = 1 : i32"
GROUPS = "num_groups = 2 : i64, epsilon = 1.0e-5 : f32, channel_dim = 1 : i64, operandSegmentSizes"


def _others() -> list[Graph]:
    """What models have beside: more windows, norms, caches, gradients, steps of a scale."""
    return [
        graph(
            "group_norm", f"{GROUPS} = array<i32: 1, 0, 0, 0>", [(2, 4, 3, 5)], (2, 4, 3, 5), groups
        ),
        graph(
            "group_norm",
            f"{GROUPS} = array<i32: 1, 0, 1, 1>",
            [(2, 4, 3, 5), (4,), (4,)],
            (2, 4, 3, 5),
            groups,
        ),
        graph(
            "conv1d",
            "stride = 2 : i32, padding = 1 : i32, dilation = 1 : i32, groups = 1 : i32",
            [(1, 8, 3), (4, 3, 3)],
            (1, 4, 4),
            lambda x, w: conv(x[:, None], w[:, :, None], (1, 2), (0, 1, 0, 1))[:, 0],
        ),
        graph("conv3d", WINDOW_3D, [(1, 4, 5, 6, 2), (3, 2, 3, 2, 3)], (1, 4, 4, 6, 3), conv3d),
        graph(
            "conv3d",
            f'{WINDOW_3D}, padding_mode = "replicate"',
            [(1, 4, 5, 6, 2), (3, 2, 3, 2, 3)],
            (1, 4, 4, 6, 3),
            lambda x, w: conv3d(x, w, "edge"),
        ),
        graph(
            "conv2d",
            "stride = 1 : i32, padding = 0 : i32, dilation = 2 : i32, groups = 1 : i32, batch_dim = 0 : i64, height_dim = 2 : i64, width_dim = 3 : i64, channel_dim = 1 : i64",
            [(1, 3, 6, 6), (4, 3, 2, 2)],
            (1, 4, 4, 4),
            lambda x, w: conv(x.transpose(0, 2, 3, 1), spread(w), (1, 1), (0, 0, 0, 0)).transpose(
                0, 3, 1, 2
            ),
        ),
        graph(
            "avg_pool2d",
            "kernel = 3 : i32, stride = 3 : i32, dilation = 1 : i32, padding = 1 : i32, ceil_mode = false, count_include_pad = false",
            [(1, 4, 4, 2)],
            (1, 2, 2, 2),
            average,
        ),
        graph(
            "upsample2d",
            'scale_factor = 2 : si32, mode = "bilinear"',
            [(1, 3, 4, 2)],
            (1, 6, 8, 2),
            bilinear,
        ),
        graph(
            "slice_dynamic",
            "step = [1 : i32, 2 : i32]",
            [(4, 8), (2, I32), (2, I32)],
            (2, 3),
            lambda x, b, e: x[b[0] : b[0] + 2, b[1] : b[1] + 6 : 2],
            high=2,
        ),
        graph("get_dimension_size", "dimension = 1 : i32", [(4, 8)], (1, I32), lambda x: [8]),
        graph(
            "gelu",
            'approximate = "tanh"',
            [A],
            A,
            lambda x: x / 2 * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3))),
        ),
        graph("gelu_bw", "", [A, A], A, lambda g, x: g * slope(_gelu, x)),
        graph("gelu_bw", 'approximate = "tanh"', [A, A], A, lambda g, x: g * slope(_gelu, x)),
        graph(
            "embedding_backward",
            "",
            [(2, 3, I32), (7, 8), (2, 3, 8)],
            (7, 8),
            table_gradient,
            high=7,
        ),
        graph(
            "scaled_dot_product_attention_decode",
            "operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>",
            [(1, 2, 4, 8), (2, 4, 6, 8), (2, 4, 6, 8), (2, I32)],
            (1, 2, 4, 8),
            decoded,
            high=6,
        ),
        graph(
            "sdpa_fw",
            "mask_type = #ttcore.attention_mask_type<none>, operandSegmentSizes = array<i32: 1, 1, 1, 0>",
            [(1, 2, 8, 4)] * 3,
            (1, 2, 8, 4),
            attention,
        ),
        graph(
            "quantize_unrolled",
            "axis = 1 : i32",
            [(4, 3), (3,), (3, I32)],
            (4, 3, I32),
            lambda x, s, z: np.round(x / s) + z,
            low=0.5,
        ),
        graph(
            "dequantize_unrolled",
            "axis = 1 : i32",
            [(4, 3, I32), (3,), (3, I32)],
            (4, 3),
            lambda x, s, z: (x - z) * s,
            high=9,
        ),
        graph(
            "requantize_unrolled",
            "",
            [(4, 3, I32), (1,), (1, I32), (1,), (1, I32)],
            (4, 3, I32),
            lambda x, s, z, t, w: np.round((x - z) * s / t) + w,
            low=0.5,
            high=9,
        ),
        graph(
            "linear",
            "batch_dims_lhs = array<i64: 0>, batch_dims_rhs = array<i64: 0>, contract_dims_lhs = array<i64: 2>, contract_dims_rhs = array<i64: 1>",
            [(2, 3, 8), (2, 8, 4), (2, 3, 4)],
            (2, 3, 4),
            lambda a, b, c: a @ b + c,
        ),
    ]


def groups(x, weight=None, bias=None):
    rows = x.reshape(x.shape[0], 2, -1)
    spread = np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    found = ((rows - rows.mean(-1, keepdims=True)) / spread).reshape(x.shape)
    return found if weight is None else found * weight[:, None, None] + bias[:, None, None]


def conv3d(x, w, mode="constant"):
    x = np.pad(x, ((0, 0), (1, 1), (0, 0), (1, 1), (0, 0)), mode)
    views = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (1, 2, 3))
    return np.einsum("nzyxcdhw,ocdhw->nzyxo", views, w)


def spread(w):
    """Weights of 2 x 2, two apart."""
    found = np.zeros((*w.shape[:2], 3, 3), w.dtype)
    found[:, :, ::2, ::2] = w
    return found


def average(x):
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=np.nan)
    parts = [[wide[:, y : y + 3, c : c + 3] for c in (0, 3)] for y in (0, 3)]
    return np.stack([np.stack([np.nanmean(p, (1, 2)) for p in row], 1) for row in parts], 1)


def bilinear(x):
    for axis in (1, 2):
        size = x.shape[axis]
        at = np.clip((np.arange(2 * size) + 0.5) / 2 - 0.5, 0, size - 1)
        low = np.minimum(at.astype(int), size - 2)
        share = (at - low).reshape([-1 if n == axis else 1 for n in range(4)])
        x = x.take(low, axis) * (1 - share) + x.take(low + 1, axis) * share
    return x


def slope(function, x):
    x = x.astype(np.float64)
    return (function(x + 1e-4) - function(x - 1e-4)) / 2e-4


def table_gradient(index, table, gradient):
    found = np.zeros_like(table)
    np.add.at(found, index, gradient)
    return found


def decoded(q, k, v, last):
    scores = np.einsum("bhd,bhsd->bhs", q[0], k) / 8**0.5
    scores = np.where(np.arange(6) <= last[:, None, None], scores, -np.inf)
    return np.einsum("bhs,bhsd->bhd", soft(scores, -1), v)[None]


def rms(x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def layer(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def batch(x, scale, offset, mean, variance):
    scale, offset, mean, variance = (p[:, None, None] for p in (scale, offset, mean, variance))
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + offset


def conv(x, w, stride, around):
    top, left, bottom, right = around
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    views = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (1, 2))
    return np.einsum("nyxchw,ochw->nyxo", views[:, :: stride[0], :: stride[1]], w)


def pool(x, reduce, size, stride):
    height = -(-(x.shape[1] - size) // stride) + 1
    return np.stack(
        [
            np.stack(
                [
                    reduce(
                        x[:, y * stride : y * stride + size, c * stride : c * stride + size], (1, 2)
                    )
                    for c in range(height)
                ],
                1,
            )
            for y in range(height)
        ],
        1,
    )


def attention(q, k, v):
    return soft(q @ k.swapaxes(-1, -2) / 2, -1) @ v


GRAPHS = [*_elementwise(), *_reductions(), *_shapes(), *_products(), *_others()]
