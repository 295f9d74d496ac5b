"""Messages about calls with wrong arguments, with the correct call."""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import Parameter

from ttl.diagnostics import Code, RuleBroken, Span, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.diagnostics.names import near_names

from .old_names import OLD_ARGUMENTS

_QUOTED = re.compile(r"'(\w+)'")


def refused(
    message: str, help_text: str = "", span: Span | None = None, code: Code = codes.WRONG_ARGUMENT
) -> UsageError:
    """Make a UsageError, by default at the user's calling line."""
    broken = RuleBroken(code, message, helps=(help_text,) if help_text else ())
    return UsageError(broken.at(span or calling_span()))


def wrong_call(
    spelling: str, parameters: Iterable[Parameter], error: TypeError, given: int
) -> RuleBroken:
    """Describe a wrong call; `error` is Python's, `given` counts the positional arguments."""
    known = list(parameters)
    message = f"{spelling}() {call_problem(str(error), known, given)}"
    return codes.WRONG_ARGUMENT.broken(
        message, *meant(str(error), known), written_call(spelling, known)
    )


def meant(problem: str, parameters: list[Parameter]) -> tuple[str, ...]:
    """Return the help with the arguments nearest to an unknown one."""
    if "unexpected keyword" not in problem:
        return ()
    (unknown, *_) = _QUOTED.findall(problem)
    near = near_names(unknown, [each.name for each in parameters])
    return (f"did you mean {' or '.join(near)}?",) if near else ()


def call_problem(problem: str, parameters: list[Parameter], given: int | None) -> str:
    names = [f"`{name}`" for name in _QUOTED.findall(problem)]
    if problem.startswith("missing"):
        return f"needs {' and '.join(names)}"
    if "multiple values" in problem:
        return f"got two values for {names[0]}"
    if "unexpected keyword" in problem:
        return f"has no argument {names[0]}"
    if given is None:
        return problem
    count = sum(parameter.kind is not Parameter.KEYWORD_ONLY for parameter in parameters)
    most = "no arguments" if not count else f"{count} argument{'s' * (count > 1)}"
    return f"takes {most}, not {given}"


def written_call(spelling: str, parameters: Iterable[Parameter]) -> str:
    present = (each for each in parameters if each.name not in OLD_ARGUMENTS)
    return f"write {spelling}({', '.join(map(_shown, present))})"


def _shown(parameter: Parameter) -> str:
    if parameter.default is not Parameter.empty:
        return f"{parameter.name}={parameter.default!r}"
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    return f"**{parameter.name}" if parameter.kind is Parameter.VAR_KEYWORD else parameter.name
