"""What cannot be compiled: mistakes of the program, and values that a path has no use for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Attribute

from ttl.diagnostics import Code, Diagnostic, RuleBroken, codes
from ttl.language.described import described

from .hir import Value

if TYPE_CHECKING:
    from .state import Loop, Variable
    from .value_ranges import Undecided


class FlowBroken(RuleBroken):
    """A value that a loop or branch cannot carry; with other paths it may do."""

    loop: Loop | None = None  # that cannot carry it, where that is known: nothing inside it helps
    undecided: Undecided | None = None  # a branch for each value that this may have would help
    # A variable that the loop could carry as a number of another kind, or as a block of another
    # type; None: it was taken for a value that the loop leaves as it is.
    grows: tuple[Variable, type | Attribute | None] | None = None
    is_of_end = False  # an iteration ends with it: other last ones may help

    def __init__(self, code: Code, message: str, *, helps: tuple[str, ...] = (), **why: object):
        super().__init__(code, message, helps=helps)
        vars(self).update(why)


class Mistake(Exception):
    """A statement is given up: with a diagnostic, or because of one that is reported already."""

    def __init__(self, diagnostic: Diagnostic | None, broken: RuleBroken | None):
        self.diagnostic = diagnostic
        self.flow = broken if isinstance(broken, FlowBroken) else None


@dataclass(frozen=True, slots=True, eq=False)
class Unusable:
    """Bound to a name that has no value a kernel could use from here on, and why."""

    broken: RuleBroken | None  # None: its statement has a mistake that is reported already

    def refuse(self) -> Mistake | RuleBroken:
        return self.broken or Mistake(None, None)

    @property
    def is_lost(self) -> bool:
        """Did a loop or a branch lose it?"""
        return isinstance(self.broken, FlowBroken)


MISTAKEN = Unusable(None)


def not_yet(what: str, help: str = "") -> RuleBroken:
    """Without a help it is something that the simulator runs."""
    simulate = "run the program on the simulator, or write it in a simpler way"
    return codes.NOT_COMPILED_YET.broken(
        f"the compiler does not translate {what} yet", help or simulate
    )


MOST_UNROLLED = 256  # iterations of loops that could be loops in C++ but for what they carry
FEW_STEPS = f"give the loop at most {MOST_UNROLLED} steps, a number known when compiling"


def flow_broken(what: str, help: str = "", **why: object) -> FlowBroken:
    """`why` is what FlowBroken has beside its message."""
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
    """What Python raises when the kernel runs; whoever reports it names the kernel."""


def raised(error: str, *helps: str) -> Raised:
    """Python code of a kernel fails when it is evaluated, as it would when it runs."""
    return Raised(codes.KERNEL_EXCEPTION, error, helps=helps)


def error_text(error: BaseException) -> str:
    """In the words of the simulator."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class WrongCall(RuleBroken):
    """A function of the program does not take these arguments; its subject is the function."""


def on_some_paths(name: str) -> Unusable:
    """Stands for a variable that has a value on some paths only; most are never read."""
    what = f"`{name}`" if name.isidentifier() else "a block or transfer without a name"
    message, help = (
        f"{what} has a value on some paths only",
        "assign it before the `if` or the loop",
    )
    return Unusable(FlowBroken(codes.NOT_COMPILED_YET, message, helps=(help,)))


def describe(value: Value) -> str:
    """As the program has it; never by the representation of an object of the compiler."""
    if isinstance(text := getattr(value, "described", None), str):
        return text
    if isinstance(value, (tuple, list, set, dict)):
        return f"a {type(value).__name__}"
    if isinstance(value, (bool, int, float, str)):
        return f"the {type(value).__name__} {value!r}"
    return described(value)
