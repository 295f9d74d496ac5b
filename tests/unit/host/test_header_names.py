"""The device headers of the runtime declare nothing that the real ones do not have."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from headers.metal_headers import find_headers
from ttl.host.build import OLDER_API_FOLDERS, RUNTIME_FOLDER
from ttl.host.counts import columns_of
from ttl.host.vector_headers import declarations

INCLUDE = RUNTIME_FOLDER / "include"
# What the runtime has for itself is in namespaces that the real headers do not have.
DETAIL = re.compile(
    r"namespace detail \{\n.*?\n\}(?:  // namespace detail)?\n"
    r"|namespace (accessors|numbers|objects|ttl_print|ttl_calls) \{.*?\n\}  // namespace \1\n",
    re.S,
)
DECLARED = re.compile(
    r"\b(?:void|bool|float|coord_t|u?int(?:8|32|64)_t|uintptr_t)\s+(\w+)\("
    r"|^(?:TTL_WIDE )?TTL_(?:OF_SLOT[12S]?|(?:PLAIN_|VECTOR_)?INIT"
    r"|AT_END|BARRIER|WITH_ID|OF_OWN_SEMAPHORE)\((\w+)",
    re.M,
)
ROWS = declarations(RUNTIME_FOLDER)
FILES = {str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.h")}
HEADERS = sorted(FILES | ROWS.keys())
OWN_HEADERS = {"hostdevcommon/kernel_calls.h", "hostdevcommon/recorded_calls.h"}
# Declared by headers that the real ones include, and those that are the runtime's own.
ELSEWHERE = {
    "get_virtual_coord_from_worker_logical_coord",
    "invalidate_l1_cache",
    "get_noc_addr",
    "get_noc_multicast_addr",
    "is_uint32_format",
    "is_bfp8_b_format",
    "is_bfp4_b_format",
    "riscv_wait",
    "get_threshold",
    "reg_read",
    "ttl_named_argument",
    "ttl_same_text",
    "check_not_posted",
    "local_source",
    "local_target",
    "size_in_state",  # private
}


@cache
def real_folder() -> Path:
    return next(find_headers().rglob("hw/inc/api/compute")).parents[1]


def real_files(header: str) -> list[Path]:
    """Most are in one folder; of others there may be one for each chip."""
    real = real_folder() / header
    return [real] if real.is_file() else list(find_headers().rglob(header))


def declared_names(text: str) -> set[str]:
    shown = re.sub(r"//.*", "", DETAIL.sub("", text))
    return {first or second for first, second in DECLARED.findall(shown)} - {"name", "operator"}


def text_of(header: str) -> str:
    """What kernels get that include it: rows of the vector unit, and the file."""
    file = (INCLUDE / header).read_text() if header in FILES else ""
    return "\n".join((*ROWS.get(header, ()), file))


def test_something_is_declared() -> None:
    names = declared_names(text_of("api/compute/eltwise_unary/trigonometry.h"))
    assert {"sin_tile", "sin_tile_init", "acosh_tile_init", "atanh_tile"} <= names
    names = declared_names(text_of("api/dataflow/dataflow_api.h"))
    assert {"noc_async_read", "noc_semaphore_inc", "get_write_ptr"} <= names
    assert {"noc_async_full_barrier", "noc_async_read_set_trid", "noc_semaphore_wait"} <= names
    assert "write_with_state" not in names


@pytest.mark.parametrize("header", HEADERS)
def test_every_name_is_in_the_real_header(header: str) -> None:
    real = real_files(header)
    assert real or header in OWN_HEADERS
    names = declared_names(text_of(header)) - ELSEWHERE
    for text in (file.read_text() for file in real):
        assert not {name for name in names if not re.search(rf"\b{name}\b", text)}


DEVICE_FUNCTION = re.compile(r"\bvoid (?P<name>\w+)\((?:[^;{}]|\{\})*(?P<body>;|\{.*?\n\})", re.S)
HEADER_FILES = sorted(
    path
    for folder in ("include", *OLDER_API_FOLDERS.values())
    for path in (RUNTIME_FOLDER / folder).rglob("*.h")
)


@pytest.mark.parametrize("path", HEADER_FILES, ids=lambda path: path.name)
def test_every_call_that_counts_is_recorded(path: Path) -> None:
    """A device function that somebody adds must say so itself (recorded_calls.h)."""
    text = re.sub(r"#define (?:.*\\\n)*.*\n|//.*", "", DETAIL.sub("", path.read_text()))
    counted = (
        found
        for found in DEVICE_FUNCTION.finditer(text)
        if columns_of(found["name"]) or found["name"].startswith(("cb_", "tile_regs_"))
    )
    assert [found["name"] for found in counted if "TTL_" not in found["body"]] == []
