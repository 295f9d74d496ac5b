"""Numbers that only data tells, in a rehearsal: of a condition on one, both sides happen."""

from __future__ import annotations

from typing import Any, NoReturn


class NotFollowed(Exception):
    """What the body does depends on data, or takes too long to follow."""


class Opaque:
    """Arithmetic with it is opaque too; where its value is needed, the body is not followed."""

    __slots__ = ()

    def _same(self, *others: Any) -> Opaque:
        return self

    def _needed(self, *others: Any) -> NoReturn:
        raise NotFollowed("the value of an element")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _same
    __rtruediv__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _same
    __eq__ = __ne__ = _same  # type: ignore[assignment]
    __hash__ = object.__hash__
    __bool__ = __index__ = __int__ = __float__ = __getattr__ = __getitem__ = __iter__ = _needed


OPAQUE = Opaque()


def asked(value: Any, may_leave: bool) -> bool | None:
    """Which side of a condition is taken; None: both. Not if one of them leaves a loop."""
    if not isinstance(value, Opaque):
        return bool(value)
    if may_leave:
        raise NotFollowed("an element decides about a jump")
    return None
