"""Find the device that a module is for, if the module states it.

`#ttcore.system_desc` and `ttcore.device` stay unmodified; the cores, L1 and DRAM that they state
apply to all passes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ttl.dialects.building import around
from ttl.dialects.foreign.kept import KeptTextOp, text_of
from ttl.target import TARGETS, Target, load
from ttl.target.system_desc import target_from_text, with_grid

SYSTEM_DESC = "ttcore.system_desc"
DEVICE = "ttcore.device"
ARCH = "ttl.target_arch"
_GRID = re.compile(r"\bworkerGrid\s*=\s*#ttcore\.grid<\s*(\d+)x(\d+)")


def target_of(module: ModuleOp) -> Target:
    """Return the chip, changed by descriptions in the module or around it."""
    given = module.attributes.get(ARCH)
    name = given.data if isinstance(given, StringAttr) else TARGETS[0]
    described, grid = _description(module)
    target = load(name) if described is None else _described(described, name)
    return target if grid is None else with_grid(target, *grid)


def arch_of(module: ModuleOp) -> str | None:
    """Return the name of the chip that a description states."""
    described, _ = _description(module)
    return None if described is None else target_of(module).name


_described = lru_cache(maxsize=8)(target_from_text)


def _description(module: ModuleOp) -> tuple[str | None, tuple[int, int] | None]:
    """Return the nearest system descriptor's text, and rows and columns of the nearest device."""
    text: str | None = None
    grid: tuple[int, int] | None = None
    for each in (module, *around(module)):
        if text is None and (found := each.attributes.get(SYSTEM_DESC)) is not None:
            text = text_of(found)
        if grid is None:
            grid = _grid_in(each)
    return text, grid


def _grid_in(op: Operation) -> tuple[int, int] | None:
    """Return the grid of `ttcore.device`: an operation or, in older text, a module attribute."""
    texts = [text_of(op.attributes[DEVICE]) or ""] if DEVICE in op.attributes else []
    if isinstance(op, ModuleOp):
        devices = [each for each in op.ops if each.name == DEVICE]
        texts += [str(each) for each in devices if isinstance(each, KeptTextOp)]
    found = next(filter(None, map(_GRID.search, texts)), None)
    return (int(found[1]), int(found[2])) if found else None
