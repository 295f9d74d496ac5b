"""Runs operations: turns functions of arrays into functions of tensors.

rule FLOAT   floats are computed in float32 or wider and rounded once, to the result's element type;
             integers in int64, unless a float is among the operands
rule LIKE    the result has the element type, device and memory of the first tensor; the shards,
             too, if it has that tensor's shape; unsigned integers, which are indices, keep the
             type of the computation
rule LAYOUT  the result is in tiles if one of the operands is
rule NAN     an elementwise operation on bfloat16 turns NaN into infinity, or into the operation's
             own value
rule WHOLE   a result with a fraction does not silently become an integer; quotients and selected
             numbers become float32, as on the chip
rule PLACE   operands must be on a device, except for the few operations that the real ttnn has for
             the host; operations only on tiles do not accept rows
rule SHARE   a result that has the same pages in another shape shares the memory
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, get_type_hints

import numpy as np

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.semantics.current_engine import CALLS, running_engine
from ttl.semantics.dtypes import DTYPES, Array, DType, as_dtype, bfloat16, float32, uint8
from ttl.semantics.layout import TILE_LAYOUT, Layout

from ..allocation import alias, new_tensor
from ..faults import not_on_device, refused, wrong, wrong_call
from ..memory_config import MemoryConfig
from ..mesh_tensor import per_device
from ..storage import Storage
from ..tensor import Tensor
from ..traces import traced
from .arguments import KINDS, is_number, is_tensor, shapes_differ

Function = Callable[..., Any]

# Keywords of the real operations: the result's destination, and tuning. All accept `queue_id`.
OUTPUTS = ("output_tensor", "optional_output_tensor", "out")
PLACED = ("memory_config",)
RESULT = ("memory_config", "output_tensor")
UNARY = (*RESULT, "sub_core_grids")
FAST = (*UNARY, "fast_and_approximate_mode")
TYPED = (*RESULT, "dtype")
ON_CORES = ("sub_core_grids", "sub_device_id")
REDUCING = ("memory_config", "compute_kernel_config", "sub_core_grids")
NORMALIZING = ("memory_config", "program_config", "compute_kernel_config")
EVERYWHERE = ("queue_id",)


@dataclass(frozen=True, slots=True)
class TtnnOperation:
    """Operation: its meaning on arrays, and properties of its operands and result."""

    name: str
    meaning: Function
    signature: inspect.Signature
    kinds: dict[str, Any]
    options: tuple[str, ...] = UNARY  # keywords beside its own parameters
    also: Mapping[str, str] = field(default_factory=dict)  # other names of its parameters
    floats: bool = False  # integers become floats first
    broadcasts: bool = False  # the shapes of the operands must broadcast
    one_kind: bool = False  # all floats or all integers, and no bytes
    number_first: bool = True  # a number may be the first of two operands
    like: tuple[
        str, ...
    ] = ()  # operands that set the result's element type, before the first operand
    dtype: DType | None = None  # the result's type, for any operands
    layout: Layout | None = None
    layout_of: str = ""  # the operand whose layout the result has, unless `layout=` is given
    on_host: bool = False  # accepts host tensors
    tiles: tuple[str, ...] = ()  # operands that must be in tiles
    shares: bool = False  # rule SHARE
    check: Callable[[dict[str, Any]], None] | None = None  # raises for other wrong arguments
    nan: float | None = None  # rule NAN: the result for NaN; None keeps NaN
    group: str = ""  # "transformer." for operations in ttnn.transformer
    fractions: DType | None = None  # the result of integers, if it has a fraction
    in_place: bool = False  # the result is written to the first operand
    own_types: bool = False  # every operand keeps its own type: indices stay integers

    @property
    def spelling(self) -> str:
        return f"ttnn.{self.group}{self.name}()"


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """Destination of a result, from the call's keywords."""

    dtype: DType | None
    memory_config: Any
    output: Tensor | None
    layout: Layout | None


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """Checked call."""

    op: TtnnOperation
    arguments: dict[str, Any]
    operands: tuple[Tensor, ...]  # the tensors among the arguments
    result: ResultPlace


