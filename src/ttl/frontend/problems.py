"""What cannot be compiled: mistakes of the program, and values that a path has no use for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute

from ttl.diagnostics import Code, Diagnostic, RuleBroken, codes
from ttl.language.described import described

from .hir import Value

if TYPE_CHECKING:
    from .state import Loop, Variable
    from .value_ranges import Undecided


class FlowBroken(RuleBroken):
    """A value that a loop or branch cannot carry; with other paths it may do.

    `loop`: the loop that cannot carry it, where that is known: nothing inside it helps.
    `undecided`: a branch for each value that this may have would help.
    `grows`: a variable that the loop could carry as a number of another kind, or as a block of
    another type.
    `is_of_end`: an iteration ends with it; other last ones may help.
    `is_tried_again`: it was taken for a value that the loop leaves as it is.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        helps: tuple[str, ...] = (),
        loop: Loop | None = None,
        undecided: Undecided | None = None,
        grows: tuple[Variable, type | Attribute] | None = None,
        is_of_end: bool = False,
        is_tried_again: bool = False,
    ):
        super().__init__(code, message, helps=helps)
        self.loop, self.undecided, self.grows = loop, undecided, grows
        self.is_of_end, self.is_tried_again = is_of_end, is_tried_again


class Mistake(Exception):
    """A statement is given up: with a diagnostic, or because of one that is reported already."""

    def __init__(self, diagnostic: Diagnostic | None, broken: RuleBroken | None):
        self.diagnostic = diagnostic
        self.flow = broken if isinstance(broken, FlowBroken) else None


class Unusable:
    """Bound to a name that has no value a kernel could use from here on, and why."""

    def __init__(self, broken: RuleBroken | None):
        self._broken = broken

    @property
    def broken(self) -> RuleBroken | None:
        """None: its statement has a mistake that is reported already."""
        return self._broken

    def refuse(self) -> Mistake | RuleBroken:
        broken = self.broken
        return Mistake(None, None) if broken is None else broken

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


def flow_broken(what: str, help: str = "", **why: Any) -> FlowBroken:
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


class OnSomePaths(Unusable):
    """A variable that has a value on some paths only; most are never read."""

    def __init__(self, name: str):
        super().__init__(None)
        self.name = name

    @property
    def broken(self) -> RuleBroken:
        return FlowBroken(
            codes.NOT_IN_KERNELS,
            f"`{self.name}` has a value on some paths only",
            helps=("assign it before the `if` or the loop",),
        )

    @property
    def is_lost(self) -> bool:
        return True


def describe(value: Value) -> str:
    """As the program has it; never by the representation of an object of the compiler."""
    if isinstance(text := getattr(value, "described", None), str):
        return text
    if isinstance(value, (tuple, list, set, dict)):
        return f"a {type(value).__name__}"
    if isinstance(value, (bool, int, float, str)):
        return f"the {type(value).__name__} {value!r}"
    return described(value)
