"""Every pass is needed: without it something named fails for both examples."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from golden.example_programs import ON_NODES_ALONE, compile_example, example_module
from ttl.codegen import assemble
from ttl.dialects import make_context
from ttl.passes import PIPELINE, find_pass, run_passes


def outcome(example: str, removed: str | None) -> str:
    """Where compiling fails without a pass: `stage: exception`, or the kernels that change."""
    stage = ""

    def before(name: str, module: ModuleOp) -> None:
        nonlocal stage
        stage = name

    module = example_module(example)
    passes = [find_pass(name)() for name in PIPELINE if name != removed]
    try:
        run_passes(passes, make_context(), module, before=before)
        stage = "verify"
        module.verify()
        stage = "assemble"
        kernels = kernels_of(module)
    except Exception as error:
        return f"{stage}: {type(error).__name__}"
    complete = kernels_of(example_module(example, PIPELINE[-1]))
    changed = [name for name in complete if kernels.get(name) != complete[name]]
    return f"other C++: {', '.join(changed)}" if changed else "nothing"


def kernels_of(module: ModuleOp) -> dict[str, str]:
    return {kernel.name: kernel.cpp_source for kernel in assemble("", module, ()).kernels}


TO_SUBBLOCKS = "ttl-subblock-compute-for-dst: KeyError"
TO_LOOPS = "ttl-lower-to-loops: KeyError"
TO_EMITC = "convert-ttkernel-to-emitc: KeyError"
TO_KERNEL = "convert-ttl-to-ttkernel: CompileError"
ALL_KERNELS = "other C++: compute, read, write"
# pass: what fails for elementwise, what for matmul_bias_relu
FAILS = {
    # the examples leave nothing out; tests/unit/passes/test_implicit_sync.py has one that does
    "ttl-insert-copy-wait": ("nothing", "nothing"),
    "ttl-insert-cb-sync": (TO_KERNEL, TO_KERNEL),
    # the examples have no pipes; tests/differential/test_pipes.py has
    "ttl-post-before-send": ("nothing", "nothing"),
    "ttl-assign-pipe-resources": ("nothing", "nothing"),
    "ttl-lower-pipe-roles": ("nothing", "nothing"),
    # the examples have nothing composed; tests/differential/test_block_math.py has
    "ttl-expand-compositions": ("nothing", "nothing"),
    "convert-ttl-to-compute": (TO_EMITC, TO_EMITC),
    "ttl-set-compute-kernel-config": ("ttl-assign-dst: KeyError", "ttl-assign-dst: KeyError"),
    "ttl-assign-dst": (TO_SUBBLOCKS, TO_SUBBLOCKS),
    "ttl-subblock-compute-for-dst": (TO_LOOPS, TO_LOOPS),
    "ttl-lower-to-loops": (TO_EMITC, TO_KERNEL),
    "ttl-finalize-dfb-indices": (
        "convert-ttl-to-ttkernel: AssertionError",
        "convert-ttl-to-ttkernel: AssertionError",
    ),
    "convert-ttl-to-ttkernel": (TO_EMITC, TO_EMITC),
    "ttkernel-insert-inits": ("other C++: compute", "other C++: compute"),
    # nothing is summed up in L1; tests/differential/test_pipeline_stages.py has what is
    "ttkernel-insert-l1-accumulation": ("nothing", "nothing"),
    "lower-affine": (TO_EMITC, TO_EMITC),
    "cse": ("other C++: compute, read", "nothing"),
    "convert-ttkernel-to-emitc": (ALL_KERNELS, ALL_KERNELS),
}


def test_the_table_has_every_pass() -> None:
    assert tuple(FAILS) == PIPELINE


@pytest.mark.parametrize("removed", PIPELINE)
def test_without(removed: str) -> None:
    seen = tuple(outcome(example, removed) for example in ON_NODES_ALONE)
    assert seen == FAILS[removed]
    elsewhere = ("ttl-insert-copy-wait", "ttl-expand-compositions")
    of_pipes = ("ttl-post-before-send", "ttl-assign-pipe-resources", "ttl-lower-pipe-roles")
    assert removed in elsewhere + of_pipes or set(seen) != {"nothing"}


def test_nothing_fails_with_all_passes() -> None:
    assert {outcome(example, None) for example in ON_NODES_ALONE} == {"nothing"}
    for name in ON_NODES_ALONE:
        complete = {kernel.name: kernel.cpp_source for kernel in compile_example(name).kernels}
        assert kernels_of(example_module(name, PIPELINE[-1])) == complete
