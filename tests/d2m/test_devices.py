"""The device that modules and programs are for: system descriptors, cores and L1."""

import json
import re
import struct

import flatbuffers
import numpy as np
import pytest

from kernels_d2m import elementwise
from ttgraph.dialects import make_context
from ttl.cli import main
from ttl.diagnostics import UsageError
from ttl.dialects.reading import parse_module
from ttl.passes.registered_device import target_of
from ttl.target import load
from ttl.target.system_desc import (
    NotASystemDesc,
    chip_of,
    read_system_desc,
    target_from_text,
    text_of,
)

GRAPH = """
func.func @main(%a: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %0 = "ttir.exp"(%a) : (tensor<128x128xf32>) -> tensor<128x128xf32>
  func.return %0 : tensor<128x128xf32>
}
"""
NAMES = {"grid": "grid_size", "dram_grid": "dram_grid_size"}


def chip(rows=2, columns=3, base=32768):
    found = chip_of(load("wormhole_b0"))
    return found | {"grid": (rows, columns), "l1_unreserved_base": base}


def pair(value):
    return {"y": value[0], "x": value[1]}


def as_json(given):
    def value(item):
        if isinstance(item, tuple):
            return pair(item)
        if isinstance(item, list):
            return [pair(each) if isinstance(each, tuple) else each for each in item]
        return item

    fields = {NAMES.get(name, name): value(item) for name, item in given.items()}
    return json.dumps({"system_desc": {"chip_descs": [fields]}}).encode()


def as_ttsys(given):
    """By hand, so that it says something about the reader: a vector of one chip in two tables."""
    builder = flatbuffers.Builder(256)
    builder.StartObject(22)
    builder.PrependUint64Slot(3, given["l1_size"], 0)
    for slot, name in ((4, "num_dram_channels"), (9, "l1_unreserved_base"), (16, "num_cbs")):
        builder.PrependUint32Slot(slot, given[name], 0)
    builder.Prep(4, 8)
    builder.PrependInt32(given["grid"][1])
    builder.PrependInt32(given["grid"][0])
    builder.PrependStructSlot(1, builder.Offset(), 0)
    described = builder.EndObject()
    builder.StartVector(4, 1, 4)
    builder.PrependUOffsetTRelative(described)
    chips = builder.EndVector()
    builder.StartObject(6)
    builder.PrependUOffsetTRelativeSlot(1, chips, 0)
    system = builder.EndObject()
    builder.StartObject(5)
    builder.PrependUOffsetTRelativeSlot(4, system, 0)
    builder.Finish(builder.EndObject(), file_identifier=b"TTSY")
    return bytes(builder.Output())


@pytest.mark.parametrize("written", [as_json, as_ttsys])
def test_a_file_is_read(written):
    found = read_system_desc(written(chip(base=1000000)))
    assert (found["arch"], found["grid"]) == ("wormhole_b0", (2, 3))
    target = target_from_text(text_of(found))
    assert (target.grid, target.default_grid) == ((3, 2), (3, 2))  # columns first
    assert target.dataflow_buffer_budget_bytes == 1499136 - 1000000
    assert target.dram_banks == 12 and target.dataflow_buffers == 32


def test_the_text_states_all_of_a_chip():
    whole = load("blackhole")
    found = target_from_text(text_of(chip_of(whole)))
    assert found.default_grid == whole.default_grid
    assert found.dataflow_buffer_budget_bytes == whole.dataflow_buffer_budget_bytes


WRONG = {
    b"no descriptor at all": "neither",
    b"{}": "JSON without",
    as_json(chip(rows=0)): "none that is known",
    as_json(chip(base=1 << 30)): "none that is known",
    as_ttsys(chip())[:40]: "ends after 40 bytes",
    struct.pack("<I", 8) + b"TTSY" + bytes(8): "describes no chip",
}


@pytest.mark.parametrize("data", WRONG)
def test_what_is_no_descriptor(data):
    with pytest.raises(NotASystemDesc, match=WRONG[data]):
        read_system_desc(data)


def test_every_cut_of_a_file_is_refused():
    data = as_ttsys(chip())
    for length in range(8, len(data)):
        with pytest.raises(NotASystemDesc):
            read_system_desc(data[:length])


MODULES = {
    "builtin.module attributes {ttcore.system_desc = #ttcore.system_desc<[], [{arch = <blackhole>, "
    "grid = 4x5, l1_size = 1000, l1_unreserved_base = 100}], [0]>} {}": ("blackhole", (5, 4), 900),
    "builtin.module {ttcore.device @d = <workerGrid = #ttcore.grid<2x3>, chipIds = [0]>}": (
        "wormhole_b0",
        (3, 2),
        None,
    ),
    "builtin.module attributes "
    "{ttcore.device = #ttcore.device<workerGrid = #ttcore.grid<1x6>>} {}": (
        "wormhole_b0",
        (6, 1),
        None,
    ),
    "builtin.module {}": ("wormhole_b0", None, None),
}