def operation(name: str = "", doc: str = "", **columns: Any) -> Callable[[Function], Function]:
    """Turn a function of arrays into one of tensors; its annotations name the tensor arguments."""

    def decorate(meaning: Function) -> Function:
        hints = get_type_hints(meaning)
        signature = inspect.signature(meaning)
        kinds = {name: KINDS[hints[name]] for name in signature.parameters}
        meaning.__doc__ = doc or meaning.__doc__
        described = TtnnOperation(name or meaning.__name__, meaning, signature, kinds, **columns)
        return _callable(described, meaning)

    return decorate


def variant(function: Function, name: str, **columns: Any) -> Function:
    """Copy an operation under another name, with the given changes."""
    described = replace(function.operation, name=name, **columns)  # type: ignore[attr-defined]
    return _callable(described, function)


def unrestricted(function: Function) -> Function:
    """Copy an operation for compiled graphs, whose types were checked at their lowering.

    The result is rounded to `dtype=`, and NaN stays NaN.
    """
    op: TtnnOperation = function.operation  # type: ignore[attr-defined]
    return variant(
        function,
        op.name,
        options=(*op.options, "dtype"),
        one_kind=False,
        check=None,
        tiles=(),
        nan=None,
    )


def renamed(function: Function, names: Mapping[str, str]) -> Function:
    """Copy an operation with other parameter names."""
    op: TtnnOperation = function.operation  # type: ignore[attr-defined]
    own = {new: old for old, new in names.items()}

    def meaning(**arguments: Any) -> Any:
        return op.meaning(**{own.get(name, name): value for name, value in arguments.items()})

    parameters = [
        parameter.replace(name=names.get(name, name))
        for name, parameter in op.signature.parameters.items()
    ]
    kinds = {names.get(name, name): kind for name, kind in op.kinds.items()}
    signature = op.signature.replace(parameters=parameters)
    return _callable(replace(op, meaning=meaning, signature=signature, kinds=kinds), function)


def _callable(described: TtnnOperation, documented: Function) -> Function:
    @wraps(documented)
    def call(*args: Any, **kwargs: Any) -> Any:
        other = CALLS.get()
        return run(described, args, kwargs) if other is None else other(described, args, kwargs)

    call.__name__ = call.__qualname__ = described.name
    call.__signature__ = described.signature  # type: ignore[attr-defined]
    call.operation = described  # type: ignore[attr-defined]
    return call


def in_place(function: Function, name: str, options: tuple[str, ...], **columns: Any) -> Function:
    """Make the operation that writes its result to the first operand."""
    call = variant(function, name, in_place=True, options=options, **columns)
    first = next(iter(call.operation.kinds))  # type: ignore[attr-defined]
    call.__doc__ = f"As {function.__name__}(), with the result in `{first}`."
    return call


