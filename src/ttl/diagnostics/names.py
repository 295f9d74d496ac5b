"""Names that do not exist, and the nearest that do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import catalogue as codes
from .errors import RuleBroken, UsageError
from .frames import calling_span


class UnknownNameError(UsageError, AttributeError):
    """An AttributeError too, so that hasattr() and getattr() with a default work."""


def unknown_name(
    owner: str, name: str, names: Iterable[str], renamed: Mapping[str, str] | None = None
) -> UnknownNameError:
    """What a module's `__getattr__` raises; dunder names are nobody's mistake."""
    from difflib import get_close_matches  # costs a few milliseconds, only when needed

    names = sorted(names)
    near = [f"`{found}`" for found in get_close_matches(name, names)]
    if renamed and name in renamed:
        near = [f"`{renamed[name]}`, its name since specification 0.14"]
    broken = RuleBroken(
        codes.UNKNOWN_NAME,
        f"{owner} has no `{name}`",
        helps=(f"did you mean {' or '.join(near)}?",) if near else (),
        notes=(f"it has: {', '.join(names)}",),
    )
    is_internal = name.startswith("__")
    return UnknownNameError(broken.at(None if is_internal else calling_span()))
