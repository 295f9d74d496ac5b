"""Python's operators on tensors; each loads its operation at its first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ttl.diagnostics import codes
from ttl.semantics.current_engine import SCOPE

from ..faults import refused, wrong_call
from . import load

Method = Callable[[Any, Any], Any]


def _method(name: str) -> Method:
    return lambda tensor, other: load(name)(tensor, other)


def _methods(name: str) -> tuple[Method, Method]:
    """Make the methods of an operator with the tensor on its left and on its right."""
    return _method(name), lambda tensor, other: load(name)(other, tensor)


def _missing(sign: str, instead: str) -> Callable[..., Any]:
    """Make an operator that raises, because tensors of the real ttnn do not have it."""

    def refuse(*operands: Any) -> Any:
        raise wrong_call(f"ttnn tensors have no operator for {sign}", f"write {instead}")

    return refuse


class Operators:
    """Operators of tensors with tensors and numbers, as in the real ttnn."""

    __slots__ = ()
    __array_ufunc__ = None  # numpy leaves `array + tensor` to __radd__, which raises a clear error
    __hash__ = object.__hash__  # __eq__ compares elements, so tensors are hashed by identity

    __add__, __radd__ = _methods("add")
    __sub__, __rsub__ = _methods("subtract")
    __mul__, __rmul__ = _methods("multiply")
    __truediv__, __rtruediv__ = _methods("divide")
    __matmul__, __rmatmul__ = _methods("matmul")
    __lt__ = _method("lt")
    __le__ = _method("le")
    __gt__ = _method("gt")
    __ge__ = _method("ge")
    __eq__ = _method("eq")
    __ne__ = _method("ne")
    __neg__ = _missing("-a", "ttnn.neg(a)")
    __abs__ = _missing("abs(a)", "ttnn.abs(a)")
    __floordiv__ = __rfloordiv__ = _missing("a // b", "ttnn.floor_div(a, b)")
    __mod__ = __rmod__ = _missing("a % b", "ttnn.remainder(a, b)")
    __pow__ = __rpow__ = _missing("a ** b", "ttnn.pow(a, b)")

    def reshape(self, *shape: Any) -> Any:
        """As ttnn.reshape(); four sizes or one shape."""
        if len(shape) not in (1, 4):
            raise wrong_call(
                f"reshape{shape}: a tensor takes one shape or four sizes",
                f"write tensor.reshape({shape})",
            )
        return load("reshape")(self, shape[0] if len(shape) == 1 else shape)

    def _part(self, index: Any) -> Any:
        """Return `self[index]` outside of operations: a new tensor, counted in elements."""
        if SCOPE.get(None) is not None:
            # A slice there most likely means tiles, as the source of a copy.
            message = "in an operation, a tensor is sliced only in data movement kernels"
            help_text = "move the slice into a function decorated with @ttl.datamovement()"
            raise refused(codes.OUTSIDE_OPERATION.broken(message, help_text))
        from .shape import get_item

        return get_item(self, index)