@traced
def run(op: TtnnOperation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        _refuse_in_kernel(op)
        result, kwargs = _take_options(op, kwargs)
        call = _bind(op, args, kwargs, result)
        _check_places(call)
        if op.in_place:
            result = replace(result, output=_first_operand(call))
        if result.output is None:
            return per_device(partial(_compute, call), *call.operands)
        per_device(partial(_compute, call), *call.operands, result.output)
        return result.output if op.in_place else per_device(alias, result.output)
    except RuleBroken as broken:
        raise refused(broken) from None


def _first_operand(call: CheckedCall) -> Tensor:
    first: Any = next(iter(call.arguments.values()))
    if not is_tensor(first):
        raise _not_a_tensor(call.op, "output_tensor", "a ttnn tensor", first)
    return first  # type: ignore[no-any-return]


def _refuse_in_kernel(op: TtnnOperation) -> None:
    if running_engine(None) is not None:
        raise codes.OUTSIDE_OPERATION.broken(
            f"{op.spelling} works on whole tensors, not in a kernel",
            "copy parts of the tensors to blocks and compute with these",
        )


def _check_places(call: CheckedCall) -> None:
    """rule PLACE"""
    op = call.op
    for tensor in call.operands:
        if tensor.device() is None and not op.on_host:
            raise not_on_device(op.spelling)
    for name in op.tiles:
        if is_tensor(call.arguments[name]) and call.arguments[name].layout is not TILE_LAYOUT:
            raise wrong(
                f"{op.spelling} takes tiles, `{name}` is a tensor in rows",
                "make it with layout=ttnn.TILE_LAYOUT, or convert it with "
                "ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)",
            )
    if op.one_kind:
        _check_kinds(op, call)
    if op.check is not None:
        op.check(call.arguments)


def _check_kinds(op: TtnnOperation, call: CheckedCall) -> None:
    found = {tensor.dtype for tensor in call.operands}
    names = " and ".join(sorted(f"{dtype}" for dtype in found))
    if len({dtype.is_float for dtype in found}) > 1 or uint8 in found:
        raise wrong(f"{op.spelling} of {names}", "convert with ttnn.typecast() first")
    numbers = [value for value in call.arguments.values() if is_number(value)]
    if not any(dtype.is_float for dtype in found) and not all(
        float(number).is_integer() for number in numbers
    ):
        raise wrong(
            f"{op.spelling} of {names} and a number with a fraction",
            "convert the tensor with ttnn.typecast() first",
        )


def _take_options(op: TtnnOperation, kwargs: dict[str, Any]) -> tuple[ResultPlace, dict[str, Any]]:
    renamed = {op.also.get(name, name): value for name, value in kwargs.items()}
    own = {name: value for name, value in renamed.items() if name in op.kinds}
    given = {name: value for name, value in renamed.items() if name not in op.kinds}
    for name in given:
        if name not in op.options and name not in EVERYWHERE:
            raise _wrong_call(op, f"has no argument `{name}`")
    dtype = given.get("dtype")
    if dtype is not None and as_dtype(dtype) is None:
        raise _wrong_call(
            op, f"takes an element type such as ttnn.bfloat16 as `dtype`, not {dtype!r}"
        )
    output = next((given[name] for name in OUTPUTS if given.get(name) is not None), None)
    if output is not None and not is_tensor(output):
        raise _not_a_tensor(op, "output_tensor", "a ttnn tensor", output)
    layout = given.get("layout") or given.get("output_layout")
    return ResultPlace(as_dtype(dtype), given.get("memory_config"), output, layout), own


def _bind(
    op: TtnnOperation, args: tuple[Any, ...], kwargs: dict[str, Any], result: ResultPlace
) -> CheckedCall:
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
    first = next(iter(bound.arguments.values()))
    if not operands or (not op.number_first and is_number(first)):
        raise _wrong_call(op, "takes a ttnn tensor as its first operand")
    return CheckedCall(op, dict(bound.arguments), operands, result)


def _not_a_tensor(op: TtnnOperation, name: str, text: str, value: Any) -> UsageError:
    problem = f"takes {text} as `{name}`, not {_shown(value)}"
    module = type(value).__module__.partition(".")[0]
    if "tensor" in text and module in ("numpy", "torch"):
        return wrong_call(
            f"{op.spelling} {problem}",
            f"make a tensor of it first: {_MAKERS[module]}(..., device=device)",
        )
    return _wrong_call(op, problem)


_MAKERS = {"numpy": "ttl.from_numpy", "torch": "ttnn.from_torch"}


def _shown(value: Any) -> str:
    simple = value is None or isinstance(value, (bool, int, float, str, tuple))
    return repr(value) if simple else f"a {type(value).__name__}"


def _wrong_call(op: TtnnOperation, problem: str) -> UsageError:
    bare = [
        parameter.replace(annotation=parameter.empty)
        for parameter in op.signature.parameters.values()
    ]
    shown = str(op.signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return wrong_call(f"{op.spelling} {problem}", f"write {op.spelling[:-2]}{shown}")


def _tensors(op: TtnnOperation, arguments: dict[str, Any]) -> Iterator[Tensor]:
    for name, value in arguments.items():
        if op.kinds[name].is_operand:
            items = value if isinstance(value, (tuple, list)) else (value,)
            yield from (item for item in items if is_tensor(item))


def _compute(call: CheckedCall, *parts: Tensor) -> Any:
    """Compute the result for one device's parts of the operands and of the output tensor."""
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
    layout = call.result.layout or _layout(op, operands, by_tensor, call)
    output = next(iter(parts[len(operands) :]), None)
    result = replace(call.result, output=output, layout=layout)
    if isinstance(answer, list):
        return [_tensor(op, part, operands[0], like, result) for part in answer]
    return _tensor(op, answer, operands[0], like, result)


def _layout(
    op: TtnnOperation, operands: tuple[Tensor, ...], by_tensor: dict[int, Tensor], call: CheckedCall
) -> Layout:
    """rule LAYOUT"""
    if op.layout is not None:
        return op.layout
    if op.layout_of:
        return by_tensor[id(call.arguments[op.layout_of])].layout
    layouts = [tensor.layout for tensor in operands]
    return TILE_LAYOUT if TILE_LAYOUT in layouts else layouts[0]


def _carrier(op: TtnnOperation, operands: tuple[Tensor, ...], value: Any) -> np.dtype[Any]:
    together = (value,) if op.own_types else operands
    return carrier(op, [tensor.dtype for tensor in together if is_tensor(tensor)])


def carrier(op: TtnnOperation, dtypes: Iterable[DType]) -> np.dtype[Any]:
    """rule FLOAT"""
    floats = op.floats or any(dtype.is_float for dtype in dtypes)
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
    """Convert a number; among integers it stays a float only if it has a fraction."""
    if carrier.kind == "i" and not float(value).is_integer():
        return float(value)
    try:
        return carrier.type(value)
    except OverflowError:
        raise wrong(f"{value} is too large", "no element type can hold it") from None


def _check_broadcast(op: TtnnOperation, tensors: tuple[Tensor, ...]) -> None:
    try:
        np.broadcast_shapes(*(tensor.shape for tensor in tensors))
    except ValueError:
        shapes = " and ".join(str(tuple(tensor.shape)) for tensor in tensors)
        raise shapes_differ(
            f"{op.spelling} of tensors of shape {shapes}: the shapes do not broadcast",
            "counted from the last, sizes are equal, or one of them is 1 or missing",
        ) from None


def _tensor(
    op: TtnnOperation, answer: Any, first: Tensor, like: Tensor, result: ResultPlace
) -> Tensor:
    """rules LIKE, WHOLE and NAN"""
    values = np.asarray(answer)
    if op.nan is not None and like.dtype is bfloat16 and values.dtype.kind == "f":
        values = np.where(np.isnan(values), values.dtype.type(op.nan), values)
    output = result.output
    dtype = output.dtype if output is not None else result.dtype or op.dtype
    if values.dtype.kind == "u":
        dtype = DTYPES[values.dtype.name]
    if dtype is None:
        dtype = like.dtype
        if not dtype.is_float and values.dtype.kind == "f" and op.fractions:
            dtype = op.fractions
        elif not dtype.is_float and values.dtype.kind == "f":
            raise codes.DTYPE_MISMATCH.broken(
                f"{op.spelling} gives numbers with fractions, which {dtype} cannot hold",
                "say what the result should be: dtype=ttnn.float32",
            )
    if output is not None:
        return _fill(op, output, values)
    layout = result.layout or first.layout
    config = result.memory_config or _config(first, values, layout)
    if op.shares and config == first.config and not first.is_sharded():
        storage: Any = first.storage
        shared: Storage | None = storage.reshaped(values.shape)
        if shared is not None:
            return alias(first, values.shape, shared)
    tensor = new_tensor(values.shape, dtype, layout, first.device(), config)
    tensor.storage.fill(values)
    return tensor


def _config(first: Tensor, values: Array, layout: Layout) -> MemoryConfig | None:
    """rule LIKE: shards of one shape do not apply to another."""
    is_alike = (values.shape, layout) == (tuple(first.shape), first.layout)
    return first.config if is_alike or not first.is_sharded() else None


def _fill(op: TtnnOperation, output: Tensor, values: Array) -> Tensor:
    if tuple(output.shape) != values.shape:
        raise shapes_differ(
            f"the result of {op.spelling} has shape {values.shape}, output_tensor "
            f"{tuple(output.shape)}",
            "make the output tensor in the shape of the result",
        )
    output.storage.fill(values)
    return output
