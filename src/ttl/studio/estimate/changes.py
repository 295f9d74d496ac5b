"""Finds changes that make an operation faster: runs the model with each change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ttl.artifact import CompiledOperation, ThreadKind
from ttl.target.data_formats import MATH_FIDELITIES

from .machine import BARRIER, SEMAPHORE, EventMachine
from .parts import COMPILERS
from .result import Change, LineCost, Model

MOST_CHANGES = 3
LEAST_SAVED = 0.02  # the model's resolution
LEAST_WAIT = 0.1  # the smallest share to report

Candidate = tuple[str, CompiledOperation]


def find_changes(
    model: Model, machine: EventMachine, lines: Iterable[LineCost]
) -> tuple[Change, ...]:
    """Return the most valuable changes, with the time that each saves."""
    budget = model.target.dataflow_buffer_budget_bytes
    why = wait_in_words(lines)
    found: list[Change] = []
    for kind, reason in (
        (_raise_block_counts(model.compiled, budget), why),
        (_swap_nocs(model.compiled), why),
        (_lower_fidelities(model.compiled), ""),
    ):
        most = 0.0  # a more costly change must save more
        for text, compiled in kind:
            saved = 1 - _cycles(model, compiled) / machine.end
            if saved >= most + LEAST_SAVED:
                most = saved
                found.append(Change(reason, text, saved))
    return most_valuable(found)


def _cycles(model: Model, compiled: CompiledOperation) -> float:
    kinds = [kernel.thread for kernel in compiled.kernels]
    if kinds != [kernel.thread for kernel in model.compiled.kernels]:  # other routes
        model = Model(compiled, model.recording, model.data)
    return model.cycles(model.costs(), compiled)


def most_valuable(changes: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: -change.saved)[:MOST_CHANGES])


def wait_in_words(lines: Iterable[LineCost]) -> str:
    """Begin a sentence with the thread that waits longest for data movement."""
    found = [each for each in lines if each.waited and _waiting_share(each) >= LEAST_WAIT]
    movers = [each for each in found if each.reason in (BARRIER, SEMAPHORE)]  # the cause
    waiting = movers or [each for each in found if _is_for_block(each)]
    longest = max(waiting, key=lambda each: each.waited, default=None)
    if longest is None:
        return ""
    share = f"{_waiting_share(longest):.0%} of the time"
    return f"`{longest.kernel}` waits {share} {_for_what(longest)}: "


def _is_for_block(line: LineCost) -> bool:
    is_own = line.reason.startswith(COMPILERS)  # a result of the same kernel
    return line.thread == "unpack" and line.reason.endswith("is empty") and not is_own


def _waiting_share(line: LineCost) -> float:
    return line.share * line.waited / (line.busy + line.waited)


def _for_what(line: LineCost) -> str:
    if line.reason == BARRIER:
        return f"for the barrier in line {line.line}"
    if line.reason == SEMAPHORE:
        return f"for other nodes in line {line.line}"
    return f"for a block of `{line.reason.split()[0]}` in line {line.line}"


def _raise_block_counts(compiled: CompiledOperation, budget: int) -> Iterator[Candidate]:
    """Yield candidates with one or two more blocks: of one buffer, then of all."""
    own = [n for n, each in enumerate(compiled.buffers) if not each.compiler_allocated]
    choices = [[n] for n in own] + ([own] if len(own) > 1 else [])
    for more in (1, 2):
        for choice in choices:
            changed = _add_blocks(compiled, choice, more)
            if _l1_bytes(changed) <= budget:
                yield _text(changed, choice), changed


def _add_blocks(compiled: CompiledOperation, choice: list[int], more: int) -> CompiledOperation:
    buffers = tuple(
        replace(each, block_count=each.block_count + more) if n in choice else each
        for n, each in enumerate(compiled.buffers)
    )
    return replace(compiled, buffers=buffers)


def _l1_bytes(compiled: CompiledOperation) -> int:
    own = sum(each.total_bytes for each in compiled.buffers if each.shares is None)
    return own + compiled.pipe_scratch_bytes


def _text(compiled: CompiledOperation, choice: list[int]) -> str:
    chosen = [compiled.buffers[n] for n in choice]
    names = ", ".join(f"`{each.name}`" for each in chosen)
    counts = sorted({each.block_count for each in chosen})
    return f"block_count={' or '.join(map(str, counts))} of {names}"


def _swap_nocs(compiled: CompiledOperation) -> Iterator[Candidate]:
    """Yield the candidate with swapped NoCs: the data movement kernels in the other order."""
    other = {ThreadKind.READER: ThreadKind.WRITER, ThreadKind.WRITER: ThreadKind.READER}
    movers = [kernel for kernel in compiled.kernels if kernel.thread in other]
    if len(movers) != 2:
        return
    kernels = tuple(
        replace(kernel, thread=other.get(kernel.thread, kernel.thread))
        for kernel in compiled.kernels
    )
    first, second = (kernel.name for kernel in sorted(movers, key=lambda each: each.thread.value))
    text = f"`{second}` defined before `{first}` (each has the other's NoC then)"
    yield text, replace(compiled, kernels=kernels)


def _lower_fidelities(compiled: CompiledOperation) -> Iterator[Candidate]:
    """Yield candidates with lower math fidelities, which change the results."""
    configs = [kernel.config for kernel in compiled.kernels if kernel.config is not None]
    if not configs:
        return
    lower = MATH_FIDELITIES[: MATH_FIDELITIES.index(configs[0].math_fidelity)]
    for fidelity in reversed(lower):
        kernels = tuple(
            replace(kernel, config=replace(kernel.config, math_fidelity=fidelity))
            if kernel.config is not None
            else kernel
            for kernel in compiled.kernels
        )
        text = f'math_fidelity="{fidelity}" (products of fewer digits)'
        yield text, replace(compiled, kernels=kernels)
