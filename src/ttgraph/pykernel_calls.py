"""Path 2 of the guide: a ttnn call in a pykernel function becomes ttir, then threads of cores.

The function's tensors may be of torch, numpy or ttnn; a result is of the same kind, and may be an
operand or a stream of a later program. The simulator uses ttnn's own result; both backends reject
calls that cannot become threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernel.mistakes import in_words_of_pykernel, refused
from pykernel.operands import array_of, check_dtype, is_tensor
from ttgraph.graph_ops import GRAPH_OPS
from ttl import ttnn
from ttl.config import Config
from ttl.diagnostics import RuleBroken, TTLError, WrongValue, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.current_engine import CALLS
from ttl.semantics.dtypes import Array, DType

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ttl.ttnn.operations.run import TtnnOperation

_UNARY = (
    "abs",
    "ceil",
    "cos",
    "exp",
    "expm1",
    "floor",
    "gelu",
    "log",
    "neg",
    "reciprocal",
    "relu",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sqrt",
    "square",
    "tan",
    "tanh",
)
_BINARY = ("add", "divide", "maximum", "minimum", "multiply", "subtract")
_SAME = {"div": "divide", "mul": "multiply", "sub": "subtract"}
_REDUCTIONS = ("max", "mean", "min", "sum")


_LOWERED = (*_UNARY, *_BINARY, "matmul", "linear", *_REDUCTIONS, "softmax")
Arrays = Mapping[str, Array]


@dataclass(slots=True)
class Calls:
    """Calls of ttnn that one call of a pykernel function makes."""

    named: dict[str, object]  # its tensors; results are added
    config: Config
    results: list[object] = field(default_factory=list)

    def __call__(
        self, op: TtnnOperation, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        try:
            with made_by(None):
                result = _result(op, args, kwargs, self.config)
        except RuleBroken as broken:
            raise WrongValue(broken.at(calling_span())) from None
        self.named[f"{op.name}_{len(self.results)}"] = result
        self.results.append(result)
        return result


@contextmanager
def made_by(calls: Calls | None) -> Iterator[None]:
    """Pass calls of ttnn inside to `calls`; None leaves them to ttnn."""
    token = CALLS.set(calls)
    try:
        yield
    finally:
        CALLS.reset(token)


def _result(
    op: TtnnOperation, args: tuple[object, ...], kwargs: dict[str, object], config: Config
) -> object:
    given = _bind(op, args, kwargs)
    arrays = {name: array_of(value) for name, value in given.items() if is_tensor(value)}
    if not arrays:
        raise refused(f"{op.spelling} without a tensor", "give it tensors of the function")
    first = given[next(iter(arrays))]
    dtype = check_dtype(first, "argument")
    return _make_like(first, _computed(op, given, arrays, dtype, config), dtype)


def _bind(op: TtnnOperation, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, Any]:
    kwargs = {op.also.get(name, name): value for name, value in kwargs.items()}
    _require_nothing(op, [name for name in kwargs if name not in op.signature.parameters])
    try:
        found = op.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise refused(f"{op.spelling}: {error}", "call it as ttnn has it") from None
    found.apply_defaults()
    return dict(found.arguments)


def _make_like(first: Any, values: Array, dtype: DType) -> object:
    if isinstance(first, ttnn.Tensor):
        layout, device = ttnn.TILE_LAYOUT, ttnn.open_device(device_id=0)
        array = np.ascontiguousarray(values)
        return ttnn.from_numpy(array, dtype=dtype, layout=layout, device=device)
    if not hasattr(first, "detach"):
        return values.astype(first.dtype)
    import torch

    return torch.from_numpy(np.ascontiguousarray(values, np.float32)).to(first.dtype)


# TTIR ---------------------------------------------------------------------------------------------


def _computed(
    op: TtnnOperation, given: Mapping[str, object], arrays: Arrays, dtype: DType, config: Config
) -> Array:
    from ttgraph.d2m_graph import lower_ttir, run_ttir

    name, operands, attributes = _call(op, given, arrays)
    wanted = np.asarray(op.meaning(**{**given, **arrays}))
    module = _module(name, operands, attributes, wanted.shape, dtype)
    try:
        if config.backend == "host" and not config.compile_only:
            return run_ttir(module, [array.astype(dtype.storage) for array in operands], config)[0]
        lower_ttir(module)
    except TTLError as error:
        raise in_words_of_pykernel(error) from error.__cause__
    return wanted.astype(dtype.storage)


def _call(
    op: TtnnOperation, given: Mapping[str, Any], arrays: Arrays
) -> tuple[str, list[Array], str]:
    """Return the ttir name, operands, and attributes as text; raise RuleBroken if it has none."""
    name, operands, attributes = _SAME.get(op.name, op.name), [*arrays.values()], ""
    defaults = op.signature.parameters
    options = {
        key: value
        for key, value in given.items()
        if key not in arrays and value != defaults[key].default
    }
    rank = max(array.ndim for array in operands)
    if name in _BINARY:
        both = list(given)[:2]
        numbers = {key: np.full((1,) * rank, options.pop(key)) for key in both if key in options}
        operands = [{**arrays, **numbers}[key] for key in both]
        name = GRAPH_OPS[name].ttir
    elif name in ("matmul", "linear"):
        turned = {each: options.pop(each, False) for each in ("transpose_a", "transpose_b")}
        attributes = ", ".join(f"{each} = {str(is_on).lower()}" for each, is_on in turned.items())
    elif name == "softmax":
        attributes = f"dimension = {options.pop('dim', -1) % rank} : si32"
    elif name in _REDUCTIONS:
        attributes = _along(options.pop("dim", None), options.pop("keepdim", False), rank)
    elif name not in _UNARY or len(operands) > 1:
        raise refused(
            f"{op.spelling} in a pykernel function does not become threads",
            f"use one of {', '.join(_LOWERED)}",
            codes.GRAPH_NOT_LOWERED,
        )
    _require_nothing(op, options)
    return name, operands, attributes


def _along(dim: Any, keeps: bool, rank: int) -> str:
    dims = range(rank) if dim is None else (dim if isinstance(dim, (list, tuple)) else [dim])
    listed = ", ".join(f"{each % rank} : i32" for each in dims)
    return f"dim_arg = [{listed}], keep_dim = {str(keeps).lower()}"


def _require_nothing(op: TtnnOperation, options: Iterable[str]) -> None:
    for name in options:
        raise refused(f"{op.spelling} with `{name}` in a pykernel function", "leave it out")


def _module(
    name: str, operands: list[Array], attributes: str, shape: tuple[int, ...], dtype: DType
) -> ModuleOp:
    from ttgraph.dialects import make_context
    from ttl.dialects.reading import parse_module

    types = [_type(array.shape, dtype) for array in operands]
    names = [f"%{n}" for n in range(len(operands))]
    parameters = ", ".join(f"{a}: {b}" for a, b in zip(names, types, strict=True))
    result, listed = _type(shape, dtype), f" <{{{attributes}}}>" if attributes else ""
    call = f'"ttir.{name}"({", ".join(names)}){listed} : ({", ".join(types)}) -> {result}'
    text = (
        f"func.func @main({parameters}) -> {result} {{\n"
        f"  %result = {call}\n  func.return %result : {result}\n}}"
    )
    return parse_module(text, f"ttnn.{name}", make_context())


def _type(shape: tuple[int, ...], dtype: DType) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{dtype.mlir}>"
