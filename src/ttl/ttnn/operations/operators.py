"""Python's operators on tensors; each loads its operation when it is first used."""

from __future__ import annotations

from typing import Any

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.current_engine import SCOPE

from . import load


class Operators:
    """What a tensor can be combined with: tensors and numbers, as in the real ttnn."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy leaves `array + tensor` to __radd__, which says what is wrong
    __hash__ = object.__hash__  # __eq__ compares elements, which does not make tensors equal

    def __add__(self, other: Any) -> Any:
        return load("add")(self, other)

    def __radd__(self, other: Any) -> Any:
        return load("add")(other, self)

    def __sub__(self, other: Any) -> Any:
        return load("subtract")(self, other)

    def __rsub__(self, other: Any) -> Any:
        return load("subtract")(other, self)

    def __mul__(self, other: Any) -> Any:
        return load("multiply")(self, other)

    def __rmul__(self, other: Any) -> Any:
        return load("multiply")(other, self)

    def __truediv__(self, other: Any) -> Any:
        return load("divide")(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return load("divide")(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return load("floor_div")(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return load("floor_div")(other, self)

    def __mod__(self, other: Any) -> Any:
        return load("remainder")(self, other)

    def __rmod__(self, other: Any) -> Any:
        return load("remainder")(other, self)

    def __pow__(self, other: Any) -> Any:
        return load("pow")(self, other)

    def __rpow__(self, other: Any) -> Any:
        return load("pow")(other, self)

    def __matmul__(self, other: Any) -> Any:
        return load("matmul")(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return load("matmul")(other, self)

    def __neg__(self) -> Any:
        return load("neg")(self)

    def __abs__(self) -> Any:
        return load("abs")(self)

    def __eq__(self, other: Any) -> Any:
        return load("eq")(self, other) if _is_comparable(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return load("ne")(self, other) if _is_comparable(other) else NotImplemented

    def __lt__(self, other: Any) -> Any:
        return load("lt")(self, other)

    def __le__(self, other: Any) -> Any:
        return load("le")(self, other)

    def __gt__(self, other: Any) -> Any:
        return load("gt")(self, other)

    def __ge__(self, other: Any) -> Any:
        return load("ge")(self, other)

    def reshape(self, *shape: Any) -> Any:
        """As ttnn.reshape(); the sizes one by one or as one shape."""
        return load("reshape")(self, shape[0] if len(shape) == 1 else shape)

    def _part(self, index: Any) -> Any:
        """`self[index]` outside of operations: a new tensor, counted in elements."""
        if SCOPE.get(None) is not None:
            raise UsageError(_in_body().at(calling_span()))
        from .shape import get_item

        return get_item(self, index)


def _is_comparable(other: Any) -> bool:
    """`tensor == None` and the like stay plain Python."""
    return other is not None and not isinstance(other, str)


def _in_body() -> RuleBroken:
    """Whoever slices there most likely means tiles, and a slice to copy from."""
    return RuleBroken(
        codes.OUTSIDE_OPERATION,
        "in an operation, a tensor is sliced only in data movement kernels",
        helps=("move the slice into a function decorated with @ttl.datamovement()",),
    )
