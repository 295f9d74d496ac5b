"""Models of others as they come: right numbers, decoding as on the CPU. Needs extra `models`."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

import tt_torch


def of_this_project(name):
    """The xdsl wheel owns the name `benchmarks`, too."""
    before = {each: sys.modules.pop(each) for each in list(sys.modules) if each == "benchmarks"}
    sys.path.insert(0, str(Path(__file__).parents[2]))
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[0]
        sys.modules.update(before)


ROWS = of_this_project("benchmarks.model_zoo").ROWS
models = of_this_project("benchmarks.models")

IS_THERE = find_spec("timm") is not None  # an extra of its own: pyproject.toml tells why
NAMES = [each for each in models.NAMES if IS_THERE or not each.startswith(("tv-", "timm-"))]
SAMPLE = ("llama", "bert", "t5", "vit", "unet", "flax-transformer")
IDS = torch.tensor([[5, 7, 9, 11]])
MODES = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "top_k": 10, "top_p": 0.9, "temperature": 0.8},
    "beams": {"do_sample": False, "num_beams": 3},
    "static": {"do_sample": False, "cache_implementation": "static"},
}


def check(name):
    found = models.judge(name)
    assert found.state in ("right", "slower"), found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_models_is_right(name):
    check(name)


def test_a_row_of_the_table(capsys):
    assert models.main(["resnet18"]) == 0
    *_, row, total = capsys.readouterr().out.splitlines()
    assert row.startswith("resnet18") and total in ("1 right", "1 slower")
    with pytest.raises(SystemExit):
        models.main(["resnet181"])


@pytest.mark.full
def test_the_table_of_times(capsys):
    models.model_times.table(0.1)
    lines = capsys.readouterr().out.splitlines()[2:]
    titles = [row.title for row in models.model_times.ROWS.values()]
    assert [line[:32].rstrip() for line in lines[:4]] == titles
    assert [line.split()[2] for line in lines[5:]] == ["dynamo", "torch's", "ours"]


@pytest.mark.full
@pytest.mark.parametrize("name", [each for each in NAMES if each not in SAMPLE])
def test_every_model_is_right(name):
    check(name)


def language_model(name):
    torch.manual_seed(0)
    model, _ = ROWS[name]()
    return model.eval()


def generated(model, ids, mode):
    torch.manual_seed(1)
    mask = torch.ones_like(ids)
    options = {**MODES[mode], "max_new_tokens": 4, "pad_token_id": 0}
    return model.generate(ids, attention_mask=mask, **options).cpu()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generate_on_the_device_equals_the_cpu(name, mode):
    expected = generated(language_model(name), IDS, mode)
    assert torch.equal(generated(language_model(name).to("tt"), IDS.to("tt"), mode), expected)


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generate_compiled_equals_the_cpu(name, mode):
    torch._dynamo.reset()
    model = language_model(name)
    expected = generated(model, IDS, mode)
    model.forward = torch.compile(model.forward, backend="tt")
    assert torch.equal(generated(model, IDS, mode), expected)


def test_a_model_of_transformers_is_exported_with_the_names_of_its_parameters(tmp_path):
    model = language_model("llama")
    exported = tt_torch.export(model, (), {"input_ids": IDS, "use_cache": False})
    assert exported.input_names[0] == "model.embed_tokens.weight"
    assert exported.input_names[-1] == "input_ids"


@pytest.mark.full
def test_decoding_with_a_cache_that_grows_compiles_a_few_graphs(monkeypatch):
    from tt_torch import capture, lengths
    from tt_torch.executable import Executable

    made = []

    def make(graph):
        made.append(Executable(graph))
        return made[-1]

    monkeypatch.setattr(capture, "Executable", make)
    monkeypatch.setattr(lengths, "Executable", make)
    torch._dynamo.reset()
    model = language_model("gpt2")
    options = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": 0}
    options["attention_mask"] = torch.ones_like(IDS)
    expected = model.generate(IDS, **options)
    model.forward = torch.compile(model.forward, backend="tt")
    assert torch.equal(model.generate(IDS, **options), expected)
    assert len(made) <= 5
