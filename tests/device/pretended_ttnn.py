"""A ttnn for programs in processes of their own, without hardware: it doubles its first tensor.

What tt-metal would write to its logs it writes where the environment says, as tt-metal would.
`PRETENDED` chooses what happens: `hang`.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from device import standins

HEAD = (
    "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n"
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, "
    "run host ID, trace id, trace id counter, zone name, type, source line, source file, "
    "meta data\n"
)
PROCESSORS = {"BRISC": "BRISC", "NCRISC": "NCRISC", "TRISC_0": "TRISC", "TRISC_1": "TRISC"}


@dataclass
class Tensor(standins.Tensor):
    values: Any = None

    def is_allocated(self) -> bool:
        return True

    def cpu(self) -> Tensor:
        return self

    def to_numpy(self, mesh_composer: Any = None) -> Any:
        return self.values


def fill(ttnn: ModuleType) -> None:
    """Make this module such a ttnn."""
    vars(ttnn).update(vars(standins.standin_module()) | {"__name__": ttnn.__name__})
    standins.install(ttnn)
    device = standins.Device()
    Tensor.__module__ = ttnn.__name__
    made: list[Tensor] = []

    def from_numpy(array: Any, dtype: Any = None, layout: Any = None, device: Any = None) -> Tensor:
        place = standins.DataType.FLOAT32, standins.Layout.TILE, device, len(made)
        made.append(Tensor(array.shape, *place, values=array.astype(np.float32)))
        return made[-1]

    vars(ttnn).update(
        open_device=lambda device_id: device,
        from_numpy=from_numpy,
        to_device=lambda tensor, device: tensor,
        to_dtype=lambda tensor, dtype: tensor,
        float32=standins.DataType.FLOAT32,
        bfloat16=standins.DataType.BFLOAT16,
        TILE_LAYOUT=standins.Layout.TILE,
        generic_op=_run,
        synchronize_device=_synchronize,
        ReadDeviceProfiler=_profile,
    )


def _run(tensors: list[Tensor], program: Any) -> None:
    tensors[1].values = 2 * tensors[0].values
    if "TT_METAL_DPRINT_CORES" in os.environ:
        with Path(os.environ["TT_METAL_DPRINT_FILE"]).open("a") as out:
            out.write("0:0-0:NC: row 0\n0:0-0:NC: row 1\n")


def _synchronize(device: Any) -> None:
    if os.environ.get("PRETENDED") == "hang":
        log = Path(os.environ["TT_METAL_LOGS_PATH"], "generated/watcher/watcher.log")
        log.parent.mkdir(parents=True)
        log.write_text(
            "Dump #1 at 1.000s\nDevice 0 worker core(x= 0,y= 0) virtual(x=18,y=18): "
            "CWFW,CRBW,   R,   R,   R  rmsg:D0G|BNT h_id:  2 smsg:GGGG\n"
            "k_ids:  2|  1|  3|  3|  3\n"
        )
        time.sleep(1000)


def _profile(device: Any) -> None:
    log = Path(os.environ["TT_METAL_PROFILER_DIR"], ".logs/profile_log_device.csv")
    log.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    for start, (processor, name) in enumerate(PROCESSORS.items()):
        for phase, cycles in (("START", 100 + start), ("END", 900 + start)):
            rows.append(f"0,1,1,{processor},1,{cycles},0,1,,,{name}-KERNEL,ZONE_{phase},1,k.cpp,")
    log.write_text(HEAD + "\n".join(rows) + "\n")
