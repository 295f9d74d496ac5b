"""A chip that the real ttnn believes in: it allocates buffers there, and no data get there.

tt-metal opens a device of a described cluster without touching hardware. It asks for its compiler
even so: for its version, by which the firmware of the wheel is found. `prepare` describes the
cluster and answers that question; it is called before ttnn is imported.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

# Board numbers are in bits 36 and up of a board's id.
BOARDS = {"wormhole_b0": ("n150", 0x18 << 36), "blackhole": ("p150", 0x41 << 36)}
# Rows and ethernet cores that such a board has not; the driver counts them.
HARVESTED = {
    "wormhole_b0": {"harvest_mask": 0x01},
    "blackhole": {"eth_harvesting_mask": 0x120, "pcie_harvesting_mask": 0x02},
}
COMPILER = "runtime/sfpi/compiler/bin/riscv-tt-elf-g++"


def prepare(chip: str, folder: Path) -> None:
    """Set the variables by which ttnn finds one such chip; its files go to `folder`."""
    descriptor = folder / "cluster.yaml"
    descriptor.write_text(_flow_yaml(_cluster(chip)))
    os.environ |= {
        "TT_METAL_MOCK_CLUSTER_DESC_PATH": str(descriptor),
        "TT_METAL_RUNTIME_ROOT": str(_runtime_root(_package(), folder / "root")),
        "TT_METAL_CACHE": f"{folder}/cache/",
        "TT_LOGGER_LEVEL": "fatal",
    }


def _package() -> Path:
    spec = importlib.util.find_spec("ttnn")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _cluster(chip: str) -> dict[str, Any]:
    board, board_id = BOARDS[chip]
    masks = dict.fromkeys(
        (
            "harvest_mask",
            "dram_harvesting_mask",
            "eth_harvesting_mask",
            "pcie_harvesting_mask",
            "l2cpu_harvesting_mask",
        ),
        0,
    )
    return {
        "arch": {0: chip},
        "chips": {0: [0, 0, 0, 0]} if chip == "wormhole_b0" else {},
        "chip_unique_ids": {0: 1},
        "ethernet_connections": [],
        "chips_with_mmio": [{0: 0}],
        "harvesting": {0: {"noc_translation": True, **masks, **HARVESTED[chip]}},
        "boards": [[{"board_id": board_id}, {"board_type": board}, {"chips": [0]}]],
    }


def _flow_yaml(value: Any) -> str:
    """JSON but for the keys, which are numbers and words without quotes."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_flow_yaml(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow_yaml, value))}]"
    return json.dumps(value)


def _runtime_root(package: Path, root: Path) -> Path:
    """The wheel's own files, and beside them a compiler that says its version and compiles
    nothing.
    """
    compiler = root / COMPILER
    compiler.parent.mkdir(parents=True)
    compiler.write_text(f"#!/bin/sh\necho 'riscv-tt-elf-g++ {_compiler_version(package)}'\n")
    compiler.chmod(0o755)
    runtime = [(path, root / "runtime" / path.name) for path in (package / "runtime").iterdir()]
    others = [(path, root / path.name) for path in package.iterdir() if path.name != "runtime"]
    for path, link in (*runtime, *others):
        link.symlink_to(path)
    return root


def _compiler_version(package: Path) -> str:
    """Of the compiler that made the firmware of the wheel, from the firmware itself."""
    firmware = next((package / "tt_metal" / "pre-compiled").glob("*/brisc/brisc.elf"))
    found = re.search(rb"GCC: (\(tenstorrent/sfpi:[^\0]+)", firmware.read_bytes())
    assert found is not None
    return found[1].decode()
