"""Random programs with pipes and semaphores: simulator, check and host say the same of them.

What the check proves ends on the simulator and on the host, in every order and with one result;
what it refuses ends in no order. What it does not prove, or cannot compile, it says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttl
from property.node_programs import ROWS, node_program
from property.test_programs import DEVICE, load
from ttl import ttnn
from ttl.diagnostics import Diagnostic, Severity, TTLError, codes
from ttl.driver.check import check_operation
from ttl.driver.launch import Driver
from ttl.language import Operation
from ttl.target import load as load_target

TARGET = load_target("wormhole_b0")
PROGRAMS = range(60)
MORE = [pytest.param(seed, marks=pytest.mark.full) for seed in range(60, 1000)]
COMPILED = 5  # of every fifth the kernels are compiled too: that is what takes long
SEEDS = (None, 1, 2, 3)
COLUMNS = 6
# Where a program does both, the check names the deadlock though a block may be misused before it.
# A deadlock that it only imagines shows in the programs that misuse no block: those would end.
NAMED_AND_FIRST = ({"deadlock"}, {"block-state"})
UNSAID = ("not-proven", "deadlock")  # a warning: in some orders
Outcome = tuple[Any, ...]


def tensors() -> tuple[Any, Any]:
    numbers = np.arange(1.0, ROWS * COLUMNS + 1).reshape(ROWS, COLUMNS)
    a, y = np.kron(numbers, np.ones((32, 32))), np.zeros((2 * ROWS * 32, COLUMNS * 32))
    return tuple(ttl.from_numpy(each, dtype=ttnn.float32, device=DEVICE) for each in (a, y))


def outcome(driver: Driver, operation: Operation, backend: str, seed: int | None) -> Outcome:
    """The tiles that were written, or the error."""
    a, y = tensors()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        if seed is not None:
            patch.setenv("TTL_SEED", str(seed))
        try:
            driver.launch(operation, (a, y), {})
        except TTLError as error:
            assert "internal" not in error.diagnostics[0].code.slug, error
            return "error", error.diagnostics[0].code.slug
    return "ended", tuple(ttl.to_numpy(y)[::32, ::32].ravel().tolist())


def checked(operation: Operation) -> list[Diagnostic]:
    return check_operation(operation.program(tensors(), {}, TARGET.default_grid), TARGET)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", [*PROGRAMS, *MORE])
def test_all_say_the_same(seed: int) -> None:
    text = node_program(seed)
    operation, driver = load(text), Driver()
    found = checked(operation)
    slugs = {each.code.slug for each in found}
    errors = {each.code.slug for each in found if each.severity is Severity.ERROR}
    runs = {outcome(driver, operation, "sim", order) for order in SEEDS}
    if errors:
        assert {kind for kind, _ in runs} == {"error"}, f"refused for {errors}, and ends\n{text}"
        slugs_of_runs = {slug for _, slug in runs}
        is_both = (errors, slugs_of_runs) == NAMED_AND_FIRST
        assert errors & slugs_of_runs or is_both, f"{errors}, {runs}\n{text}"
        return
    is_proven = slugs.isdisjoint(UNSAID)
    if is_proven:
        assert len(runs) == 1 and {kind for kind, _ in runs} == {"ended"}, f"{runs}\n{text}"
    if seed % COMPILED == 0 and not any(each.code in codes.NOT_COMPILED for each in found):
        compiled = {outcome(driver, operation, "host", order) for order in (None, 1)}
        if is_proven:
            assert compiled == runs, f"{compiled}, {runs}\n{text}"
        assert {slug for kind, slug in compiled if kind == "error"} <= {"deadlock"}, text


def test_all_kinds_occur() -> None:
    missing = {"proven", "refused"}
    programs = iter(PROGRAMS)
    while missing and (seed := next(programs, None)) is not None:
        missing.discard(_kind(seed))
    assert not missing


def _kind(seed: int) -> str:
    found = checked(load(node_program(seed)))
    if any(each.severity is Severity.ERROR for each in found):
        return "refused"
    return "proven" if {each.code.slug for each in found}.isdisjoint(UNSAID) else "not proven"
