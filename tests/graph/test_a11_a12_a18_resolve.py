"""A-11 resolving, A-12 the artifact, A-18 stale tags."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import tt_torch
import ttl
from torch_models import add, add_tiles, gradients
from tt_torch.tt_lang import TTLangError, resolve_operation, tt_lang_operation
from ttl.config import Config

TILED = "memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<{}>>"
DRAM = f"#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, {TILED.format('dram')}, <interleaved>>"
L1 = f"#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, {TILED.format('l1')}, <interleaved>>"
SHARDED = (
    "#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x1>, memref<1x1x!ttcore.tile<32x32, bf16>, "
    "#ttnn.buffer_type<l1>>, <height_sharded>, core_ranges = <[#ttnn.core_range<(0, 0), (0, 1)>]>>"
)


def resolve(operation=add, count=3, **changed):
    entry = operation._tt_lang_operation_entry
    arguments = {
        "operation_id": entry.operation_id,
        "version_tag": entry.version_tag,
        "shapes": [[64, 32]] * count,
        "dtypes": ["bf16"] * count,
    }
    return resolve_operation(**(arguments | changed))


def looking(seen):
    """An operation that notes what it is given, and adds."""

    def body(a, b, y):
        seen.append((a, b, y, Config.current().compile_only))
        add_tiles(a, b, y)

    return tt_lang_operation(
        operation_id="tests.looking", arg_roles=["in", "in", "out"], version_tag="1"
    )(body)


# A-11 ---------------------------------------------------------------------------------------------


def test_a11_guards():
    with pytest.raises(KeyError, match="nobody"):
        resolve(operation_id="nobody")
    with pytest.raises(TTLangError, match="3 shapes, 2 dtypes and 3 layouts"):
        resolve(dtypes=["bf16"] * 2)
    with pytest.raises(TTLangError, match="3 shapes, 3 dtypes and 1 layouts"):
        resolve(layouts=[DRAM])
    with pytest.raises(TTLangError, match="unknown element type 'bfloat16'"):
        resolve(dtypes=["bfloat16"] * 3)
    with pytest.raises(TTLangError, match="no elements of type 'i1'"):
        resolve(dtypes=["i1"] * 3)
    with pytest.raises(TTLangError, match="layout"):
        resolve(layouts=["#l1"] * 3)
    with pytest.raises(TTLangError, match="unknown element type None"):
        resolve(dtypes=[None] * 3)
    with pytest.raises(TTLangError, match="'ab' is no shape"):
        resolve(shapes=["ab"] * 3)
    with pytest.raises(TTLangError, match="format_version is 3"):
        resolve(format_version=3)


def test_a11_unknown_keywords_are_tolerated():
    assert resolve(colour="blue") == resolve()


def test_a11_second_resolve_gives_the_same_bytes():
    assert resolve() == resolve()
    assert resolve(shapes=[[128, 32]] * 3) != resolve()


def test_a11_another_process_gives_the_same_bytes_without_ttnn_and_without_a_device(tmp_path):
    """Nor is what captures models loaded, where the backend is an entry point."""
    installed = tmp_path / "pyttlang-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: pyttlang\nVersion: 0\n")
    entry_point = "[torch_dynamo_backends]\ntt = tt_torch.capture:Compiled\n"
    (installed / "entry_points.txt").write_text(entry_point)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from ttl.ttnn import device\n"
        "device.open_device = None\n"
        "from test_a11_a12_a18_resolve import resolve\n"
        "sys.stdout.buffer.write(resolve())\n"
        "assert not {'ttnn', 'torch._dynamo', 'torch._functorch.aot_autograd'} & set(sys.modules)"
    )
    here = os.path.dirname(__file__)
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), os.path.dirname(here), *sys.path])
    command = [sys.executable, "-P", "-c", program, here]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == resolve()


@pytest.mark.parametrize("before", [None, "0"])
def test_a11_tensors_are_only_described(monkeypatch, before):
    if before is None:
        monkeypatch.delenv("TTLANG_COMPILE_ONLY", raising=False)
    else:
        monkeypatch.setenv("TTLANG_COMPILE_ONLY", before)
    seen: list = []
    resolve(looking(seen), dtypes=["f32"] * 3, layouts=[L1.replace("bf16", "f32"), "", ""])
    ((a, b, _, compiles_only),) = seen
    assert compiles_only and not Config.current().compile_only
    assert os.environ.get("TTLANG_COMPILE_ONLY") == before  # a variable is everybody's
    assert (tuple(a.shape), a.dtype.name, a.layout.name) == ((64, 32), "FLOAT32", "TILE")
    assert a.memory_config().buffer_type.name == "L1"
    assert b.memory_config().buffer_type.name == "DRAM"
    assert a.device() is b.device() and not a.is_allocated()


def test_a11_options_are_restored_and_errors_come_through(monkeypatch):
    monkeypatch.delenv("TTLANG_COMPILE_ONLY", raising=False)

    def failing(a, b, y):
        raise ZeroDivisionError("mine")

    wrapped = tt_lang_operation(operation_id="tests.failing", arg_roles=["in", "in", "out"])(
        failing
    )
    with pytest.raises(ZeroDivisionError, match="mine"):
        resolve(wrapped)
    assert not Config.current().compile_only


def test_a11_under_ttl_check(monkeypatch):
    """A model cannot go on without the artifact: it is compiled, and what is wrong is raised."""
    expected = resolve()
    monkeypatch.setenv("TTL_CHECK", "1")
    assert resolve() == expected

    @tt_lang_operation(operation_id="tests.empty", arg_roles=["in", "in", "out"])
    @ttl.operation(grid=(1, 1))
    def empty(a, b, y):
        pass

    with pytest.raises(ttl.TTLError, match="declares no kernels"):
        resolve(empty)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda a, b, y: None, "calls 0 operations"),
        (lambda a, b, y: (add_tiles(a, b, y), add_tiles(a, b, y)), "calls 2 operations"),
        (lambda a, b, y: add_tiles(b, a, y), "in their order"),
        (lambda a, b, y: add_tiles(a, a, y), "in their order"),
    ],
)
def test_a11_the_function_calls_one_operation_with_its_tensors(body, message):
    wrapped = tt_lang_operation(
        operation_id=f"tests.calls{id(body)}", arg_roles=["in", "in", "out"], version_tag="1"
    )(body)
    with pytest.raises(ttl.UsageError, match=message):
        resolve(wrapped)


def test_a11_shards_are_read_from_the_layout():
    seen: list = []
    resolve(looking(seen), layouts=[SHARDED, DRAM, DRAM])
    config = seen[0][0].memory_config()
    assert config.memory_layout.name == "HEIGHT_SHARDED" and config.buffer_type.name == "L1"
    assert tuple(config.shard_spec.shape) == (32, 32) and config.shard_spec.num_cores() == 2


# A-12 ---------------------------------------------------------------------------------------------


def test_a12_schema():
    artifact = json.loads(resolve(layouts=[DRAM] * 3, mesh_shape=[1, 2], arg_roles="in,in,out"))
    assert artifact["format_version"] == 1 and artifact["num_pipe_nets"] == 0
    pipes = ("num_pipe_sync_semaphores", "num_pipe_global_semaphores", "pipe_sram_scratch_bytes")
    assert [artifact[name] for name in pipes] == [0, 0, 0]
    assert artifact["num_tensors"] == 3
    assert artifact["core_range"] == {"start": [0, 0], "end": [0, 0]}
    assert "tensor_accessor_args" not in json.dumps(artifact)
    assert artifact["operand_metadata"] == {
        "shapes": [[64, 32]] * 3,
        "dtypes": ["bf16"] * 3,
        "layouts": [DRAM] * 3,
        "mesh_shape": [1, 2],
        "arg_roles": "in,in,out",
        "shard_spec": None,
    }


def test_a12_kernels():
    kernels = json.loads(resolve())["kernels"]
    configs = [kernel["kernel_config"]["type"] for kernel in kernels]
    assert configs == ["ComputeKernelConfig", "ReaderKernelConfig", "WriterKernelConfig"]
    assert [kernel["thread_type"] for kernel in kernels] == ["compute", "noc", "noc"]
    assert [kernel["tensor_indices"] for kernel in kernels] == [[], [0, 1], [2]]
    assert all("kernel_main" in kernel["cpp_source"] for kernel in kernels)
    assert kernels[0]["kernel_config"] == {
        "type": "ComputeKernelConfig",
        "math_fidelity": "HiFi4",
        "fp32_dest_acc_en": False,
        "dst_full_sync_en": False,
        "math_approx_mode": False,
        "bfp8_pack_precise": False,
    }


@pytest.mark.parametrize(
    ("dtype", "data_format", "page"), [("bf16", "BFloat16", 2048), ("F32 ", "Float32", 4096)]
)
def test_a12_buffers(dtype, data_format, page):
    buffers = json.loads(resolve(dtypes=[dtype] * 3))["cb_configs"]
    for index, buffer in enumerate(buffers):
        assert buffer == {
            "buffer_index": index,
            "data_format": data_format,
            "page_size": page,
            "num_tiles": 2,
            "block_count": 2,
            "total_size": 2 * page,
        }
    assert len(buffers) == 3


def test_a12_defaults_of_the_metadata():
    metadata = json.loads(resolve())["operand_metadata"]
    assert metadata["layouts"] == ["", "", ""]
    assert metadata["arg_roles"] is None and metadata["shard_spec"] is None


def test_a12_version_2():
    artifact = json.loads(resolve(format_version=2))
    assert artifact["format_version"] == 2 and "num_pipe_nets" not in artifact


def test_a12_two_outputs():
    kernels = json.loads(resolve(gradients, 5))["kernels"]
    assert [kernel["tensor_indices"] for kernel in kernels] == [[], [0, 1, 2], [3, 4]]


# A-18 ---------------------------------------------------------------------------------------------


def test_a18_another_tag_is_refused():
    with pytest.raises(TTLangError, match="capture the model again"):
        resolve(version_tag="0123456789ab")


def test_a18_a_graph_captured_with_an_older_operation_is_refused():
    from torch_models import Stitched, bf16

    exported = tt_torch.export(Stitched(), [bf16(seed, 64, 32) for seed in range(3)])
    from ttgraph.flatbuffer import compile_module
    from ttgraph.stablehlo import read_module

    older = exported.stablehlo.replace(add._tt_lang_operation_entry.version_tag, "0123456789ab")
    with pytest.raises(ttl.TTLError, match="capture the model again"):
        compile_module(read_module(older))
