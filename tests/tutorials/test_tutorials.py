"""Each tutorial of the public simulator runs unchanged; matrix products in a smaller size."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tutorials.wheel import find_tutorials

NAMES = (
    "broadcast/single_node_broadcast_multitile_blocks",
    "broadcast/single_node_broadcast_single_tile_block",
    "elementwise/step_0_ttnn_base",
    "elementwise/step_1_single_node_single_tile_block",
    "elementwise/step_2_single_node_multitile_block",
    "elementwise/step_3_multinode",
    "elementwise/step_4_multinode_grid_full",
    "matmul/step_0_ttnn_base",
    "matmul/step_1_single_node_single_tile_block",
    "matmul/step_2_single_node_multitile_block",
    "matmul/step_3_multinode",
    "matmul/step_4_multinode_grid_full",
    "matmul/step_5_multidevice_shard_m",
    "matmul/step_6_multidevice_shard_k",
    "matmul/step_7_multidevice_shard_k_all_reduce",
)
FULL_SIZE, SMALL_SIZE = "8192", "1024"
OURS = ("TTLANG_", "TTL_")


def program(name: str, folder: Path) -> Path:
    """The tutorial itself, or a copy of it with a smaller size."""
    path = find_tutorials()[name]
    if not name.startswith("matmul/"):
        return path
    text = path.read_text(encoding="utf-8")
    assert FULL_SIZE in text
    copy = folder / path.name
    copy.write_text(text.replace(FULL_SIZE, SMALL_SIZE), encoding="utf-8")
    return copy


def run(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    bin_folder = Path(sys.executable).parent
    clean = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    words = [str(bin_folder / str(command[0])), *map(str, command[1:])]
    return subprocess.run(words, cwd=folder, env=clean, capture_output=True, text=True, check=False)


def check(done: subprocess.CompletedProcess[str]) -> None:
    """The tutorials compare their results themselves; the last ones print what they found."""
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found = [float(value) for value in re.findall(r"PCC ([\d.]+)", done.stdout)]
    assert all(value > 0.999 for value in found)
    assert found or "tensor([[" in done.stdout


def test_these_are_all_tutorials() -> None:
    assert tuple(find_tutorials()) == NAMES


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_ttl_run(name: str, tmp_path: Path) -> None:
    check(run(tmp_path, "ttl", "run", program(name, tmp_path)))


@pytest.mark.parametrize("options", [(), ("--grid", "3,5", "--scheduler", "fair")])
def test_by_its_other_name(options: tuple[str, ...], tmp_path: Path) -> None:
    path = program("elementwise/step_4_multinode_grid_full", tmp_path)
    check(run(tmp_path, "tt-lang-sim", path, *options))
