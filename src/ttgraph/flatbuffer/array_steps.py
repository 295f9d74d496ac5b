"""Functions of arrays that compute a program's steps, chosen once, when the program is bound.

rule CARRIER  an array holds a tensor's elements, without padding, in the carrier of its type, with
              values that the type has; the caller's arrays stay in their storage type until a step
              computes with them
rule VIEW     a step that only rearranges elements returns a view where numpy has one; nothing
              writes to an array that another step, the caller or a later run may see
rule ROUND    an operation computes what the embedded ttnn does, rounded once, to the type of the
              step's result
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from ttgraph.along import ALONG, Numbers
from ttgraph.graph_ops import REDUCTIONS
from ttl import ttnn
from ttl.semantics.dtypes import Array, DType, float32, round_to
from ttl.semantics.random_bits import random_bits
from ttl.semantics.windows import Window, convolve, convolve_transposed
from ttl.ttnn.moves import converted
from ttl.ttnn.operations.run import TtnnOperation, carrier

from .fused_steps import make_fused_step
from .program import CallStep, TensorDescription

Function = Callable[..., Array]
Descriptions = Sequence[TensorDescription]

VIEWS = ("reshape", "expand", "permute", "slice")
COPIES = ("assign", "to_layout", "typecast")


@dataclass(frozen=True, slots=True)
class ArrayStep:
    """Function of the inputs' arrays. None in `carriers` is an input of any type, whose elements it
    moves: the result keeps its type.
    """

    function: Function
    carriers: tuple[np.dtype[np.generic] | None, ...]
    broadcasts: bool = False  # inputs need not be expanded to the shape of the result


def make_view_step(step: CallStep, shape: tuple[int, ...]) -> Function:
    """rule VIEW"""
    attributes = step.attributes
    if step.operation == "reshape":
        return methodcaller("reshape", shape)
    if step.operation == "expand":
        return partial(np.broadcast_to, shape=shape)
    if step.operation == "permute":
        return methodcaller("transpose", tuple(attributes["permutation"]))
    bounds = zip(*(attributes[name] for name in ("begins", "ends", "step")), strict=True)
    return itemgetter(tuple(slice(*each) for each in bounds))


def make_filled_step(step: CallStep, out: TensorDescription) -> Function | None:
    """Return a function that makes the elements of a step without inputs; None for other steps."""
    attributes, shape = step.attributes, out.shape
    if step.operation in ("full", "empty"):
        value = attributes["fill_value"] if step.operation == "full" else out.dtype.poison
        return lambda: np.broadcast_to(round_to(np.asarray(value), out.dtype), shape)
    if step.operation == "arange":
        return lambda: _positions(attributes["dim"], out)
    return None


def _positions(dim: int, out: TensorDescription) -> Array:
    counted = np.indices(out.shape, sparse=True)[dim]
    return np.broadcast_to(round_to(counted, out.dtype), out.shape)


def make_array_step(
    step: CallStep, given: Descriptions, out: TensorDescription
) -> ArrayStep | None:
    """Find a step's function of arrays; None if the embedded ttnn only has one of tensors."""
    name = step.operation
    own = tuple(each.dtype.carrier for each in given)
    if name == "concat":
        dim = step.attributes["dim"]
        return ArrayStep(lambda *parts: np.concatenate(parts, dim), own)
    if name in COPIES:
        return ArrayStep(_make_copy(given[0].dtype, out.dtype), own)
    if name == "bitcast":
        held, seen, wanted = given[0].dtype.storage, out.dtype.storage, out.dtype.carrier
        return ArrayStep(lambda x: np.ascontiguousarray(x, held).view(seen).astype(wanted), own)
    if name == "random_bits":
        wanted = out.dtype.carrier
        return ArrayStep(lambda words: random_bits(words, out.shape).astype(wanted), own)
    rounded = _make_rounding(out.dtype, is_scalar=not out.shape)
    if name in ALONG:
        return ArrayStep(_compose(partial(ALONG[name], **step.attributes), rounded), own)
    if name in _CONVOLUTIONS:
        return ArrayStep(_compose(_make_convolution(step), rounded), own)
    if (fused := make_fused_step(step, given)) is not None:
        return ArrayStep(_compose(fused, rounded), own)
    op: TtnnOperation | None = getattr(getattr(ttnn, name, None), "operation", None)
    if op is None:
        return None
    if name == "divide" and not any(each.dtype.is_float for each in (*given, out)):
        return ArrayStep(_compose(_quotient, rounded), own, op.broadcasts)
    if name == "embedding":  # takes rows of any type
        return ArrayStep(op.meaning, (np.dtype(np.int64), None))
    meaning = op.meaning
    if name in REDUCTIONS:
        dims, keep = step.attributes["dim_arg"], step.attributes["keep_dim"]
        meaning = partial(meaning, dim=list(dims), keepdim=keep)
    elif step.attributes:
        return None
    return ArrayStep(_compose(meaning, rounded), _find_carriers(op, given), op.broadcasts)


def _quotient(a: Numbers, b: Numbers) -> Numbers:
    """Divide integers towards 0; float32 has too few digits for large ones."""
    return (a - np.fmod(a, b)) // b if np.all(b) else np.divide(a, b)


_CONVOLUTIONS = {"conv2d": convolve, "conv_transpose2d": convolve_transposed}


def _make_convolution(step: CallStep) -> Function:
    """Convolve images in the graph's shape; the real call has all pixels as rows of a matrix."""
    lists = {name: value for name, value in step.attributes.items() if name != "groups"}
    numbers: dict[str, Any] = {name: tuple(value) for name, value in lists.items()}
    more = numbers.pop("output_padding", None)
    window = Window(**numbers, groups=step.attributes["groups"])
    options = {} if more is None else {"more": more}
    return partial(_CONVOLUTIONS[step.operation], window=window, **options)


def _find_carriers(op: TtnnOperation, given: Descriptions) -> tuple[np.dtype[np.generic], ...]:
    """Return the type in which each input is computed. `where` keeps the type of its values: its
    condition, which is a float here, must not turn integers into floats.
    """
    dtypes = dict(zip(op.kinds, (each.dtype for each in given), strict=False))
    chosen = [dtypes[name] for name in op.like if name in dtypes]
    others = carrier(op, chosen or list(dtypes.values()))
    truths = carrier(op, list(dtypes.values()))
    return tuple(others if not chosen or name in op.like else truths for name in dtypes)


def _make_copy(source: DType, dtype: DType) -> Function:
    if source is dtype or (source.is_float and dtype is float32):
        return lambda values: values
    return lambda values: round_to(converted(values, source, dtype, on_device=True), dtype)


def _compose(meaning: Function, rounded: Function | None) -> Function:
    if rounded is None:
        return meaning
    return lambda *arrays: rounded(meaning(*arrays))


def _make_rounding(dtype: DType, *, is_scalar: bool) -> Function:
    """rule ROUND"""
    carrier = dtype.carrier

    def single(answer: Array) -> Array:
        if answer.dtype is carrier:
            return answer
        return answer.astype(carrier)

    def shorter(answer: Array) -> Array:
        if answer.dtype.kind == "b":  # every type has 0 and 1
            return answer.astype(carrier)
        return round_to(answer, dtype)

    chosen = single if dtype is float32 else shorter
    # numpy gives scalars for arrays without dimensions.
    return (lambda answer: chosen(np.asarray(answer))) if is_scalar else chosen