@pytest.mark.parametrize("text", MODULES)
def test_what_a_module_states(text):
    name, grid, budget = MODULES[text]
    target = target_of(parse_module(text, "test.mlir", make_context()))
    plain = load(name)
    assert (target.name, target.default_grid) == (name, grid or plain.default_grid)
    assert target.dataflow_buffer_budget_bytes == (budget or plain.dataflow_buffer_budget_bytes)


# Used ---------------------------------------------------------------------------------------------


def file_of(tmp_path, **fields):
    file = tmp_path / "system_desc.json"
    file.write_bytes(as_json(chip(**fields)))
    return str(file)


def grids(tmp_path, capsys, *options):
    file = tmp_path / "graph.mlir"
    file.write_text(GRAPH)
    assert main(["opt", str(file), *options]) == 0
    return re.findall(r"launch_grid = \[(\d) : i64, (\d) : i64\]", capsys.readouterr().out)


def test_cores_of_the_device_are_used(tmp_path, capsys, monkeypatch):
    passes = ["--ttir-to-d2m", "--d2m-grid-selection"]
    assert grids(tmp_path, capsys, *passes) == [("4", "4")]
    described = file_of(tmp_path)
    option = f"--ttcore-register-device=system-desc-path={described}"
    assert grids(tmp_path, capsys, option, *passes) == [("2", "2")]
    whole = f"--ttir-to-ttmetal-frontend=system-desc-path={described}"
    assert grids(tmp_path, capsys, whole) == [("2", "2")]
    monkeypatch.setenv("SYSTEM_DESC_PATH", described)
    assert grids(tmp_path, capsys, "--ttir-to-ttmetal-frontend") == [("2", "2")]


def test_l1_of_the_device_is_used(tmp_path, capsys, monkeypatch):
    """Of the device that is described, 8 tiles of 4096 bytes are too many for 20000 bytes."""
    file = tmp_path / "graph.mlir"
    file.write_text(GRAPH)
    monkeypatch.setenv("SYSTEM_DESC_PATH", file_of(tmp_path, base=1499136 - 20000))
    assert main(["opt", str(file), "--ttir-to-ttmetal-backend"]) == 1
    assert "of the 20000 bytes of L1 of a core" in capsys.readouterr().err


def test_options_of_a_pipeline_are_those_of_its_passes(tmp_path, capsys):
    file = tmp_path / "graph.mlir"
    file.write_text(GRAPH)
    assert main(["opt", str(file), "--ttir-to-ttmetal-frontend=colour=1"]) == 1
    assert "no pass of it has the option colour" in capsys.readouterr().err


def test_wrong_files_are_named(tmp_path, capsys):
    file = tmp_path / "graph.mlir"
    file.write_text(GRAPH)
    for path, said in ((file, "not a system descriptor"), ("missing/x.ttsys", "No such file")):
        assert main(["opt", str(file), f"--ttcore-register-device=system-desc-path={path}"]) == 1
        assert said in capsys.readouterr().err


def test_a_program_has_the_cores_and_l1_of_the_device(tmp_path, monkeypatch):
    tensors = [np.ones((128, 128), np.float32) for _ in range(3)]
    monkeypatch.setenv("SYSTEM_DESC_PATH", file_of(tmp_path))
    elementwise("+", grid=(2, 2))(*tensors)
    assert (tensors[-1] == 2).all()
    with pytest.raises(UsageError, match="a grid of 4x4 cores; the device has 2x3"):
        elementwise("+", grid=(4, 4))(*tensors)
    monkeypatch.setenv("SYSTEM_DESC_PATH", file_of(tmp_path, base=1499136 - 20000))
    with pytest.raises(UsageError, match="has 20000 for tensors and buffers"):
        elementwise("+", grid=(2, 2))(*tensors)
    monkeypatch.setenv("TTL_TARGET", "blackhole")
    with pytest.raises(UsageError, match="describes a wormhole_b0, not a blackhole") as found:
        elementwise("+", grid=(2, 2))(*tensors)
    assert found.value.code == "TTL6019"


def test_a_file_that_describes_nothing(tmp_path, monkeypatch):
    file = tmp_path / "nothing.ttsys"
    file.write_text("nothing")
    monkeypatch.setenv("SYSTEM_DESC_PATH", str(file))
    with pytest.raises(UsageError, match="not a system descriptor") as refused:
        elementwise("+", grid=(2, 2))(*(np.ones((128, 128), np.float32) for _ in range(3)))
    assert refused.value.code == "TTL6003"
