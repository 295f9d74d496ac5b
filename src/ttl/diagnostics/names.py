"""Names that do not exist, and the nearest that do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType

from . import catalogue as codes
from .errors import RuleBroken, UsageError
from .frames import calling_span

BUILTINS = ["abs", "enumerate", "float", "int", "len", "max", "min", "print", "range", "sum", "zip"]


class UnknownNameError(UsageError, AttributeError):
    """An AttributeError too, so that hasattr() and getattr() with a default work."""


def unknown_name(
    owner: str,
    name: str,
    names: Iterable[str],
    also: Iterable[str] = (),
    instead: Mapping[str, str] | None = None,
) -> UnknownNameError:
    """What a `__getattr__` raises; dunder names are nobody's mistake."""
    broken = no_such_name(owner, name, names, also, instead)
    is_internal = name.startswith("__")
    return UnknownNameError(broken.at(None if is_internal else calling_span()))


def no_such_name(
    owner: str,
    name: str,
    names: Iterable[str],
    also: Iterable[str] = (),
    instead: Mapping[str, str] | None = None,
) -> RuleBroken:
    """`also` are names that there are and the message does not list, `instead` says what to write
    for those that have gone.
    """
    names = sorted(names)
    near = _near(name, sorted({*names, *also}))
    helps = (f"did you mean {' or '.join(near)}?",) if near else ()
    if instead and name in instead:
        helps = (instead[name],)
    return RuleBroken(
        codes.UNKNOWN_NAME,
        f"{owner} has no `{name}`",
        helps=helps,
        notes=(f"it has: {', '.join(names)}",) if names else (),
    )


def undefined_name(name: str, function: FunctionType | None, around: Iterable[str]) -> RuleBroken:
    """A kernel uses a name that nothing has; `around` are names that it could have meant."""
    seen = () if function is None else (*function.__code__.co_freevars, *function.__globals__)
    names = {each for each in (*around, *seen) if not each.startswith("__")}
    near = _near(name, sorted(names - {name})) or _near(name, BUILTINS)
    return RuleBroken(
        codes.UNKNOWN_NAME,
        f"`{name}` is not defined in this kernel",
        helps=(
            f"did you mean {' or '.join(near)}?"
            if near
            else "define it in the kernel or in the operation around it, or pass it as an argument",
        ),
    )


def _near(name: str, names: list[str]) -> list[str]:
    from difflib import get_close_matches  # costs a few milliseconds, only when needed

    return [f"`{found}`" for found in get_close_matches(name, names)]
