"""Changes that would make an operation faster: each is a run of the model with that change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ttl.artifact import CompiledOperation
from ttl.target.data_formats import MATH_FIDELITIES

from .machine import BARRIER, Machine
from .result import Change, Model

MOST_CHANGES = 3
LEAST_SAVED = 0.02  # below that the model cannot tell

Candidate = tuple[str, CompiledOperation]


def changes_of(model: Model, machine: Machine) -> tuple[Change, ...]:
    """The most valuable ones, with what they save."""
    costs = model.costs()
    budget = model.target.dataflow_buffer_budget_bytes
    found: list[Change] = []
    for kind in (_block_counts(model.compiled, budget), _fidelities(model.compiled)):
        most = 0.0  # a change that costs more must save more
        for text, compiled in kind:
            saved = 1 - model.cycles(costs, compiled) / machine.end
            if saved >= most + LEAST_SAVED:
                most = saved
                why = _why(model, machine) if compiled.buffers != model.compiled.buffers else ""
                found.append(Change(f"{why}{text} saves {saved:.0%}", saved))
    found.sort(key=lambda change: -change.saved)
    return tuple(found[:MOST_CHANGES])


def _block_counts(compiled: CompiledOperation, budget: int) -> Iterator[Candidate]:
    """One more block or two: of one buffer, then of all."""
    own = [n for n, each in enumerate(compiled.buffers) if not each.compiler_allocated]
    choices = [[n] for n in own] + ([own] if len(own) > 1 else [])
    for more in (1, 2):
        for choice in choices:
            changed = _with_more_blocks(compiled, choice, more)
            if _l1_bytes(changed) <= budget:
                yield _text(changed, choice), changed


def _with_more_blocks(
    compiled: CompiledOperation, choice: list[int], more: int
) -> CompiledOperation:
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


def _fidelities(compiled: CompiledOperation) -> Iterator[Candidate]:
    """Lower ones: these change the results."""
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


def _why(model: Model, machine: Machine) -> str:
    """Who waits longest for transfers, and where."""
    waits = []
    for node in machine.nodes:
        for thread in node.threads:
            share = thread.reasons.get(BARRIER, 0.0) / machine.end
            site = max(thread.spent, key=lambda number: thread.spent[number].waited, default=None)
            if site is not None and share >= 0.25:
                line = model.recording.sites[site].line
                name = model.compiled.kernels[thread.plan.kernel].name
                waits.append((share, f"`{name}` waits {share:.0%} of the time for transfers "
                                     f"(line {line}): "))  # fmt: skip
    return max(waits, default=(0.0, ""))[1]
