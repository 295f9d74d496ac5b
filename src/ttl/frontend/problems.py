"""Errors of compiling: mistakes of the program, and values that a path cannot use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Attribute

from ttl.diagnostics import Code, Diagnostic, RuleBroken, codes
from ttl.language.described import described

from .hir import Value

if TYPE_CHECKING:
    from .state import Local, OpenLoop
    from .value_ranges import Undecided


class FlowBroken(RuleBroken):
    """A loop or branch cannot carry a value; other paths may be able to."""

    loop: OpenLoop | None = None  # the loop that cannot carry it, if known: its body cannot help
    undecided: Undecided | None = None  # a branch for each of its values would help
    # A variable that the loop could carry as another kind of number, or as a block of another type;
    # None: the loop was expected to keep the value unchanged.
    grows: tuple[Local, type | Attribute | None] | None = None
    is_of_end = False  # an iteration ends with it, so other last ones may help

    def __init__(self, code: Code, message: str, *, helps: tuple[str, ...] = (), **why: object):
        super().__init__(code, message, helps=helps)
        vars(self).update(why)


class Mistake(Exception):
    """Evaluation gives up a statement, with a diagnostic or because of a reported one."""

    def __init__(self, diagnostic: Diagnostic | None, broken: RuleBroken | None):
        self.diagnostic = diagnostic
        self.flow = broken if isinstance(broken, FlowBroken) else None


@dataclass(frozen=True, slots=True, eq=False)
class Unusable:
    """Marks a name without a usable value from here on, and the reason."""

    broken: RuleBroken | None  # None: a mistake in its statement is already reported

    def refuse(self) -> Mistake | RuleBroken:
        return self.broken or Mistake(None, None)

    @property
    def is_lost(self) -> bool:
        """Did a loop or a branch lose it?"""
        return isinstance(self.broken, FlowBroken)


MISTAKEN = Unusable(None)


def not_yet(what: str, help: str = "") -> RuleBroken:
    """Refuse code that is not compiled yet; without a help, the simulator runs it."""
    simulate = "run the program on the simulator, or write it in a simpler way"
    return codes.NOT_COMPILED_YET.broken(
        f"the compiler does not translate {what} yet", help or simulate
    )


MOST_UNROLLED = 256  # iterations of loops that C++ could have if they carried less
FEW_STEPS = f"give the loop at most {MOST_UNROLLED} steps, a number known when compiling"


def flow_broken(what: str, help: str = "", **why: object) -> FlowBroken:
    """Refuse a value that cannot be carried; `why` sets fields of FlowBroken."""
    return FlowBroken(
        codes.NOT_COMPILED_YET,
        f"the compiler does not translate {what} yet",
        helps=(help or f"give it one name on each path, or {FEW_STEPS}",),
        **why,
    )


def not_in_kernels(what: str, *helps: str) -> RuleBroken:
    return RuleBroken(
        codes.NOT_IN_KERNELS,
        f"{what}: not part of the language of kernels",
        helps=helps or ("write it with scalars, if, for over range, while, with and functions",),
    )


class Raised(RuleBroken):
    """Python raises this when the kernel runs; the report adds the kernel's name."""


def raised(error: str, *helps: str) -> Raised:
    """Report Python code that fails during evaluation as it would in a run."""
    return Raised(codes.KERNEL_EXCEPTION, error, helps=helps)


def error_text(error: BaseException) -> str:
    """Return the error in the words of the simulator."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class WrongCall(RuleBroken):
    """A user's function does not take these arguments; its subject is the function."""


def on_some_paths(name: str) -> Unusable:
    """Mark a variable that only some paths assign; most are never read."""
    what = f"`{name}`" if name.isidentifier() else "a block or transfer without a name"
    message, help = (
        f"{what} has a value on some paths only",
        "assign it before the `if` or the loop",
    )
    return Unusable(FlowBroken(codes.NOT_COMPILED_YET, message, helps=(help,)))


def describe(value: Value) -> str:
    """Describe a value as written in the program, never by an object of the compiler."""
    if isinstance(text := getattr(value, "described", None), str):
        return text
    if isinstance(value, (tuple, list, set, dict)):
        return f"a {type(value).__name__}"
    if isinstance(value, (bool, int, float, str)):
        return f"the {type(value).__name__} {value!r}"
    return described(value)
