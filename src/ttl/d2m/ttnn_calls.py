"""Path 2 of the guide: a ttnn call in a pykernel function becomes ttir, then threads of cores.

The function's tensors may be of torch, numpy or ttnn; a result is of the same kind, and may be an
operand or a stream of the program that follows. The simulator has ttnn's own result; both backends
refuse what does not become threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ttl import ttnn
from ttl.config import Config
from ttl.diagnostics import RuleBroken, TTLError, WrongValue, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.current_engine import CALLS
from ttl.semantics.dtypes import Array, DType
from ttl.semantics.graph_ops import GRAPH_OPS

from .mistakes import in_words_of_pykernel, refused
from .operands import array_of, dtype_of, is_tensor

if TYPE_CHECKING:
    from ttl.ttnn.operations.run import Operation

_UNARY = (
    "abs", "ceil", "cos", "exp", "expm1", "floor", "gelu", "log", "neg", "reciprocal", "relu",
    "rsqrt", "sigmoid", "sign", "silu", "sin", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
_BINARY = ("add", "divide", "maximum", "minimum", "multiply", "subtract")
_SAME = {"div": "divide", "mul": "multiply", "sub": "subtract"}
_REDUCTIONS = ("max", "mean", "min", "sum")


@dataclass(slots=True)
class Calls:
    """Those of one call of a pykernel function."""

    named: dict[str, Any]  # its tensors; results are added
    results: list[Any] = field(default_factory=list)

    def __call__(self, op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            result = self._result(op, args, kwargs)
        except RuleBroken as broken:
            raise WrongValue(broken.at(calling_span())) from None
        self.named[f"{op.name}_{len(self.results)}"] = result
        self.results.append(result)
        return result

    def _result(self, op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = _bound(op, args, kwargs)
        tensors = {name: value for name, value in given.items() if is_tensor(value)}
        if not tensors:
            raise refused(f"{op.spelling} without a tensor", "give it tensors of the function")
        first = next(iter(tensors.values()))
        dtype = dtype_of(first, "argument")
        arrays = {name: array_of(value) for name, value in tensors.items()}
        return _like(first, _computed(op, given, arrays, dtype), dtype)


@contextmanager
def lowered(named: dict[str, Any]) -> Iterator[Calls]:
    """While the body of a pykernel function runs."""
    calls = Calls(named)
    token = CALLS.set(calls)
    try:
        yield calls
    finally:
        CALLS.reset(token)


@contextmanager
def outside() -> Iterator[None]:
    token = CALLS.set(None)
    try:
        yield
    finally:
        CALLS.reset(token)


def _bound(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    kwargs = {op.also.get(name, name): value for name, value in kwargs.items()}
    for name in kwargs.keys() - op.signature.parameters.keys():
        raise refused(f"{op.spelling} with `{name}` in a pykernel function", "leave it out")
    try:
        found = op.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise refused(f"{op.spelling}: {error}", "call it as ttnn has it") from None
    found.apply_defaults()
    return dict(found.arguments)


def _like(first: Any, values: Array, dtype: DType) -> Any:
    if isinstance(first, ttnn.Tensor):
        place: dict[str, Any] = dict(layout=ttnn.TILE_LAYOUT, device=ttnn.open_device(device_id=0))
        with outside():
            return ttnn.from_numpy(np.ascontiguousarray(values), dtype=dtype, **place)
    if not hasattr(first, "detach"):
        return values.astype(first.dtype)
    import torch

    return torch.from_numpy(np.ascontiguousarray(values, np.float32)).to(first.dtype)


# TTIR ---------------------------------------------------------------------------------------------


def _computed(
    op: Operation, given: Mapping[str, Any], arrays: Mapping[str, Array], dtype: DType
) -> Array:
    from ttl.integrations.d2m_graph import lower_ttir, run_ttir

    name, operands, attributes = _call(op, given, arrays)
    with outside():
        wanted = np.asarray(op.meaning(**{**given, **arrays}))
    module = _module(name, operands, attributes, wanted.shape, dtype)
    inputs = [array.astype(dtype.storage) for array in operands]
    config = Config.current()
    try:
        with outside():
            if config.backend == "host" and not config.compile_only:
                return run_ttir(module, inputs)[0]
            lower_ttir(module)
    except TTLError as error:
        raise in_words_of_pykernel(error) from error.__cause__
    return wanted.astype(dtype.storage)


def _call(
    op: Operation, given: Mapping[str, Any], arrays: Mapping[str, Array]
) -> tuple[str, list[Array], str]:
    """The name in ttir, its operands, and its attributes as text; RuleBroken if it has none."""
    name = _SAME.get(op.name, op.name)
    others = {key: value for key, value in given.items() if key not in arrays and value is not None}
    if name in _UNARY and len(arrays) == 1:
        _require_nothing(op, {key: value for key, value in others.items() if value})
        return name, list(arrays.values()), ""
    if name in _BINARY:
        values = list(given.values())[:2]
        rank = max(array.ndim for array in arrays.values())
        pairs = zip(list(given)[:2], values, strict=True)
        operands = [arrays[k] if k in arrays else np.full((1,) * rank, v) for k, v in pairs]
        rest = [value for key, value in others.items() if key not in list(given)[:2]]
        _require_nothing(op, {"an option": rest} if any(rest) else {})
        return GRAPH_OPS[name].ttir, operands, ""
    if name in ("matmul", "linear"):
        turned = {name: others.pop(name, False) for name in ("transpose_a", "transpose_b")}
        _require_nothing(op, others)
        flags = [f"{name} = {str(is_on).lower()}" for name, is_on in turned.items()]
        return name, list(arrays.values()), ", ".join(flags)
    if name in (*_REDUCTIONS, "softmax"):
        return name, list(arrays.values()), _along(op, name, others, arrays)
    raise refused(
        f"{op.spelling} in a pykernel function does not become threads",
        f"use one of {', '.join((*_UNARY, *_BINARY, 'matmul', 'linear', *_REDUCTIONS, 'softmax'))}",
        codes.GRAPH_NOT_LOWERED,
    )


def _along(op: Operation, name: str, others: dict[str, Any], arrays: Mapping[str, Array]) -> str:
    (array,) = arrays.values()
    dim = others.pop("dim", -1 if name == "softmax" else None)
    keeps = others.pop("keepdim", False)
    _require_nothing(op, {key: value for key, value in others.items() if value not in (True, 1.0)})
    if name == "softmax":
        return f"dimension = {dim % array.ndim} : si32"
    dims = range(array.ndim) if dim is None else (dim if isinstance(dim, (list, tuple)) else [dim])
    listed = ", ".join(f"{each % array.ndim} : i32" for each in dims)
    return f"dim_arg = [{listed}], keep_dim = {str(keeps).lower()}"


def _require_nothing(op: Operation, options: Mapping[str, Any]) -> None:
    for name in options:
        raise refused(f"{op.spelling} with `{name}` in a pykernel function", "leave it out")


def _module(
    name: str, operands: list[Array], attributes: str, shape: tuple[int, ...], dtype: DType
) -> Any:
    from ttl.dialects import make_context
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
