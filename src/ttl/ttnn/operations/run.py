"""Running an operation: a function of arrays becomes one of tensors.

rule FLOAT   floats are computed in float32 or wider and rounded once, to the result's element type;
             integers in int64, unless a float is among the operands
rule LIKE    the result has the element type, layout, device and memory of the first tensor; the
             shards too, if it has that tensor's shape; unsigned integers, which are indices, have
             the type that they were computed in
rule WHOLE   a result that has a fraction does not silently become an integer; quotients and chosen
             numbers become float32, as on the chip
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any, get_type_hints

import numpy as np

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.current_engine import ENGINE
from ttl.semantics.dtypes import DTYPES, Array, DType, as_dtype, float32
from ttl.semantics.layout import Layout

from ..allocation import new_tensor
from ..faults import wrong
from ..memory_config import MemoryConfig
from ..mesh_tensor import per_device
from ..tensor import Tensor
from ..traces import traced
from .arguments import KINDS, is_number, is_tensor, shapes_differ

Function = Callable[..., Any]

# Keywords of the real operations that say where the result goes, and those that only tune it.
RESULT_OPTIONS = ("memory_config", "dtype", "output_tensor", "optional_output_tensor", "out")
TUNING_OPTIONS = (
    "compute_kernel_config", "core_grid", "program_config", "queue_id", "sub_core_grids",
    "fast_and_approximate_mode", "use_multicore", "use_legacy", "numeric_stable", "global_cb",
    "sub_device_id", "use_double_buffering", "pad_value", "padding_idx", "embeddings_type",
    "sparse_grad", "stable",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its meaning on arrays, and what is special about its operands and result."""

    name: str
    meaning: Function
    signature: inspect.Signature
    kinds: dict[str, Any]
    floats: bool = False  # integers become floats first
    broadcasts: bool = False  # the shapes of the operands must broadcast
    like: tuple[str, ...] = ()  # operands whose element type the result has before the first's
    takes_layout: bool = False  # `layout=` says the layout, else the operand of `like`
    dtype: DType | None = None  # of the result, whatever the operands are
    layout: Layout | None = None
    group: str = ""  # "transformer." for what is under ttnn.transformer
    fractions: DType | None = None  # the result of integers, if it has a fraction
    in_place: bool = False  # the result is written to the first operand
    own_types: bool = False  # every operand is computed with in its own type: indices stay whole

    @property
    def spelling(self) -> str:
        return f"ttnn.{self.group}{self.name}()"


