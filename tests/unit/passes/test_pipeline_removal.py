"""Every pass is needed: without it something named fails, or comes out otherwise."""

from __future__ import annotations

from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp

from golden.example_programs import (
    ON_NODES_ALONE,
    TARGET,
    compile_example,
    example_module,
    example_program,
)
from ttl.codegen import assemble
from ttl.dialects import make_context
from ttl.frontend import build_module
from ttl.language.operation import Program
from ttl.passes import PIPELINE, find_pass, run_passes

from .stages_program import stages_program

PROGRAMS = (*ON_NODES_ALONE, "stages")


def program_of(name: str) -> Program:
    return stages_program() if name == "stages" else example_program(name)


@cache
def complete_kernels(name: str) -> dict[str, str]:
    module = build_module(program_of(name), TARGET)
    run_passes([find_pass(each)() for each in PIPELINE], make_context(), module)
    return kernels_of(module)


def outcome(name: str, removed: str | None) -> str:
    """Where compiling fails without a pass: `stage: exception`, or the kernels that change."""
    stage = ""

    def before(pass_name: str, module: ModuleOp) -> None:
        nonlocal stage
        stage = pass_name

    module = build_module(program_of(name), TARGET)
    passes = [find_pass(name)() for name in PIPELINE if name != removed]
    try:
        run_passes(passes, make_context(), module, before=before)
        stage = "verify"
        module.verify()
        stage = "assemble"
        kernels = kernels_of(module)
    except Exception as error:
        return f"{stage}: {type(error).__name__}"
    complete = complete_kernels(name)
    changed = [name for name in complete if kernels.get(name) != complete[name]]
    return f"other C++: {', '.join(changed)}" if changed else "nothing"


def kernels_of(module: ModuleOp) -> dict[str, str]:
    return {kernel.name: kernel.cpp_source for kernel in assemble("", module, ()).kernels}


NOTHING = "nothing"
TO_COMPUTE = "convert-ttl-to-compute: AssertionError"
TO_DST = "ttl-assign-dst: KeyError"
TO_SUBBLOCKS = "ttl-subblock-compute-for-dst: KeyError"
TO_LOOPS = "ttl-lower-to-loops: KeyError"
TO_KERNEL = "convert-ttl-to-ttkernel: CompileError"
NO_INDEX = "convert-ttl-to-ttkernel: AssertionError"
TO_EMITC = "convert-ttkernel-to-emitc: KeyError"
COMPUTE = "other C++: compute"
READ = "other C++: read"
WRITE = "other C++: write"
ALL_KERNELS = "other C++: compute, read, write"
# pass: what fails for elementwise, for matmul_bias_relu, for the program that needs all others
FAILS = {
    # the source tells where waits go; tests/filecheck/ttl_insert_copy_wait.mlir has what does not
    "ttl-insert-copy-wait": (NOTHING, NOTHING, NOTHING),
    "ttl-insert-cb-sync": (TO_KERNEL, TO_KERNEL, "ttl-round-up-block-counts: CompileError"),
    # the receives of this one are posted early; tests/differential/test_pipes.py has others
    "ttl-post-before-send": (NOTHING, NOTHING, NOTHING),
    "ttl-assign-pipe-resources": (NOTHING, NOTHING, NO_INDEX),
    "ttl-lower-pipe-roles": (NOTHING, NOTHING, "convert-ttl-to-ttkernel: KeyError"),
    "ttl-expand-compositions": (NOTHING, NOTHING, NO_INDEX),
    "ttl-name-block-values": (NOTHING, NOTHING, ALL_KERNELS),
    "ttl-annotate-l1-acc-loops": (NOTHING, NOTHING, COMPUTE),
    "ttl-peel-l1-acc-loops": (NOTHING, NOTHING, COMPUTE),
    "ttl-insert-intermediate-dfbs": (NOTHING, NOTHING, TO_COMPUTE),
    "convert-ttl-to-compute": (TO_EMITC, TO_EMITC, TO_EMITC),
    "ttl-set-compute-kernel-config": (TO_DST, TO_DST, TO_DST),
    "ttl-assign-dst": (TO_SUBBLOCKS, TO_SUBBLOCKS, TO_SUBBLOCKS),
    "ttl-subblock-compute-for-dst": (TO_LOOPS, TO_LOOPS, TO_LOOPS),
    "ttl-lower-to-loops": (TO_EMITC, TO_KERNEL, TO_EMITC),
    # tests/filecheck/ttl_round_up_block_counts.mlir holds blocks that do not divide their buffer
    "ttl-round-up-block-counts": (NOTHING, NOTHING, NOTHING),
    "ttl-finalize-dfb-indices": (NO_INDEX, NO_INDEX, NO_INDEX),
    "ttl-flush-writes": (WRITE, WRITE, NOTHING),
    "convert-ttl-to-ttkernel": (TO_EMITC, TO_EMITC, TO_EMITC),
    "ttkernel-read-ahead": (READ, READ, NOTHING),
    "ttkernel-insert-inits": (COMPUTE, COMPUTE, COMPUTE),
    "ttkernel-insert-l1-accumulation": (NOTHING, NOTHING, COMPUTE),
    "ttkernel-combine-pack-tiles": (COMPUTE, COMPUTE, COMPUTE),
    "lower-affine": (TO_EMITC, TO_EMITC, TO_EMITC),
    "cse": ("other C++: compute, read", READ, ALL_KERNELS),
    "ttl-lower-signpost-to-emitc": (NOTHING, NOTHING, TO_EMITC),
    "convert-ttkernel-to-emitc": (ALL_KERNELS, ALL_KERNELS, ALL_KERNELS),
}
ELSEWHERE = ("ttl-insert-copy-wait", "ttl-post-before-send", "ttl-round-up-block-counts")


def test_the_table_has_every_pass() -> None:
    assert tuple(FAILS) == PIPELINE


@pytest.mark.parametrize("removed", PIPELINE)
def test_without(removed: str) -> None:
    seen = tuple(outcome(name, removed) for name in PROGRAMS)
    assert seen == FAILS[removed]
    assert removed in ELSEWHERE or set(seen) != {NOTHING}


def test_nothing_fails_with_all_passes() -> None:
    assert {outcome(name, None) for name in PROGRAMS} == {NOTHING}
    for name in ON_NODES_ALONE:
        complete = {kernel.name: kernel.cpp_source for kernel in compile_example(name).kernels}
        assert kernels_of(example_module(name, PIPELINE[-1])) == complete
