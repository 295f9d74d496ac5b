"""Operations with several configurations: each call uses the fastest one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from types import CellType, FunctionType
from typing import Any, Protocol

from ttl.diagnostics import Span, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.diagnostics.names import no_such_name
from ttl.loading.forks import computed_once
from ttl.semantics.function_source import global_names, keep_source

from .calls import refused
from .configs import Config, configs_of, wrong_space
from .engine import LAUNCH_HOOK
from .operation import Operation, definition_span, operation, option_names, refuse_inside

TOLERANCE = 0.05
# Options of the operation's decorator that a configuration may choose.
OPTIONS = tuple(name for name in option_names(operation) if name in Operation.__slots__)
Variant = tuple[Operation, dict[str, object]]  # with the values that it takes as arguments


class Tuning(Protocol):
    """Measurements of the configurations of a call."""

    @property
    def best(self) -> Config: ...


@dataclass(frozen=True, eq=False)
class Tuned:
    """An operation, or a factory of operations, under `@ttl.autotune`."""

    made_of: Operation | FunctionType
    configs: tuple[Config, ...]
    key: tuple[str, ...] | None
    tolerance: float = TOLERANCE
    checks_results: bool = True
    span: Span | None = None  # of the decorator

    @property
    def function(self) -> Any:
        made_of = self.made_of
        return made_of.function if isinstance(made_of, Operation) else made_of

    @property
    def __name__(self) -> str:
        return str(self.function.__name__)

    @computed_once
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the operation in its best configuration, or return a factory's tuned operation."""
        if isinstance(self.made_of, Operation):
            return self.operation(*args, **kwargs)
        self._check_call(args, kwargs)
        return TunedOperation(self, args, kwargs)

    def tune(self, *args: object, **kwargs: object) -> Any:
        """Measure each configuration for such a call, without running on these tensors."""
        if not isinstance(self.made_of, Operation):
            text = f"`{self.__name__}` is a factory: call it, and tune what it returns"
            raise wrong_space(text, f"write {self.__name__}(...).tune(tensors)")
        return self.operation.tune(*args, **kwargs)

    @computed_once
    def operation(self) -> TunedOperation:
        """The tuned operation of all calls, which reuses earlier variants; not for factories."""
        return TunedOperation(self)

    def _check_call(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        try:
            given = self.signature.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            raise refused(f"{self.__name__}: {error}") from None
        if twice := sorted(set(given) & set(self.configs[0])):
            text = f"`{twice[0]}` is chosen by ttl.autotune, and this call gives it, too"
            help_text = f"leave `{twice[0]}` out of the call, or out of the configurations"
            raise wrong_space(text, help_text)


class TunedOperation:
    """An operation in all its configurations. Call it with tensors."""

    def __init__(
        self,
        tuned: Tuned,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ):
        self.tuned = tuned
        self.factory_args, self.factory_kwargs = tuple(args), dict(kwargs or {})
        self.made: dict[Config, Variant] = {}  # kept, since backends compare identities
        update_wrapper(self, tuned.function, updated=())

    @property
    def name(self) -> str:
        return self.tuned.__name__

    @property
    def has_factory(self) -> bool:
        """Whether a factory makes the operation."""
        return not isinstance(self.tuned.made_of, Operation)

    def __call__(self, *args: object, **kwargs: object) -> None:
        """Run with the best configuration, which the first call of this kind finds."""
        chosen, more = self.chosen(*args, **kwargs)
        chosen(*args, **kwargs, **more)

    def chosen(self, *args: object, **kwargs: object) -> Variant:
        """Return the operation that such a call runs, and the values that it passes to it."""
        best = self.tune(*args, **kwargs).best
        if best not in self.made:
            self.made[best] = self.variant(best)
        return self.made[best]

    def tune(self, *args: object, **kwargs: object) -> Any:
        """Measure each configuration for such a call, without running on these tensors."""
        refuse_inside(self.name)
        if not self.has_factory:
            self.tuned._check_call(args, kwargs)
        return LAUNCH_HOOK.tune(self, args, kwargs)

    def variant(self, config: Config) -> Variant:
        """Return the operation with these values, and those that a call passes to it.

        Exceptions of the user's factory pass through.
        """
        tuned, left = self.tuned, dict(config)
        named = {name: left.pop(name) for name in config if name in tuned.signature.parameters}
        if isinstance(tuned.made_of, Operation):
            options = {name: left.pop(name) for name in OPTIONS if name in left}
            return _with_options(tuned.made_of, _with_values(tuned.function, left), options), named
        factory = _with_values(tuned.function, left)
        made = factory(*self.factory_args, **self.factory_kwargs, **named)
        if not isinstance(made, Operation):
            text = f"`{self.name}` returns a {type(made).__name__}, not an operation"
            help_text = "let the function under @ttl.autotune return what @ttl.operation made"
            raise wrong_space(text, help_text, definition_span(tuned.function))
        return made, {}

    def key_of(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of the factory and of the call that distinguish calls."""
        signature = self.tuned.signature
        if self.has_factory:
            bound = signature.bind_partial(*self.factory_args, **self.factory_kwargs)
            given = {f"argument {n}": value for n, value in enumerate(args)} | dict(kwargs)
        else:
            bound, given = signature.bind_partial(*args, **kwargs), {}
        bound.apply_defaults()
        named = {n: v for n, v in bound.arguments.items() if n not in self.tuned.configs[0]}
        key = self.tuned.key
        return named | given if key is None else {name: named.get(name) for name in key}


def _with_options(made: Operation, function: Any, options: Mapping[str, object]) -> Operation:
    if not options and function is made.function:
        return made
    kept = {name: getattr(made, name) for name in OPTIONS}
    return operation(**{**kept, **options})(function)


def _with_values(function: Any, values: Mapping[str, object]) -> Any:
    """Copy a function with other values for these names around it."""
    if not values:
        return function
    cells = [
        CellType(values[name]) if name in values else cell
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        )
    ]
    around = {**function.__globals__, **values}
    code, name = function.__code__, function.__name__
    changed = FunctionType(code, around, name, function.__defaults__, tuple(cells))
    changed.__kwdefaults__ = function.__kwdefaults__
    return changed


def autotune(
    configs: Config | Sequence[Config],
    key: Sequence[str] | None = None,
    *,
    tolerance: float = TOLERANCE,
    check: bool = True,
    **unknown: object,
) -> Callable[[Any], Any]:
    """Choose the fastest configuration of an operation, by the estimate or on the tensors' device.

    Write it above `@ttl.operation(...)`, or above a factory of operations. A configuration gives
    values to parameters, to names around the function, or to options of the operation's decorator.
    Configurations that cannot run are left out, and so are those whose results differ from the
    first one's by more than `tolerance`, unless `check=False`. `key` names the arguments whose
    values, or shapes, trigger re-tuning; without it, all do.
    """
    if unknown:
        broken = no_such_name("@ttl.autotune()", next(iter(unknown)), option_names(autotune))
        raise UsageError(broken.at(calling_span()))
    if isinstance(configs, (FunctionType, Operation)):
        help_text = "write @ttl.autotune(configs=[ttl.Config(BLOCK=2), ttl.Config(BLOCK=4)])"
        raise wrong_space("@ttl.autotune needs configurations", help_text)
    span = calling_span()
    found = configs_of(configs)
    named = None if key is None else ((key,) if isinstance(key, str) else tuple(key))
    return partial(_decorate, found, named, tolerance, check, span)


def _decorate(
    configs: tuple[Config, ...],
    key: tuple[str, ...] | None,
    tolerance: float,
    check: bool,
    span: Span | None,
    decorated: object,
) -> Tuned:
    if isinstance(decorated, Tuned) or not isinstance(decorated, (Operation, FunctionType)):
        what = getattr(decorated, "__name__", type(decorated).__name__)
        text = f"@ttl.autotune stands above an operation or a factory of operations, not `{what}`"
        raise wrong_space(text, "write it once, directly above @ttl.operation(...)", span)
    tuned = Tuned(decorated, configs, key, tolerance, check, span)
    _check_names(tuned)
    _check_key(tuned)
    if isinstance(decorated, FunctionType):
        keep_source(decorated)
    return tuned


def _check_names(tuned: Tuned) -> None:
    """Raise UsageError if a configuration has a name that nothing uses."""
    function = tuned.function
    parameters = [p for p in tuned.signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    known = {each.name for each in parameters} | set(function.__code__.co_freevars)
    known |= {name for name in global_names(function.__code__) if name in function.__globals__}
    known |= set(OPTIONS) if isinstance(tuned.made_of, Operation) else set()
    for name in tuned.configs[0]:
        if name not in known:
            missing = no_such_name(f"`{tuned.__name__}`", name, [each.name for each in parameters])
            found = f"ttl.Config has `{name}`, which `{tuned.__name__}` does not use"
            helps = missing.helps or (f"make `{name}` a parameter of `{tuned.__name__}`",)
            raise wrong_space(found, helps[0], tuned.span)


def _check_key(tuned: Tuned) -> None:
    parameters = list(tuned.signature.parameters)
    for name in tuned.key or ():
        if name not in parameters:
            what = (
                "argument of the factory"
                if isinstance(tuned.made_of, FunctionType)
                else ("argument of the operation")
            )
            text = f"key has `{name}`, which is no {what} `{tuned.__name__}`"
        elif name in tuned.configs[0]:
            text = f"key has `{name}`, which the configurations choose"
        else:
            continue
        free = ", ".join(each for each in parameters if each not in tuned.configs[0])
        broken = codes.TUNING_KEY.broken(
            text,
            "name arguments; a tensor stands for its shape and its element type",
            notes=(f"its arguments: {free}",) if free else (),
        )
        raise UsageError(broken.at(tuned.span))
