"""Reads the system descriptor of a machine from tt-mlir's tools: a .ttsys file, or its JSON.

The fields of chips are those of `#ttcore.system_desc`. Every access to the bytes of a file is
checked against its length. Only the first chip counts.
"""

from __future__ import annotations

import json
import re
import struct
from dataclasses import replace
from typing import Any

from . import TARGETS, Target, load

IDENTIFIER = b"TTSY"
_SYSTEM_DESC, _CHIPS = 4, 1  # slots in the root, and in the description of the system
_ARCHES = ("wormhole_b0", "blackhole", "quasar")
_DATA_TYPES = (
    "f32",
    "f16",
    "bf16",
    "bfp_f8",
    "bfp_bf8",
    "bfp_f4",
    "bfp_bf4",
    "bfp_f2",
    "bfp_bf2",
    "u32",
    "u16",
    "u8",
    "si32",
)
# A chip's fields in the order of their slots: name in text, name in files, kind of value.
_FIELDS = (
    ("arch", "arch", "arch"),
    ("grid", "grid_size", "pair"),
    ("coord_translation_offsets", "coord_translation_offsets", "pair"),
    ("l1_size", "l1_size", "Q"),
    ("num_dram_channels", "num_dram_channels", "I"),
    ("dram_channel_size", "dram_channel_size", "Q"),
    ("noc_l1_address_align_bytes", "noc_l1_address_align_bytes", "I"),
    ("pcie_address_align_bytes", "pcie_address_align_bytes", "I"),
    ("noc_dram_address_align_bytes", "noc_dram_address_align_bytes", "I"),
    ("l1_unreserved_base", "l1_unreserved_base", "I"),
    ("erisc_l1_unreserved_base", "erisc_l1_unreserved_base", "I"),
    ("dram_unreserved_base", "dram_unreserved_base", "I"),
    ("dram_unreserved_end", "dram_unreserved_end", "I"),
    ("supported_data_types", "supported_data_types", "types"),
    ("supported_tile_sizes", "supported_tile_sizes", "sizes"),
    ("dst_physical_size_tiles", "dst_physical_size_tiles", "I"),
    ("num_cbs", "num_cbs", "I"),
    ("num_compute_threads", "num_compute_threads", "I"),
    ("num_datamovement_threads", "num_datamovement_threads", "I"),
    ("dram_grid", "dram_grid_size", "pair"),
    ("dram_bank_to_logical_worker_noc0", "dram_bank_to_logical_worker_noc0", "places"),
    ("dram_bank_to_logical_worker_noc1", "dram_bank_to_logical_worker_noc1", "places"),
)
Chip = dict[str, Any]  # keys are the names in text; a pair is (y, x)


class NotASystemDesc(ValueError):
    """A file that is no system descriptor; the text says why."""


def read_system_desc(data: bytes) -> Chip:
    """Return the first chip of a .ttsys file or of its JSON, or raise NotASystemDesc."""
    if data[4:8] == IDENTIFIER:
        chip = _from_flatbuffer(data)
    elif data.lstrip()[:1] == b"{":
        chip = _from_json(data)
    else:
        raise NotASystemDesc("neither the identifier TTSY nor JSON")
    rows, columns = chip["grid"]
    is_likely = 0 < rows <= 64 and 0 < columns <= 64
    has_room = chip["l1_unreserved_base"] < chip["l1_size"]
    if chip["arch"] not in TARGETS or not is_likely or not has_room:
        given = f"{chip['arch']}, {rows}x{columns} cores, {chip['l1_size']} bytes of L1"
        raise NotASystemDesc(f"its first chip is none that is known here: {given}")
    return chip


def _from_json(data: bytes) -> Chip:
    try:
        root = json.loads(data)
        (chip, *_) = root.get("system_desc", root)["chip_descs"]
        return {text: _from_value(chip[name], kind) for text, name, kind in _FIELDS}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotASystemDesc(f"JSON without a description of chips: {error!r}") from None


def _from_value(value: Any, kind: str) -> object:
    if kind == "arch":
        return str(value).lower()
    if kind == "pair":
        return int(value["y"]), int(value["x"])
    if kind in ("sizes", "places"):
        return [(int(each["y"]), int(each["x"])) for each in value]
    return [str(each) for each in value] if kind == "types" else int(value)


# Flatbuffers --------------------------------------------------------------------------------------


def _from_flatbuffer(data: bytes) -> Chip:
    try:
        root = _follow(data, 0)
        chips = _vector(data, _field(data, _follow(data, _field(data, root, _SYSTEM_DESC)), _CHIPS))
        chip = _follow(data, chips[1])
        return {
            text: _from_slot(data, _place(data, chip, slot), kind)
            for slot, (text, _, kind) in enumerate(_FIELDS)
        }
    except struct.error:
        raise NotASystemDesc(f"it ends after {len(data)} bytes") from None


def _number(form: str, data: bytes, place: int) -> int:
    if place < 0:
        raise struct.error
    (number,) = struct.unpack_from(f"<{form}", data, place)
    return int(number)


def _follow(data: bytes, place: int) -> int:
    return place + _number("I", data, place)


def _place(data: bytes, table: int, slot: int) -> int | None:
    vtable = table - _number("i", data, table)
    if 4 + 2 * slot + 2 > _number("H", data, vtable):
        return None
    offset = _number("H", data, vtable + 4 + 2 * slot)
    return table + offset if offset else None


