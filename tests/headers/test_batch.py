"""A batch accepts no kernel that a check of its own would refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from headers import batch
from headers.check import Thread
from headers.kernel_text import included
from headers.translation_unit import PROCESSORS, Unit
from headers.verdict import cached_verdict

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS / "headers" / "samples"
GOLDEN = sorted((TESTS / "golden").glob("*/compute.cpp"))
# A kernel with more arguments and more includes than the others of its batch.
OTHER = """
#include <cstdint>
#include "api/compute/reduce.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/tile_move_copy.h"
void kernel_main() { constexpr uint32_t last = get_compile_time_arg_val(7); exp_tile(last); }
"""
OTHER_READER = """
#include "api/dataflow/dataflow_api.h"
#include "api/tensor/noc_traits.h"
void kernel_main() { constexpr auto last = TensorAccessorArgs<12>(); (void)last; }
"""


def unit(source: str, thread: Thread, arguments: tuple[int, ...], processor: int = 0) -> Unit:
    return Unit(source, PROCESSORS[thread][processor], "wormhole_b0", arguments)


def sample(name: str, old: str = "", new: str = "") -> str:
    source = (SAMPLES / f"{name}.cpp").read_text()
    assert old in source
    return source.replace(old, new, 1)


def reader(*edit: str) -> Unit:
    return unit(sample("elementwise_read", *edit), "reader", (0, 1, 2, 3, *[2, 2048] * 4))


def compute(*edit: str) -> Unit:
    return unit(sample("elementwise_compute", *edit), "compute", (0, 1, 2, 3), processor=1)


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> list[Unit]:
    """The units that were accepted in a batch; none is checked alone."""
    found: list[Unit] = []
    monkeypatch.setattr(batch, "known_verdict", lambda unit: None)
    monkeypatch.setattr(batch, "keep_verdict", lambda unit, messages: found.append(unit))
    monkeypatch.setattr(batch, "cached_verdict", lambda unit: None)
    return found


OTHERS = [
    unit(OTHER, "compute", tuple(range(8)), processor=1),
    unit(OTHER_READER, "reader", tuple([0, 1, 2, 3, 4, 5, *[2, 4096] * 4])),
]


def test_good_kernels_are_accepted_together(accepted: list[Unit]) -> None:
    units = [compute(), reader(), *OTHERS]
    batch.check_all(units)
    assert set(accepted) == set(units)


@pytest.mark.parametrize(
    "wrong",
    [
        compute("mul_init(a_dfb, b_dfb)", "mul_init(a_dfb)"),
        compute("get_compile_time_arg_val(3)", "get_compile_time_arg_val(4)"),
        compute('#include "api/compute/eltwise_unary/exp.h"\n', ""),
        reader("get_compile_time_arg_val(2)", "get_compile_time_arg_val(12)"),
        reader("TensorAccessorArgs<4>", "TensorAccessorArgs<12>"),
        reader("i < 2", "i < get_arg_val<uint32_t>(0)"),
    ],
    ids=["call", "argument", "include", "argument of a reader", "accessor", "signs"],
)
def test_wrong_kernel_is_not(accepted: list[Unit], wrong: Unit) -> None:
    batch.check_all([*OTHERS, wrong])
    assert wrong not in accepted


@pytest.mark.parametrize(
    "source",
    [
        "uint32_t exp_tile;\nvoid kernel_main() {}",
        "#define dst 1\nvoid kernel_main() {}",
        "namespace n { void kernel_main() {} }",
        "void kernel_main() { } }",
        "void kernel_main() { constexpr auto format = get_dataformat(0); }",
        "void kernel_main() { auto all = make_tensor_accessor_args_tuple<2, 0>(); }",
    ],
)
def test_kernel_that_could_be_seen_by_others_is_alone(accepted: list[Unit], source: str) -> None:
    units = [unit(source, "reader", (0, 2, 2048)), unit(f"// 2\n{source}", "reader", (0,))]
    batch.check_all(units)
    assert accepted == []


@pytest.mark.full
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_missing_includes_are_found_as_alone(accepted: list[Unit], path: Path) -> None:
    """One include at a time is left out, beside a kernel that has all of them."""
    text = path.read_text()
    whole = unit(text, "compute", tuple(range(32)), processor=1)
    for header in included(text):
        without = unit(text.replace(f"#include {header}\n", ""), "compute", tuple(range(32)), 1)
        batch.check_all([whole, without])
        assert (without in accepted) == (not cached_verdict(without)), header
