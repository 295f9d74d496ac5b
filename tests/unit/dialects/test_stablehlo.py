"""The stablehlo dialect against MLIR itself: the same texts, and the same refusals."""

from __future__ import annotations

import pytest

import ttl
from stablehlo_oracle import mlir_text
from ttgraph.dialects.stablehlo import BINARY, UNARY
from ttgraph.stablehlo import read_module
from ttl.dialects import print_module

A, B, P = "tensor<4x6xf32>", "tensor<6x4xf32>", "tensor<4x6xi1>"
I = "tensor<4x6xi32>"  # noqa: E741
PAIR = f"tuple<{A}, {A}>"
DTYPES = ("bf16", "f16", "f32", "f64", "i1", "i8", "i16", "i32", "i64", "ui8", "ui32")

OPERATIONS = [
    *(f"stablehlo.{name} %p : {P}" for name in UNARY if name == "not"),
    *(f"stablehlo.{name} %a : {A}" for name in UNARY if name != "not"),
    *(f"stablehlo.{name} %p, %p : {P}" for name in BINARY if name in ("and", "or", "xor")),
    *(f"stablehlo.{name} %i, %i : {I}" for name in BINARY if name.startswith("shift")),
    *(
        f"stablehlo.{name} %a, %a : {A}"
        for name in BINARY
        if name not in ("and", "or", "xor") and not name.startswith("shift")
    ),
    f"chlo.erf %a : {A} -> {A}",
    f"chlo.erfc %a : {A} -> {A}",
    f"stablehlo.convert %a : ({A}) -> tensor<4x6xbf16>",
    f"stablehlo.convert %a : {A}",
    f"stablehlo.clamp %s, %a, %s : (tensor<f32>, {A}, tensor<f32>) -> {A}",
    f"stablehlo.clamp %a, %a, %a : {A}",
    *(f"stablehlo.compare {word}, %a, %a, FLOAT : ({A}, {A}) -> {P}" for word in ("LT", "EQ")),
    f"stablehlo.compare NE, %a, %a : ({A}, {A}) -> {P}",
    f"stablehlo.select %p, %a, %a : {P}, {A}",
    f"stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {A}",
    f"stablehlo.broadcast_in_dim %a, dims = [1, 2] : ({A}) -> tensor<3x4x6xf32>",
    f"stablehlo.transpose %a, dims = [1, 0] : ({A}) -> {B}",
    f"stablehlo.reshape %a : ({A}) -> tensor<2x12xf32>",
    f"stablehlo.concatenate %a, %a, dim = 1 : ({A}, {A}) -> tensor<4x12xf32>",
    f"stablehlo.slice %a [1:4, 0:6:2] : ({A}) -> tensor<3x3xf32>",
    "stablehlo.iota dim = 1 : tensor<4x6xi32>",
    f"stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({A}, {B}) -> tensor<4x4xf32>",
    "stablehlo.dot_general %c, %c, batching_dims = [0] x [0], contracting_dims = [2] x [2], "
    "precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>",
    f"stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [0, 1] : "
    f"({A}, tensor<f32>) -> tensor<f32>",
    f"stablehlo.reduce(%a init: %s) applies stablehlo.maximum across dimensions = [0] : "
    f"({A}, tensor<f32>) -> tensor<6xf32>",
    'stablehlo.custom_call @"a.b"(%a) {api_version = 2 : i32, has_side_effect = true} : '
    f"({A}) -> {A}",
    "stablehlo.custom_call @nothing() : () -> tensor<f32>",
    f"stablehlo.tuple %a, %a : {PAIR}",
    f"stablehlo.get_tuple_element %t[1] : ({PAIR}) -> {A}",
    *(f"stablehlo.constant dense<1> : tensor<2x{each}>" for each in DTYPES if each[0] in "u"),
    *(f"stablehlo.constant dense<-1> : tensor<{each}>" for each in ("i8", "i16", "i32", "i64")),
    "stablehlo.constant dense<[true, false]> : tensor<2xi1>",
    "stablehlo.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi64>",
    "stablehlo.constant dense<[1.5, 0x7F800000, 0xFF800000, 0x7FC00000, -0.0]> : tensor<5xf32>",
    "stablehlo.constant dense<[0x7F80, 0xFF80, 0.33, -2.0]> : tensor<4xbf16>",
    "stablehlo.constant dense<[0x7C00, 1.0e-4]> : tensor<2xf16>",
    "stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>",
    "stablehlo.constant dense<> : tensor<0xf32>",
    'stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>',
]


