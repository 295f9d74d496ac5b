"""ttcore-register-device: the module says which device it is for.

rule KEEP   a module keeps its system descriptor or device
rule FILE   `system-desc-path`: a .ttsys file, or its JSON
rule MOCK   without one: this project's description of the chip `mock-system-desc-arch`
"""

from __future__ import annotations

from math import prod
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ttl.diagnostics import codes, file_not_usable, usage_error
from ttl.dialects.foreign.kept import keep_attribute, kept_text
from ttl.passes.registered_device import DEVICE, SYSTEM_DESC, target_of
from ttl.target import TARGETS, load
from ttl.target.system_desc import Chip, NotASystemDesc, chip_of, read_system_desc, text_of


def apply(
    op: ModuleOp,
    *,
    system_desc_path: str = "",
    mock_system_desc_arch: str = TARGETS[0],
    mesh_shape: tuple[int, ...] = (),
) -> None:
    if SYSTEM_DESC not in op.attributes:  # rule KEEP
        text = text_of(_chip(system_desc_path, mock_system_desc_arch))
        op.attributes[SYSTEM_DESC] = keep_attribute(SYSTEM_DESC, False, False, text)
    if not any(each.name == DEVICE for each in op.ops):
        device = kept_text(DEVICE).of(_device(op, mesh_shape), (), (), (), ())
        first = op.body.block.first_op
        if first is None:
            op.body.block.add_op(device)
        else:
            op.body.block.insert_op_before(device, first)


def _chip(path: str, mock: str) -> Chip:
    if not path:  # rule MOCK
        if mock not in TARGETS:
            message = f"there is no chip `{mock}`"
            raise usage_error(codes.WRONG_OPTION, message, f"use {' or '.join(TARGETS)}")
        return chip_of(load(mock))
    try:
        return read_system_desc(Path(path).read_bytes())
    except OSError as error:
        raise file_not_usable(path, error) from None
    except NotASystemDesc as error:
        message = f"{path}: not a system descriptor: {error}"
        raise usage_error(codes.FILE_NOT_USABLE, message) from None


def _device(module: ModuleOp, mesh: tuple[int, ...]) -> str:
    target = target_of(module)
    columns, rows = target.default_grid
    banks = target.dram_banks
    grid = (
        f"#ttcore.grid<{rows}x{columns}, virt_to_physical_map = (d0, d1) -> (0, d0, d1), "
        "physical_to_virt_map = (d0, d1, d2) -> (d1, d2)>"
    )
    place = "(d0 * s1) * (s2 * (s3 * s6)) + d1 * (s2 * (s3 * s6)) + d2"
    symbols = "s0, s1, s2, s3, s4, s5, s6"
    page = f"({place}) floordiv s4"
    offset = f"(({page}) floordiv {banks}) * s4 + ({place}) mod s4 + s5"
    chips = ", ".join(map(str, range(prod(mesh))))
    return (
        f" @default_device = <workerGrid = {grid}, dramGrid = #ttcore.grid<1x{banks}>, "
        "l1Map = (d0, d1, d2)[s0] -> (0, d0, d1, d2 + s0), "
        f"dramMap = (d0, d1, d2)[{symbols}] -> (0, 0, ({page}) mod {banks}, {offset}), "
        f"meshShape = {'x'.join(map(str, mesh))}, chipIds = [{chips}]>"
    )
