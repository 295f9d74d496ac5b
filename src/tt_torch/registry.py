"""Registry of TT-Lang operations for models, by id."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ttl.loading.forks import ForkLock

ROLES = ("in", "out")


class TTLangError(RuntimeError):
    """A TT-Lang operation cannot be turned into kernels."""


def no_elements(spelling: str) -> str:
    return f"kernels have no elements of type {spelling!r}: convert the tensor"


@dataclass(frozen=True, slots=True)
class OperationEntry:
    operation_id: str
    impl: Callable[..., Any]  # the decorated object: a @ttl.operation, or a function calling one
    version_tag: str
    arg_roles: tuple[str, ...]
    backward: str | None = None  # the id of the operation that computes the gradients


_LOCK = ForkLock()
_ENTRIES: dict[str, OperationEntry] = {}


def register(entry: OperationEntry) -> None:
    """Register an operation; an equal version replaces the old one, another raises ValueError."""
    with _LOCK():
        known = _ENTRIES.get(entry.operation_id)
        if known is not None and known.version_tag != entry.version_tag:
            raise ValueError(
                f"operation {entry.operation_id!r} is registered with version_tag "
                f"{known.version_tag!r}, now with {entry.version_tag!r}; bump operation_id"
            )
        _ENTRIES[entry.operation_id] = entry


def get_registered_operation(operation_id: str) -> OperationEntry:
    """KeyError if there is none."""
    with _LOCK():
        if operation_id not in _ENTRIES:
            raise KeyError(f"no TT-Lang operation is registered as {operation_id!r}")
        return _ENTRIES[operation_id]


def iter_registered_operations() -> list[OperationEntry]:
    """List the operations registered so far, in their order."""
    with _LOCK():
        return list(_ENTRIES.values())


def _clear_registry_for_tests() -> None:
    with _LOCK():
        _ENTRIES.clear()


# Facts about a function ---------------------------------------------------------------------------


def derive_version_tag(fn: Callable[..., Any]) -> str:
    """The first 12 hex digits of the sha1 of its source; TypeError if that cannot be read."""
    try:
        source = inspect.getsource(_function(fn))
    except (OSError, TypeError) as error:
        raise TypeError(
            f"the source of {fn!r} cannot be read, so version_tag must be given: {error}"
        ) from None
    return hashlib.sha1(source.encode("utf-8")).hexdigest()[:12]


def tensor_counts(fn: Callable[..., Any]) -> range | None:
    """Return the possible numbers of tensor arguments; None if unknown."""
    try:
        parameters = inspect.signature(_function(fn)).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return None
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [each for each in parameters if each.kind in places]
    needed = sum(each.default is each.empty for each in positional)
    return range(needed, len(positional) + 1)


def _function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a @ttl.operation, or `fn` itself."""
    function: Callable[..., Any] = getattr(fn, "function", fn)
    return function


def normalize_arg_roles(
    arg_roles: Sequence[str] | None, counts: range | None, operation_id: str = ""
) -> tuple[str, ...]:
    """Return the roles as a tuple; ValueError if they are not `in* out*`, one for each tensor."""
    if arg_roles is None:
        raise ValueError("arg_roles is required: one of 'in', 'out' for each tensor")
    roles = tuple(arg_roles)
    if counts is not None and len(roles) not in counts:
        wanted = str(counts[-1]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        of = f" of operation {operation_id!r}" if operation_id else ""
        raise ValueError(f"arg_roles{of} has {len(roles)} roles for {wanted} tensors")
    for role in roles:
        if role not in ROLES:
            raise ValueError(f"a role is 'in' or 'out', not {role!r}")
    if "in" in roles[roles.index("out") :] if "out" in roles else False:
        raise ValueError("arg_roles must list all 'in' tensors before any 'out' tensor")
    return roles
