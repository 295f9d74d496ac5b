"""The rules of DST allocation, each on the smallest section that needs it."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from ttl.diagnostics import CompileError
from ttl.dialects import make_context, ttl
from ttl.passes import find_pass
from ttl.passes.dst_allocation import Allocation, allocate

HEAD = """
!tile = !ttcore.tile<32 : i64, 32 : i64, bf16>
!dfb = !ttl.dfb<[1 : i64, 2 : i64], !tile, 2 : i64>
!block = tensor<1x2x!tile>
!dst = !ttl.dst<!block>
builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @compute() attributes {ttl.kernel_thread = "compute", fp32_dest_acc_en = FP32, dst_full_sync_en = false} {
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
    return allocation, {str(v.name_hint): first for v, first in allocation.first.items()}


def test_a_value_takes_as_many_registers_as_it_has_tiles() -> None:
    allocation, first = allocated(COPY.format("x"), COPY.format("z"), ADD.format("s", "x", "z"),
                                  STORE.format("s"))  # fmt: skip
    assert (first["x"], first["z"], allocation.size) == (0, 2, 4)


def test_in_place_on_the_first_operand_that_dies() -> None:
    _, first = allocated(
        COPY.format("x"), COPY.format("z"), STORE.format("x"),
        ADD.format("s", "x", "z"), STORE.format("s"),
    )  # fmt: skip
    assert first["s"] == first["z"] == 2  # x stays: it is stored


def test_the_same_operand_twice() -> None:
    allocation, first = allocated(COPY.format("x"), ADD.format("s", "x", "x"), STORE.format("s"))
    assert (first["s"], allocation.size) == (0, 2)


def test_registers_of_a_dead_operand_are_used_again() -> None:
    allocation, first = allocated(
        COPY.format("x"), COPY.format("z"), ADD.format("s", "x", "z"), COPY.format("again"),
        ADD.format("end", "s", "again"), STORE.format("end"),
    )  # fmt: skip
    assert (first["again"], allocation.size) == (2, 4)


def test_a_value_nobody_uses_is_freed() -> None:
    allocation, first = allocated(COPY.format("dead"), COPY.format("x"), STORE.format("x"))
    assert (first["dead"], first["x"], allocation.size) == (0, 0, 2)


def test_zero_rule_multiplication_from_buffers_takes_untouched_registers() -> None:
    """The first two are free again, but hold what exp and add left there."""
    allocation, first = allocated(
        COPY.format("x"), COPY.format("z"), ADD.format("s", "x", "z"), MUL_BUFFERS.format("p"),
        ADD.format("end", "s", "p"), STORE.format("end"),
    )  # fmt: skip
    assert (first["z"], first["p"], allocation.size) == (2, 4, 6)


def test_a_product_accumulates_where_its_start_is() -> None:
    allocation, first = allocated(FILL.format("f"), MATMUL.format("p", "f"), STORE.format("p"))
    assert (first["f"], first["p"], allocation.size) == (0, 0, 2)


def test_carried_value_its_start_and_its_result_share_registers() -> None:
    allocation, first = allocated(
        COPY.format("other"), FILL.format("start"), LOOP.format("end", "carried", "start"),
        ADD.format("next", "other", "carried"), YIELD.format("next").replace("}}", "}"),
        STORE.format("end"),
    )  # fmt: skip
    assert {first[name] for name in ("start", "carried", "next", "end")} == {2}
    assert allocation.size == 4


NEEDS_COPY = "a computed value that is needed again after an operation changed it in place"
TWICE = (COPY.format("x"), EXP.format("e", "x"), ADD.format("s", "e", "x"), STORE.format("s"))


def test_a_unary_operation_cannot_keep_its_operand() -> None:
    with pytest.raises(CompileError, match=NEEDS_COPY):
        allocated(*TWICE)


def test_a_product_cannot_keep_its_start() -> None:
    with pytest.raises(CompileError, match=NEEDS_COPY):
        allocated(FILL.format("f"), MATMUL.format("p", "f"), ADD.format("s", "p", "f"),
                  STORE.format("s"))  # fmt: skip


def test_a_loop_cannot_keep_the_start_of_what_it_carries() -> None:
    with pytest.raises(CompileError, match=NEEDS_COPY):
        allocated(
            FILL.format("start"), LOOP.format("end", "carried", "start"),
            EXP.format("next", "carried"), YIELD.format("next").replace("}}", "}"),
            ADD.format("s", "start", "end"), STORE.format("s"),
        )  # fmt: skip


@pytest.mark.parametrize(("fp32", "capacity"), [(False, 8), (True, 4)])
def test_overflow_names_both_numbers(fp32: bool, capacity: int) -> None:
    names = [f"x{number}" for number in range(capacity // 2 + 1)]
    lines = [line for name in names for line in (COPY.format(name), STORE.format(name))]
    assign = find_pass("ttl-assign-dst")()
    assign.apply(make_context(), parse(*lines[:-2], fp32=fp32))
    needed = f"needs {capacity + 2} of the {capacity}"
    with pytest.raises(CompileError, match=needed) as caught:
        assign.apply(make_context(), parse(*lines, fp32=fp32))
    assert caught.value.diagnostics[0].helps == ("use smaller blocks",)