@dataclass(frozen=True, slots=True)
class Result:
    """Where a result goes, as the call's keywords say it."""

    dtype: DType | None
    memory_config: Any
    output: Tensor | None
    layout: Layout | None


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was found right."""

    op: Operation
    arguments: dict[str, Any]
    operands: tuple[Tensor, ...]  # the tensors among the arguments
    result: Result


def operation(**columns: Any) -> Callable[[Function], Function]:
    """Make a function of arrays one of tensors; its annotations say which arguments these are."""

    def decorate(meaning: Function) -> Function:
        hints = get_type_hints(meaning)
        signature = inspect.signature(meaning)
        kinds = {name: KINDS[hints[name]] for name in signature.parameters}
        name = meaning.__name__
        described = Operation(name, meaning, signature, kinds, **columns)

        @wraps(meaning)
        def call(*args: Any, **kwargs: Any) -> Any:
            return run(described, args, kwargs)

        call.operation = described  # type: ignore[attr-defined]
        return call

    return decorate


def in_place(function: Function, name: str) -> Function:
    """The operation with its result in the first operand."""
    described = replace(function.operation, in_place=True)  # type: ignore[attr-defined]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return run(described, args, kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"As {described.name}(), with the result in `{next(iter(described.kinds))}`."
    return call


@traced
def run(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        _refuse_in_kernel(op)
        result, kwargs = _take_options(op, kwargs)
        call = _bind(op, args, kwargs, result)
        if op.in_place:
            result = replace(result, output=_first_operand(call))
        if result.output is None:
            return per_device(partial(_compute, call), *call.operands)
        per_device(partial(_compute, call), *call.operands, result.output)
        return result.output
    except RuleBroken as broken:
        raise UsageError(broken.at(calling_span())) from None


def _first_operand(call: Call) -> Tensor:
    first: Any = next(iter(call.arguments.values()))
    if not is_tensor(first):
        raise _not_a_tensor(call.op, "output_tensor", "a ttnn tensor", first)
    return first  # type: ignore[no-any-return]


def _refuse_in_kernel(op: Operation) -> None:
    if ENGINE.get(None) is not None:
        raise RuleBroken(
            codes.OUTSIDE_OPERATION,
            f"{op.spelling} works on whole tensors, not in a kernel",
            helps=("copy parts of the tensors to blocks and compute with these",),
        )


def _take_options(op: Operation, kwargs: dict[str, Any]) -> tuple[Result, dict[str, Any]]:
    own = {k: v for k, v in kwargs.items() if k in op.kinds}
    given = {k: v for k, v in kwargs.items() if k not in op.kinds and k not in TUNING_OPTIONS}
    taken = (*RESULT_OPTIONS, "layout") if op.takes_layout else RESULT_OPTIONS
    for name in given:
        if name not in taken:
            raise _wrong_call(op, f"has no argument `{name}`")
    dtype = given.get("dtype")
    if dtype is not None and as_dtype(dtype) is None:
        raise _wrong_call(
            op, f"takes an element type such as ttnn.bfloat16 as `dtype`, not {dtype!r}"
        )
    outputs = [given.get(name) for name in ("output_tensor", "optional_output_tensor", "out")]
    output = next((tensor for tensor in outputs if tensor is not None), None)
    if output is not None and not is_tensor(output):
        raise _not_a_tensor(op, "output_tensor", "a ttnn tensor", output)
    return Result(as_dtype(dtype), given.get("memory_config"), output, given.get("layout")), own


def _bind(op: Operation, args: tuple[Any, ...], kwargs: dict[str, Any], result: Result) -> Call:
    try:
        bound = op.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise _wrong_call(op, f"was called wrongly: {error}") from None
    for name, value in bound.arguments.items():
        kind = op.kinds[name]
        if not kind.check(value):
            raise _not_a_tensor(op, name, kind.text, value)
    bound.apply_defaults()
    operands = tuple(_tensors(op, bound.arguments))
    if not operands:
        raise _wrong_call(op, "needs a ttnn tensor among its operands")
    return Call(op, dict(bound.arguments), operands, result)


def _not_a_tensor(op: Operation, name: str, text: str, value: Any) -> UsageError:
    problem = f"takes {text} as `{name}`, not {_shown(value)}"
    module = type(value).__module__.partition(".")[0]
    if "tensor" in text and module in ("numpy", "torch"):
        return wrong(
            f"{op.spelling} {problem}",
            f"make a tensor of it first: ttnn.from_{module}(..., device=device)",
        )
    return _wrong_call(op, problem)


def _shown(value: Any) -> str:
    simple = value is None or isinstance(value, (bool, int, float, str, tuple))
    return repr(value) if simple else f"a {type(value).__name__}"


def _wrong_call(op: Operation, problem: str) -> UsageError:
    shown = [
        parameter.name
        if parameter.default is parameter.empty
        else f"{parameter.name}={parameter.default!r}"
        for parameter in op.signature.parameters.values()
    ]
    return wrong(f"{op.spelling} {problem}", f"write {op.spelling[:-1]}{', '.join(shown)})")


def _tensors(op: Operation, arguments: dict[str, Any]) -> Iterator[Tensor]:
    for name, value in arguments.items():
        if op.kinds[name].is_operand:
            yield from (item for item in _items(value) if is_tensor(item))


def _items(value: Any) -> Any:
    return value if isinstance(value, (tuple, list)) else (value,)


def _compute(call: Call, *parts: Tensor) -> Any:
    """The result for the parts of the operands, and of the output tensor, that one device holds."""
    op, operands = call.op, parts[: len(call.operands)]
    if op.broadcasts:
        _check_broadcast(op, operands)
    by_tensor = dict(zip(map(id, call.operands), operands, strict=True))
    arguments = {
        name: _argument(value, by_tensor, _carrier(op, operands, value))
        if op.kinds[name].is_operand
        else value
        for name, value in call.arguments.items()
    }
    with np.errstate(all="ignore"):  # infinities and NaNs, as on the chip
        answer = op.meaning(**arguments)
    named = (by_tensor.get(id(call.arguments[name])) for name in op.like)
    like = next((tensor for tensor in named if tensor is not None), operands[0])
    result = replace(call.result, output=next(iter(parts[len(operands) :]), None))
    if isinstance(answer, list):
        return [_tensor(op, part, operands[0], like, result) for part in answer]
    return _tensor(op, answer, operands[0], like, result)


def _carrier(op: Operation, operands: tuple[Tensor, ...], value: Any) -> np.dtype[Any]:
    """rule FLOAT"""
    together = (value,) if op.own_types else operands
    floats = op.floats or any(tensor.dtype.is_float for tensor in together if is_tensor(tensor))
    return float32.carrier if floats else np.dtype(np.int64)


def _argument(value: Any, by_tensor: dict[int, Tensor], carrier: np.dtype[Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        return [_argument(item, by_tensor, carrier) for item in value]
    if is_number(value):
        return _number(value, carrier)
    return by_tensor[id(value)].storage.logical.astype(carrier, copy=False)


def _number(value: Any, carrier: np.dtype[Any]) -> Any:
    """A number among integers stays a float only if it has a fraction."""
    if carrier.kind == "i" and not float(value).is_integer():
        return float(value)
    try:
        return carrier.type(value)
    except OverflowError:
        raise wrong(f"{value} is too large", "no element type can hold it") from None


def _check_broadcast(op: Operation, tensors: tuple[Tensor, ...]) -> None:
    try:
        np.broadcast_shapes(*(tensor.shape for tensor in tensors))
    except ValueError:
        shapes = " and ".join(str(tuple(tensor.shape)) for tensor in tensors)
        raise shapes_differ(
            f"{op.spelling} of tensors of shape {shapes}: the shapes do not broadcast",
            "counted from the last, sizes are equal, or one of them is 1 or missing",
        ) from None


def _tensor(op: Operation, answer: Any, first: Tensor, like: Tensor, result: Result) -> Tensor:
    """rules LIKE and WHOLE"""
    values = np.asarray(answer)
    output = result.output
    dtype = output.dtype if output is not None else result.dtype or op.dtype
    if values.dtype.kind == "u":
        dtype = DTYPES[values.dtype.name]
    if dtype is None:
        dtype = like.dtype
        if not dtype.is_float and values.dtype.kind == "f" and op.fractions:
            dtype = op.fractions
        elif not dtype.is_float and values.dtype.kind == "f":
            raise RuleBroken(
                codes.DTYPE_MISMATCH,
                f"{op.spelling} gives numbers with fractions, which {dtype} cannot hold",
                helps=("say what the result should be: dtype=ttnn.float32",),
            )
    if output is not None:
        return _fill(op, output, values)
    layout = result.layout or op.layout or (like if op.takes_layout else first).layout
    config = result.memory_config or _config(first, values, layout)
    tensor = new_tensor(values.shape, dtype, layout, first.device(), config)
    tensor.storage.fill(values)
    return tensor


def _config(first: Tensor, values: Array, layout: Layout) -> MemoryConfig | None:
    """rule LIKE: the shards of one shape mean nothing for another."""
    is_alike = (values.shape, layout) == (tuple(first.shape), first.layout)
    return first.memory_config if is_alike or not first.is_sharded() else None


def _fill(op: Operation, output: Tensor, values: Array) -> Tensor:
    if tuple(output.shape) != values.shape:
        raise shapes_differ(
            f"the result of {op.spelling} has shape {values.shape}, output_tensor "
            f"{tuple(output.shape)}",
            "make the output tensor in the shape of the result",
        )
    output.storage.fill(values)
    return output
