"""Graphs that are divided among devices are refused by the name of what divides them."""

from __future__ import annotations

import pytest

from ttgraph.flatbuffer import compile_module
from ttgraph.stablehlo import read_module
from ttl.diagnostics import CompileError, Diagnostic, UsageError

TYPE = "tensor<64x64xf32>"
DIVIDED = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}'
WHOLE = "{sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}"


def module(
    attributes: str = "", mesh: str = "", argument: str = "", body: str = "", result: str = "%a"
) -> str:
    return f"""module @m attributes {{{attributes}}} {{
  {mesh}
  func.func public @main(%a: {TYPE} {argument}) -> {TYPE} {{
    {body}
    %0 = stablehlo.add {result}, {result} : {TYPE}
    return %0 : {TYPE}
  }}
}}
"""


MESH = 'sdy.mesh @mesh = <["x"=2, "y"=4]>'
ONE = 'sdy.mesh @mesh = <["x"=1, "y"=1]>'
CONSTRAINT = f'%1 = sdy.sharding_constraint %a <@mesh, [{{"x"}}, {{}}]> : {TYPE}'
CALL = '%1 = stablehlo.custom_call @Sharding(%a) {{mhlo.sharding = "{}"}} : ({}) -> {}'
REFUSED = {
    "a mesh": (module(mesh=MESH), "sdy.mesh @mesh", 2),
    "an argument of a mesh in place": (
        module(argument='{sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}, {}]>}'),
        "sdy.sharding<mesh",
        3,
    ),
    "an argument of mhlo": (
        module(argument='{mhlo.sharding = "{devices=[2,1]<=[2]}"}'),
        "mhlo.sharding",
        3,
    ),
    "a call of mhlo": (
        module(body=CALL.format("{devices=[2,1]<=[2]}", TYPE, TYPE)),
        "mhlo.sharding",
        4,
    ),
    "partitions": (module("mhlo.num_partitions = 2 : i32"), "mhlo.num_partitions = 2", 1),
    "replicas": (module("mhlo.num_replicas = 2 : i32"), "mhlo.num_replicas = 2", 1),
}
LOWERED = {
    "nothing": module("mhlo.num_partitions = 1 : i32"),
    "a mesh of one device": module(mesh=ONE, argument=DIVIDED, body=CONSTRAINT, result="%1"),
    "a mesh without axes": module(mesh="sdy.mesh @mesh = <[]>", argument=WHOLE),
    "one that is whole everywhere": module(argument='{mhlo.sharding = "{replicated}"}'),
}


def refused(text: str) -> Diagnostic:
    with pytest.raises((CompileError, UsageError)) as caught:
        compile_module(read_module(text, "<graph>"))
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_name_and_line(name: str) -> None:
    text, annotation, line = REFUSED[name]
    found = refused(text)
    assert found.code.code == "TTL7020"
    assert f"`{annotation}" in found.message
    assert found.primary is not None and found.primary.span.line == line
    assert "one device" in found.helps[0]


def test_what_is_not_read_at_all_is_named_too() -> None:
    body = f"%1 = sdy.manual_computation(%a) in_shardings=[] out_shardings=[] () : () -> {TYPE}"
    found = refused(module(mesh=MESH, body=body))
    assert "sdy.manual_computation" in found.message
    assert found.primary is not None and found.primary.span.line == 4


@pytest.mark.parametrize("name", LOWERED)
def test_one_device_has_all_of_it(name: str) -> None:
    assert compile_module(read_module(LOWERED[name], "<graph>"))
