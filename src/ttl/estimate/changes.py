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
    found = []
    for text, compiled in _candidates(model.compiled, model.target.dataflow_buffer_budget_bytes):
        saved = 1 - model.cycles(costs, compiled) / machine.end
        if saved >= LEAST_SAVED:
            why = _why(model, machine) if compiled.buffers != model.compiled.buffers else ""
            found.append(Change(f"{why}{text} saves {saved:.0%}", saved))
    found.sort(key=lambda change: -change.saved)
    return tuple(found[:MOST_CHANGES])


def _candidates(compiled: CompiledOperation, budget: int) -> Iterator[Candidate]:
    own = [n for n, each in enumerate(compiled.buffers) if not each.compiler_allocated]
    for choice in [*([n] for n in own), own]:
        for more in (1, 2):
            changed = _with_more_blocks(compiled, choice, more)
            if choice and _l1_bytes(changed) <= budget and (choice != own or len(own) > 1):
                yield _text(changed, choice), changed
    yield from _fidelities(compiled)


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
    for fidelity in MATH_FIDELITIES[: MATH_FIDELITIES.index(configs[0].math_fidelity)]:
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
