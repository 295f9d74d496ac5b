"""Turn whatever goes wrong in a kernel into one KernelFault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from ttl.diagnostics import InternalError, KernelFault, Label, RuleBroken, Span, TTLError, codes
from ttl.diagnostics.frames import is_user_file, raised_by_pyttlang, traceback_spans
from ttl.semantics.tensors import with_tensor_name

from .place import Place, is_raise, span_of
from .watchdog import Spinning

if TYPE_CHECKING:
    from .kernel import KernelRun

MOST_CALLERS = 8  # most callers shown, including the outermost


def rule_fault(kernel: KernelRun, broken: RuleBroken) -> KernelFault:
    """Describe a rule that a call of the kernel broke. The place is the innermost user frame,
    unless `broken` has a better one.
    """
    broken = with_tensor_name(broken, kernel.simulation.tensor_names.get(id(broken.subject), ""))
    if broken.place is not None:
        return fault_at(kernel, broken, broken.place)
    return _fault(kernel, broken, traceback_spans(broken.__traceback__))


def fault_at(
    kernel: KernelRun, broken: RuleBroken, place: Place | None, label: str = ""
) -> KernelFault:
    """Describe a rule that was found broken only later, at the remembered `place`."""
    span = span_of(place) if place is not None else None
    return _fault(kernel, broken, [span] if span is not None else [], label)


def fault_in(kernel: KernelRun, broken: RuleBroken, span: Span) -> KernelFault:
    return _fault(kernel, broken, [span])


def exception_fault(kernel: KernelRun, error: BaseException) -> TTLError | SystemExit:
    """Describe an exception of the user's code, or of ours, which is never the user's mistake."""
    # Imported only when something went wrong.
    from ttl.language.mistakes import ENDS, language_mistake, misspelt_name, signature_help
    from ttl.source.functions import own_code

    if _is_quit_of_debugger(error):
        return SystemExit(1)
    mistake = language_mistake(error) if isinstance(error, Exception) else None
    if isinstance(error, NameError):
        around = kernel.simulation.program.operation.local_names
        mistake = misspelt_name(error, around, own_code(kernel.function).co_freevars)
    if mistake is not None:
        return rule_fault(kernel, mistake.with_traceback(error.__traceback__))
    spans = traceback_spans(error.__traceback__)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    is_ours = raised_by_pyttlang(error.__traceback__)
    if is_ours and not isinstance(error, RecursionError):  # a recursion can end anywhere
        broken = RuleBroken(codes.INTERNAL, f"pyttlang failed: {text}")
        return InternalError(_fault(kernel, broken, spans).diagnostics[0])
    helps = (ENDS,) if isinstance(error, SystemExit) else signature_help(error)
    message = f"kernel `{kernel.name}` raised {text}"
    return _fault(kernel, RuleBroken(codes.KERNEL_EXCEPTION, message, helps=helps), spans)


def is_raised_by_program(error: BaseException) -> bool:
    """Does a `raise` in the program raise it, such as `raise KeyboardInterrupt`? Outside exceptions
    come between any two instructions, or from a signal handler."""
    import signal  # most runs never need it

    entries = list(_entries(error.__traceback__))
    innermost = entries[-1]
    code = innermost.tb_frame.f_code
    if not is_user_file(code.co_filename) or not is_raise((code, innermost.tb_lasti)):
        return False
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    of_handlers = [getattr(each, "__code__", None) for each in handlers]  # methods have it too
    return not any(entry.tb_frame.f_code in of_handlers for entry in entries)


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def spinning_fault(kernel: KernelRun, spinning: Spinning) -> KernelFault:
    broken = RuleBroken(
        codes.SPINNING,
        f"kernel `{kernel.name}` {spinning.used} without letting others run",
        helps=("wait with wait(), reserve() or a semaphore; a loop cannot see others change",),
    )
    return _fault(kernel, broken, traceback_spans(spinning.__traceback__), "still running here")


def _is_quit_of_debugger(error: BaseException) -> bool:
    """Is it `q` in pdb, which exits since Python 3.14? pdb may not be loaded."""
    place = error.__traceback__ if isinstance(error, SystemExit) else None
    while place is not None:
        if place.tb_frame.f_globals.get("__name__") == "pdb":
            return True
        place = place.tb_next
    return (type(error).__module__, type(error).__name__) == ("bdb", "BdbQuit")


def _fault(
    kernel: KernelRun, broken: RuleBroken, spans: Sequence[Span], label: str = ""
) -> KernelFault:
    found = broken.at(
        spans[0] if spans else None,
        label,
        notes=(f"in kernel `{kernel.name}` on node {kernel.coordinate}",),
    )
    callers = [Label(span, "called from here") for span in spans[1:]]
    if len(callers) > MOST_CALLERS:
        left_out = f"{len(callers) - MOST_CALLERS} more calls in between"
        found = replace(found, notes=(*found.notes, left_out))
        callers = callers[: MOST_CALLERS - 1] + callers[-1:]
    return KernelFault(replace(found, secondary=(*found.secondary, *callers)))
