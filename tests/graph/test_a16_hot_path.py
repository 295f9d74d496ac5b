"""A-16, from torch: what runs is the flatbuffer, not the program and not torch."""

from __future__ import annotations

import json

import pytest
import torch

import ttl
from torch_models import Stitched, add, bf16
from tt_torch import executable, registry


@pytest.fixture
def compiled():
    """A model that has run once, and its inputs."""
    torch._dynamo.reset()
    run = torch.compile(Stitched(), backend="tt", fullgraph=True)
    inputs = [bf16(seed, 64, 32).to("tt") for seed in range(3)]
    run(*inputs)
    return run, inputs


def expected(inputs):
    x, y = (each.cpu().float() for each in inputs[:2])
    return ((x + y).bfloat16().float() + y).bfloat16() * 2


def refuse(*args, **kwargs):
    raise AssertionError("this is on the hot path")


def test_a16_neither_torch_nor_the_operation_is_called(compiled, monkeypatch):
    run, inputs = compiled
    wanted = expected(inputs)
    for name in ("add", "mul", "matmul", "mm"):
        monkeypatch.setattr(torch, name, refuse)
        monkeypatch.setattr(torch.Tensor, name, refuse)
    for name in ("__add__", "__mul__", "__matmul__"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    for name in ("add", "mul"):  # what the dispatcher has for device tt and for the CPU
        for key in ("CPU", "PrivateUse1"):
            library = torch.library.Library("aten", "IMPL")
            library.impl(f"{name}.Tensor", refuse, key, allow_override=True)
            monkeypatch.setattr(executable, f"_kept_{name}_{key}", library, raising=False)
    entry = add._tt_lang_operation_entry
    monkeypatch.setitem(
        registry._ENTRIES,
        "tests.add",
        registry.OperationEntry("tests.add", refuse, entry.version_tag, entry.arg_roles),
    )
    result = run(*inputs).cpu()
    monkeypatch.undo()
    assert torch.equal(result, wanted)


def test_a16_the_same_graph_is_compiled_once(compiled, monkeypatch):
    monkeypatch.setattr(executable, "compile_module", refuse)
    again = torch.compile(Stitched(), backend="tt", dynamic=False)
    torch._dynamo.reset()
    assert torch.equal(again(*compiled[1]).cpu(), expected(compiled[1]))


def test_a16_another_implementation_under_the_same_tag_is_not_mistaken(compiled, monkeypatch):
    entry = add._tt_lang_operation_entry

    def other(a, b, y):
        raise ZeroDivisionError("asked for")

    replaced = registry.OperationEntry("tests.add", other, entry.version_tag, entry.arg_roles)
    monkeypatch.setitem(registry._ENTRIES, "tests.add", replaced)
    torch._dynamo.reset()
    with pytest.raises(Exception, match="asked for"):
        torch.compile(Stitched(), backend="tt")(*compiled[1])


def test_a16_the_trace_holds_the_buffers_of_the_kernels(compiled, monkeypatch, tmp_path):
    run, inputs = compiled
    monkeypatch.setenv("TTL_TRACE", str(tmp_path / "trace.jsonl"))
    run(*inputs)
    events = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    pushed = [event["subject"] for event in events if event["kind"] == "buffer_push"]
    assert sorted(pushed) == ["a_dfb", "a_dfb", "b_dfb", "b_dfb", "y_dfb", "y_dfb"]
    run(*inputs)
    again = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert [event["tick"] for event in again] == list(range(2 * len(events)))
    monkeypatch.setenv("TTL_TRACE", str(tmp_path / "nowhere" / "trace.jsonl"))
    with pytest.raises(ttl.UsageError, match="nowhere"):
        run(*inputs)
