"""The rules of DST allocation, each on the smallest section that needs it."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from ttl.dialects import make_context, ttl
from ttl.passes import find_pass
from ttl.passes.compute.dst_allocation import Allocation, allocate
from ttl.passes.compute.ttl_subblock_compute_for_dst import best_rectangle, even_part

HEAD = """
!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>
!dst = !ttl.dst<!block>
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttkernel.thread = #ttkernel.thread<compute>, fp32_dest_acc_en = FP32, dst_full_sync_en = false} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    "ttl.compute"() ({
"""  # noqa: E501
TAIL = """
    }) : () -> ()
    func.return
  }
}
"""
# Short lines of the tests to IR.
COPY = '%{} = "ttl.tile_copy"(%a) : (!block) -> !dst'
MUL_BUFFERS = '%{} = "ttl.tile_mul"(%a, %a) : (!block, !block) -> !dst'
FILL = '%{} = "ttl.tile_fill"() <{{value = 0.0 : f32}}> : () -> !dst'
EXP = '%{} = "ttl.tile_exp"(%{}) : (!dst) -> !dst'
ADD = '%{} = "ttl.tile_add"(%{}, %{}) : (!dst, !dst) -> !dst'
MATMUL = '%{} = "ttl.tile_matmul"(%a, %a, %{}) : (!block, !block, !dst) -> !dst'
STORE = '"ttl.tile_store"(%{}, %a) : (!dst, !block) -> ()'
LOOP = "%{} = scf.for %i = %zero to %two step %two iter_args(%{} = %{}) -> (!dst) {{"
YIELD = "scf.yield %{} : !dst }}"


def parse(*lines: str, fp32: bool = False) -> ModuleOp:
    head = HEAD.replace("FP32", str(fp32).lower())
    return Parser(make_context(), head + "\n".join(lines) + TAIL).parse_module()


def allocated(*lines: str) -> tuple[Allocation, dict[str, int]]:
    (section,) = [op for op in parse(*lines).walk() if isinstance(op, ttl.ComputeOp)]
    allocation = allocate(section, "0.81")
    return allocation, {str(v.name_hint): slot for v, slot in allocation.slot.items()}


def test_a_value_takes_one_slot() -> None:
    allocation, slot = allocated(
        COPY.format("x"), COPY.format("z"), ADD.format("s", "x", "z"), STORE.format("s")
    )
    assert (slot["x"], slot["z"], allocation.size) == (0, 1, 2)


def test_in_place_on_the_slot_operand_that_dies() -> None:
    _, slot = allocated(
        COPY.format("x"),
        COPY.format("z"),
        STORE.format("x"),
        ADD.format("s", "x", "z"),
        STORE.format("s"),
    )
    assert slot["s"] == slot["z"] == 1  # x stays: it is stored


def test_the_same_operand_twice() -> None:
    allocation, slot = allocated(COPY.format("x"), ADD.format("s", "x", "x"), STORE.format("s"))
    assert (slot["s"], allocation.size) == (0, 1)


def test_registers_of_a_dead_operand_are_used_again() -> None:
    allocation, slot = allocated(
        COPY.format("x"),
        COPY.format("z"),
        ADD.format("s", "x", "z"),
        COPY.format("again"),
        ADD.format("end", "s", "again"),
        STORE.format("end"),
    )
    assert (slot["again"], allocation.size) == (1, 2)


def test_a_value_nobody_uses_is_freed() -> None:
    allocation, slot = allocated(COPY.format("dead"), COPY.format("x"), STORE.format("x"))
    assert (slot["dead"], slot["x"], allocation.size) == (0, 0, 1)


def test_zero_rule_multiplication_from_buffers_takes_untouched_registers() -> None:
    """The slot two are free again, but hold what exp and add left there."""
    allocation, slot = allocated(
        COPY.format("x"),
        COPY.format("z"),
        ADD.format("s", "x", "z"),
        MUL_BUFFERS.format("p"),
        ADD.format("end", "s", "p"),
        STORE.format("end"),
    )
    assert (slot["z"], slot["p"], allocation.size) == (1, 2, 3)


def test_a_product_accumulates_where_its_start_is() -> None:
    allocation, slot = allocated(FILL.format("f"), MATMUL.format("p", "f"), STORE.format("p"))
    assert (slot["f"], slot["p"], allocation.size) == (0, 0, 1)


def test_carried_value_its_start_and_its_result_share_registers() -> None:
    allocation, slot = allocated(
        COPY.format("other"),
        FILL.format("start"),
        LOOP.format("end", "carried", "start"),
        ADD.format("next", "other", "carried"),
        YIELD.format("next").replace("}}", "}"),
        STORE.format("end"),
    )
    assert {slot[name] for name in ("start", "carried", "next", "end")} == {1}
    assert allocation.size == 2


def copies_in(*lines: str) -> tuple[Allocation, list[tuple[int, int]]]:
    """The slots from which and to which values are copied."""
    (section,) = [op for op in parse(*lines).walk() if isinstance(op, ttl.ComputeOp)]
    allocation = allocate(section, "0.81")
    copies = [op for op in section.walk() if isinstance(op, ttl.TileDuplicateOp)]
    return allocation, [(allocation.slot[c.source], allocation.slot[c.result]) for c in copies]


TWICE = (COPY.format("x"), EXP.format("e", "x"), ADD.format("s", "e", "x"), STORE.format("s"))


def test_a_unary_operation_gets_a_copy_of_an_operand_that_is_needed_again() -> None:
    assert copies_in(*TWICE)[1] == [(0, 1)]


def test_a_product_gets_a_copy_of_a_start_that_is_needed_again() -> None:
    copies = copies_in(
        FILL.format("f"), MATMUL.format("p", "f"), ADD.format("s", "p", "f"), STORE.format("s")
    )[1]
    assert copies == [(0, 1)]


def test_the_last_operation_in_place_needs_no_copy() -> None:
    copies = copies_in(
        COPY.format("x"),
        EXP.format("e", "x"),
        EXP.format("f", "x"),
        ADD.format("s", "e", "f"),
        STORE.format("s"),
    )[1]
    assert len(copies) == 1


def test_a_loop_gets_a_copy_of_a_start_that_is_needed_again() -> None:
    _, copies = copies_in(
        FILL.format("start"),
        LOOP.format("end", "carried", "start"),
        EXP.format("next", "carried"),
        YIELD.format("next").replace("}}", "}"),
        ADD.format("s", "start", "end"),
        STORE.format("s"),
    )
    assert copies == [(0, 1)]


def test_what_a_loop_yields_from_elsewhere_is_copied_to_its_place() -> None:
    allocation, copies = copies_in(
        FILL.format("start"),
        LOOP.format("end", "carried", "start"),
        COPY.format("other"),
        EXP.format("next", "other"),
        ADD.format("sum", "next", "carried"),
        EXP.format("unused", "sum"),
        COPY.format("fresh"),
        YIELD.format("fresh").replace("}}", "}"),
        STORE.format("end"),
    )
    assert copies[-1][1] == 0
    assert not allocation.is_tangled


@pytest.mark.parametrize(("size", "most", "part"), [(25, 8, 7), (12, 8, 6), (5, 8, 5), (9, 8, 5)])
def test_parts_are_few_and_even(size: int, most: int, part: int) -> None:
    assert even_part(size, most) == part


@pytest.mark.parametrize(
    ("rows", "columns", "most", "part"),
    [(5, 5, 4, (2, 2)), (2, 2, 4, (2, 2)), (1, 5, 4, (1, 3)), (3, 7, 4, (1, 4)), (4, 4, 8, (2, 4))],
)
def test_rectangles_make_few_sections(
    rows: int, columns: int, most: int, part: tuple[int, int]
) -> None:
    assert best_rectangle(rows, columns, most) == part


@pytest.mark.parametrize(("fp32", "capacity"), [(False, 8), (True, 4)])
def test_the_capacity_depends_on_the_width(fp32: bool, capacity: int) -> None:
    lines = [COPY.format("x"), COPY.format("z"), ADD.format("s", "x", "z"), STORE.format("s")]
    module = parse(*lines, fp32=fp32)
    for name in ("ttl-assign-dst", "ttl-subblock-compute-for-dst"):
        find_pass(name)().apply(make_context(), module)
    (section,) = [op for op in module.walk() if isinstance(op, ttl.ComputeOp)]
    (size,) = (part.value.data for part in section.attributes["subblock"])
    assert size == min(capacity // 2, 2)
