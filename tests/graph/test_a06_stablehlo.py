"""A-6: the text of the custom call, for both conventions; texts of others are read."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.experimental.xla_metadata import set_xla_metadata

import tt_torch
import ttl
from stablehlo_oracle import mlir_text
from torch_models import Stitched, TwoOutputs, add, bf16, gradients
from tt_torch.executable import to_numpy
from ttgraph.flatbuffer import Runtime, compile_module
from ttgraph.stablehlo import read_module
from ttl.dialects import print_module

TENSOR = "tensor<64x32xbf16>"
TEXTS = Path(__file__).parent / "texts"


def tag(operation):
    return operation._tt_lang_operation_entry.version_tag


def calls(text):
    return [line.strip() for line in text.splitlines() if "stablehlo.custom_call" in line]


def attributes(roles, operation_id, operation):
    return (
        "{api_version = 0 : i32, mhlo.frontend_attributes = "
        f'{{arg_roles = "{roles}", kernel_id = "{operation_id}", shard_spec = "", '
        f'version_tag = "{tag(operation)}"}}}}'
    )


def test_a6_operands_are_ins_then_outs():
    text = tt_torch.export(Stitched(), [bf16(seed, 64, 32) for seed in range(3)]).stablehlo
    (call,) = calls(text)
    pattern = r"%\d+ = stablehlo\.custom_call @tt\.tt_lang_op\(%3, %1, %2\) "
    assert re.match(pattern, call)
    assert attributes("in,in,out", "tests.add", add) in call
    assert call.endswith(f": ({TENSOR}, {TENSOR}, {TENSOR}) -> {TENSOR}")
    assert mlir_text(text)


def test_a6_functional_form_has_ins_only():
    inputs = [bf16(seed, 64, 32) for seed in range(3)]
    text = tt_torch.export(Stitched(), inputs, functional=True).stablehlo
    (call,) = calls(text)
    assert "(%3, %1) {" in call and call.endswith(f": ({TENSOR}, {TENSOR}) -> {TENSOR}")
    assert mlir_text(text)


def test_a6_one_result_for_each_out():
    text = tt_torch.export(TwoOutputs(), (bf16(0, 64, 32), bf16(1, 64, 32))).stablehlo
    (call,) = calls(text)
    assert attributes("in,in,in,out,out", "tests.gradients", gradients) in call
    assert call.endswith(f"-> ({TENSOR}, {TENSOR})")
    assert mlir_text(text)


def test_a6_shard_spec_and_escaped_quotes():
    sharded = tt_torch.tt_lang_operation(
        operation_id="tests.sharded", arg_roles=["in", "in", "out"], shard_spec='{"axis": "x"}'
    )(add.__wrapped__)

    class Model(torch.nn.Module):
        def forward(self, x):
            return sharded(x, x, torch.empty_like(x))

    text = tt_torch.export(Model(), (bf16(0, 64, 32),)).stablehlo
    assert r'shard_spec = "{\22axis\22: \22x\22}"' in text
    assert r'shard_spec = "{\22axis\22: \22x\22}"' in mlir_text(text)


# Texts of others ----------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted(TEXTS.glob("*.mlir")), ids=lambda file: file.stem)
def test_a6_text_of_others_round_trips(file):
    """What we print of a text is the same module for MLIR."""
    text = file.read_text()
    printed = print_module(read_module(text))
    assert print_module(read_module(printed)) == printed
    assert mlir_text(printed) == mlir_text(text)


def filled(file):
    """A text with the tags of today's operations."""
    text = (TEXTS / file).read_text()
    return text.replace("<add tag>", tag(add)).replace("<two tag>", tag(gradients))


def clipped_sum(a, b):
    total = a + b + b
    return [(b * b).clip(0, 1) + b * total * total]


EXPECTED = {  # torch rounds to bfloat16 after every operation, as the graph does
    "torch_xla_one.mlir": lambda a, b, c, d: [d + c + b + a],
    "torch_xla_two.mlir": lambda a, b: [a * b * b - a * b * a, a * b * a],
    "jax.mlir": clipped_sum,
}


@pytest.mark.parametrize("file", EXPECTED)
def test_a6_text_of_others_compiles_and_runs(file):
    count = EXPECTED[file].__code__.co_argcount
    tensors = [bf16(seed, 64, 32) for seed in range(count)]
    arrays = [to_numpy(each) for each in tensors]
    outputs = Runtime(compile_module(read_module(filled(file)))).run(arrays)
    expected = [to_numpy(each) for each in EXPECTED[file](*tensors)]
    assert len(outputs) == len(expected)
    for output, wanted in zip(outputs, expected, strict=True):
        assert np.array_equal(output, wanted)


def test_a6_jax_writes_the_text_that_is_kept():
    """With the jax of today: the kept text is not made up."""
    shape = jax.ShapeDtypeStruct((64, 32), jnp.bfloat16)

    def call(results, operation_id, roles, version, *operands):
        named = {"kernel_id": operation_id, "arg_roles": roles, "version_tag": version}
        with set_xla_metadata(**named, shard_spec=""):
            return jax.ffi.ffi_call(
                "tt.tt_lang_op", results, custom_call_api_version=1, legacy_backend_config=""
            )(*operands)

    def model(a, b):
        total = call(shape, "tests.add", "in,in,out", "<add tag>", a + b, b)
        roles = "in,in,in,out,out"
        x, y = call((shape, shape), "tests.gradients", roles, "<two tag>", total, b, b)
        return jnp.clip(x, 0, 1) + y * total

    assert jax.jit(model).lower(shape, shape).as_text() == (TEXTS / "jax.mlir").read_text()


def test_a6_what_is_not_in_the_subset_is_said_with_its_line():
    text = f"""module {{
  func.func @main(%a: {TENSOR}) -> {TENSOR} {{
    %0 = stablehlo.fft %a : {TENSOR}
    return %0 : {TENSOR}
  }}
}}"""
    with pytest.raises(ttl.UsageError, match=r"stablehlo\.fft") as raised:
        read_module(text, "model.mlir")
    span = raised.value.diagnostics[0].primary.span
    assert (span.file, span.line) == ("model.mlir", 3)
