"""What each way to treat a call of an operation says of it: the check, the simulator, the executor.

rule CHECK    what `ttl check` reports as an error before the run, every way refuses with one of its
              codes
rule RUN      what it finds nothing in, simulator and executor both end or refuse with one code
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import ttl
from ttl import ttnn
from ttl.config import Config, chosen_options
from ttl.diagnostics import Diagnostic, Severity, TTLError
from ttl.driver import Driver
from ttl.language import Operation

Codes = tuple[str, ...]  # of the errors; nothing: it ends
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
OTHER = {"sim": "host", "host": "sim"}


@dataclass(frozen=True)
class Verdict:
    """What the ways say of one call; None where nobody asked."""

    check: Codes
    sim: Codes | None = None
    host: Codes | None = None

    @property
    def agrees(self) -> bool:
        runs = [each for each in (self.sim, self.host) if each is not None]
        if self.check:  # rule CHECK
            return all(each and each[0] in self.check for each in runs)
        return len({each[:1] for each in runs}) == 1  # rule RUN

    def __str__(self) -> str:
        said = {"check": self.check, "sim": self.sim, "host": self.host}
        return ", ".join(
            f"{way}: {' '.join(codes) or 'nothing'}"
            for way, codes in said.items()
            if codes is not None
        )


def is_comparable() -> bool:
    """Would a plain call run its operation now, on the simulator or the executor?"""
    config = Config.current()
    other = (config.check, config.compile_only, config.estimate, config.view, config.fast)
    return config.backend in OTHER and not any(other) and config.hand_over is None


def judged(said: Codes, operation: Operation, arguments: Arguments) -> Verdict:
    """The verdict on a call of which a plain run says what is given."""
    backend = Config.current().backend
    check = checked(operation, arguments)
    runs = {backend: said}
    if said and not check:
        runs[OTHER[backend]] = run(OTHER[backend], operation, arguments)
    return Verdict(check, **runs)


def checked(operation: Operation, arguments: Arguments) -> Codes:
    """What `ttl check --compile-only` shows."""
    shown: list[Diagnostic] = []
    driver = Driver()
    driver.remarks.shown = shown
    with chosen_options(check=True, compile_only=True, backend="sim"):
        said = said_by(lambda: quietly(driver, operation, arguments))
    return said or codes_of(shown)


def run(backend: str, operation: Operation, arguments: Arguments) -> Codes:
    with chosen_options(backend=backend):
        return said_by(lambda: quietly(Driver(), operation, arguments))


def quietly(driver: Driver, operation: Operation, arguments: Arguments) -> None:
    """In a new driver, which has nothing remarked and nothing compiled yet."""
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        driver.launch(operation, *copied(arguments))


def said_by(call: Callable[[], None]) -> Codes:
    try:
        call()
    except TTLError as error:
        return codes_of(error.diagnostics)
    return ()


def codes_of(found: Sequence[Diagnostic]) -> Codes:
    errors = (each.code.code for each in found if each.severity is Severity.ERROR)
    return tuple(dict.fromkeys(errors))


def copied(arguments: Arguments) -> Arguments:
    """Tensors anew, the same one where it was the same."""
    made: dict[int, Any] = {}

    def copy(value: Any) -> Any:
        if not isinstance(value, ttnn.Tensor) or getattr(value, "mesh", None) is not None:
            return value
        if id(value) not in made:
            made[id(value)] = _copy(value)
        return made[id(value)]

    args, kwargs = arguments
    return tuple(map(copy, args)), {name: copy(value) for name, value in kwargs.items()}


def _copy(tensor: ttnn.Tensor) -> ttnn.Tensor:
    copy = ttl.from_numpy(
        ttl.to_numpy(tensor), tensor.dtype, tensor.layout, tensor.device(), tensor.memory_config()
    )
    copy.is_layout_chosen = tensor.is_layout_chosen
    return copy