def _field(data: bytes, table: int, slot: int) -> int:
    place = _place(data, table, slot)
    if place is None:
        raise NotASystemDesc("it describes no chip")
    return place


def _vector(data: bytes, place: int) -> tuple[int, int]:
    """Return the number of elements and the offset of the first."""
    start = _follow(data, place)
    count = _number("I", data, start)
    if not 0 < count <= len(data) - start:
        raise NotASystemDesc(f"a list of {count} elements at byte {start}")
    return count, start + 4


def _from_slot(data: bytes, place: int | None, kind: str) -> object:
    if kind == "arch":
        number = 0 if place is None else _number("I", data, place)
        return _ARCHES[number] if number < len(_ARCHES) else f"chip {number}"
    if place is None:
        return {"pair": (0, 0), "types": [], "sizes": [], "places": []}.get(kind, 0)
    if kind == "pair":
        return _pair(data, place)
    if kind == "types":
        count, start = _vector(data, place)
        numbers = [_number("H", data, start + 2 * n) for n in range(count)]
        return [_DATA_TYPES[number] for number in numbers if number < len(_DATA_TYPES)]
    if kind in ("sizes", "places"):
        count, start = _vector(data, place)
        return [_pair(data, start + 8 * n) for n in range(count)]
    return _number(kind, data, place)


def _pair(data: bytes, place: int) -> tuple[int, int]:
    return _number("i", data, place), _number("i", data, place + 4)


# Text ---------------------------------------------------------------------------------------------


def chip_of(target: Target) -> Chip:
    """Describe a target in the fields of a system descriptor."""
    columns, rows = target.default_grid
    numbers = {
        "l1_size": target.l1_bytes,
        "num_dram_channels": target.dram_banks,
        "dram_channel_size": target.dram_bank_bytes,
        "noc_l1_address_align_bytes": target.l1_alignment_bytes,
        "pcie_address_align_bytes": target.dram_alignment_bytes,
        "noc_dram_address_align_bytes": target.dram_alignment_bytes,
        "l1_unreserved_base": target.l1_bytes - target.dataflow_buffer_budget_bytes,
        "dram_unreserved_base": target.dram_alignment_bytes,
        "dram_unreserved_end": target.dram_bank_bytes,
        "dst_physical_size_tiles": 2 * target.dst_tiles_16_bit,
        "num_cbs": target.dataflow_buffers,
        "num_compute_threads": 1,
        "num_datamovement_threads": 2,
    }
    chip = {text: _from_slot(b"", None, kind) for text, _, kind in _FIELDS} | numbers
    chip["arch"], chip["grid"] = target.name, (rows, columns)
    chip["coord_translation_offsets"] = target.noc_rows[0], target.noc_columns[0]
    chip["supported_data_types"] = list(_DATA_TYPES)
    chip["supported_tile_sizes"] = [(4, 16), (16, 16), (32, 16), (4, 32), (16, 32), (32, 32)]
    chip["dram_grid"] = 1, target.dram_banks
    return chip


def text_of(chip: Chip) -> str:
    """Return the text between the angle brackets of `#ttcore.system_desc`."""
    fields = ", ".join(f"{text} = {_shown(chip[text], kind)}" for text, _, kind in _FIELDS)
    host = '[{role = host, target_triple = "x86_64-pc-linux"}]'
    return f"{host}, [{{{fields}}}], [0], [0 : i32], [0x0x0x0]"


def _shown(value: Any, kind: str) -> str:
    if kind == "arch":
        return f"<{value}>"
    if kind == "pair":
        return "x".join(map(str, value))
    if kind == "types":
        return f"[{', '.join(f'<{each}>' for each in value)}]"
    if kind == "sizes":
        return f"[{', '.join(f'{y}x{x}' for y, x in value)}]"
    if kind == "places":
        return f"[{', '.join(f'({y}, {x})' for y, x in value)}]"
    return str(value)


_ARCH = re.compile(r"\barch\s*=\s*<(\w+)>")


def target_from_text(text: str, other: str = TARGETS[0]) -> Target:
    """Return the target of `#ttcore.system_desc<text>`; the chip supplies what is not stated."""
    named = _ARCH.search(text)
    target = load(named[1] if named and named[1] in TARGETS else other)
    grid = re.search(r"\bgrid\s*=\s*(\d+)x(\d+)", text)
    if grid is not None:
        target = with_grid(target, int(grid[1]), int(grid[2]))
    size, base = (_stated(text, name, 0) for name in ("l1_size", "l1_unreserved_base"))
    if base < size:
        target = replace(target, l1_bytes=size, dataflow_buffer_budget_bytes=size - base)
    return replace(
        target,
        dataflow_buffers=_stated(text, "num_cbs", target.dataflow_buffers),
        dram_banks=_stated(text, "num_dram_channels", target.dram_banks),
        dram_bank_bytes=_stated(text, "dram_channel_size", target.dram_bank_bytes),
    )


def with_grid(target: Target, rows: int, columns: int) -> Target:
    """Return the target with a smaller grid; never larger than the chip's."""
    cores = min(columns, target.grid[0]), min(rows, target.grid[1])
    return replace(target, grid=cores, default_grid=cores)


def _stated(text: str, name: str, other: int) -> int:
    found = re.search(rf"\b{name}\s*=\s*(\d+)", text)
    return int(found[1]) if found else other