def module(operation: str) -> str:
    return f"""module {{
  func.func @main(%a: {A}, %b: {B}, %p: {P}, %s: tensor<f32>, %c: tensor<2x3x4xf32>, %t: {PAIR},
                  %i: {I}) {{
    %0 = {operation}
    return
  }}
}}"""


@pytest.mark.parametrize("operation", OPERATIONS)
def test_text_is_that_of_mlir(operation: str) -> None:
    text = module(operation)
    printed = print_module(read_module(text))
    assert print_module(read_module(printed)) == printed
    assert mlir_text(printed) == mlir_text(text)


REFUSED = [
    f"stablehlo.add %a, %b : ({A}, {B}) -> {A}",
    f"stablehlo.exponential %a : ({A}) -> {B}",
    f"stablehlo.convert %a : ({A}) -> {B}",
    f"stablehlo.compare XX, %a, %a, FLOAT : ({A}, {A}) -> {P}",
    f"stablehlo.compare LT, %a, %a, FLOATING : ({A}, {A}) -> {P}",
    f"stablehlo.compare LT, %a, %a, FLOAT : ({A}, {A}) -> {A}",
    f"stablehlo.select %a, %a, %a : {A}, {A}",
    f"stablehlo.broadcast_in_dim %a, dims = [0] : ({A}) -> tensor<4x6xf32>",
    f"stablehlo.broadcast_in_dim %a, dims = [0, 3] : ({A}) -> tensor<4x6xf32>",
    f"stablehlo.broadcast_in_dim %a, dims = [1, 0] : ({A}) -> tensor<4x6xf32>",
    f"stablehlo.transpose %a, dims = [0, 0] : ({A}) -> {A}",
    f"stablehlo.transpose %a, dims = [1, 0] : ({A}) -> {A}",
    f"stablehlo.reshape %a : ({A}) -> tensor<5xf32>",
    f"stablehlo.concatenate %a, %a, dim = 2 : ({A}, {A}) -> tensor<4x12xf32>",
    f"stablehlo.concatenate %a, %a, dim = 1 : ({A}, {A}) -> tensor<4x11xf32>",
    f"stablehlo.slice %a [0:4] : ({A}) -> tensor<4x6xf32>",
    f"stablehlo.slice %a [0:5, 0:6] : ({A}) -> tensor<5x6xf32>",
    f"stablehlo.slice %a [0:4, 0:6:2] : ({A}) -> tensor<4x6xf32>",
    "stablehlo.iota dim = 2 : tensor<4x6xi32>",
    f"stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : ({A}, {A}) -> tensor<4x6xf32>",
    f"stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({A}, {B}) -> tensor<4x6xf32>",
    f"stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : ({A}, {B}) -> tensor<4x6xf32>",
    f"stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [2] : "
    f"({A}, tensor<f32>) -> tensor<4xf32>",
    f"stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [0] : "
    f"({A}, tensor<f32>) -> tensor<4xf32>",
    f"stablehlo.get_tuple_element %t[2] : ({PAIR}) -> {A}",
    f"stablehlo.get_tuple_element %t[0] : ({PAIR}) -> {B}",
    f"stablehlo.tuple %a, %b : {PAIR}",
    "stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>",
    "stablehlo.constant dense<[[1.0], [2.0, 3.0]]> : tensor<2x2xf32>",
    'stablehlo.constant dense<"0x0000803F00"> : tensor<2xf32>',
    'stablehlo.constant dense<"0xZZ"> : tensor<2xf32>',
    "stablehlo.constant dense<0x1FF80> : tensor<bf16>",
    f"stablehlo.add %a, %a, %a : ({A}, {A}) -> {A}",
]


@pytest.mark.parametrize("operation", REFUSED)
def test_what_mlir_refuses_is_refused(operation: str) -> None:
    text = module(operation)
    with pytest.raises(ttl.UsageError):
        read_module(text)
    with pytest.raises(Exception, match=r"(?s)."):
        mlir_text(text)
