"""DPRINT of kernels from anywhere, and the zones of the profiler."""

from __future__ import annotations

import numpy as np
import pytest

from recorded_events import events_of
from ttl.artifact import ThreadKind
from ttl.diagnostics import KernelFault
from ttl.host import launch
from ttl.trace import EventKind, Recorder

HEAD = (
    '#include "api/dataflow/dataflow_api.h"\n#include "api/debug/dprint.h"\n'
    '#include "api/debug/kernel_profiler.hpp"\nvoid kernel_main() {\n'
)


def printed(tiny, cache_dir, capsys, body, recorder=None):
    kernel = tiny.make_kernel("read", ThreadKind.READER, f"{HEAD}{body}\n}}\n")
    buffers = [tiny.make_buffer("a", 0, 2, 2), tiny.make_buffer("n", 1, 1, 1, "Int32")]
    launch(tiny.make_operation([kernel], buffers, 0), [], cache_dir=cache_dir, recorder=recorder)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ('DPRINT("plain\\n");', "plain"),
        ('DPRINT("{} {}\\n", 1, -2);', "1 -2"),
        ('DPRINT("{} {}\\n", uint8_t{200}, uint64_t{1} << 63);', f"200 {2**63}"),
        ('DPRINT("{:#x} {:.3f} {{}}\\n", 255, 0.5f);', "0xff 0.500 {}"),
        ('DPRINT("{} {}\\n", true, 2 < 1);', "True False"),
        ('DPRINT("{} {}\\n", 0.1, 1.5f);', "0.1 1.5"),
        ('DPRINT("{}\\n", bf16_t(0x3fc0));', "1.5"),
        ('DPRINT("{}\\n", "text");', "text"),
        ('DPRINT("a"); DPRINT("b{}", 1); DPRINT("c\\n");', "ab1c"),
        ('DPRINT("no newline");', "no newline"),
        ('DPRINT_DATA0("zero\\n");', "zero"),
    ],
)
def test_formats(tiny, cache_dir, capsys, call, text):
    assert printed(tiny, cache_dir, capsys, call) == f"(0, 0) read: {text}\n"


def test_parts_of_tiles(tiny, cache_dir, capsys):
    """Rows and columns of the tile, not of its faces; both ends of the buffer."""
    body = """
  cb_reserve_back(1, 1);
  volatile int32_t* words = reinterpret_cast<volatile int32_t*>((uintptr_t)get_write_ptr(1));
  for (int i = 0; i < 1024; ++i) words[i] = i;
  const SliceRange corner{0, 32, 31, 0, 32, 31};
  DPRINT("{}\\n", TSLICE(1, 0, corner, TSLICE_INPUT_CB, TSLICE_WR_PTR, false, true));
  cb_push_back(1, 1);
  cb_wait_front(1, 1);
  const SliceRange row{16, 17, 1, 15, 17, 1};
  DPRINT("{}\\n", TSLICE(1, 0, row, TSLICE_INPUT_CB, TSLICE_RD_PTR, false, true));
  cb_pop_front(1, 1);"""
    faces = np.arange(1024).reshape(2, 2, 16, 16).transpose(0, 2, 1, 3).reshape(32, 32)
    corners = " ".join(f"{n:>4}" for n in faces[::31, ::31].reshape(-1))
    row = " ".join(str(n) for n in faces[16, 15:17])
    out = printed(tiny, cache_dir, capsys, body).splitlines()
    assert out == [f"(0, 0) read: {corners}", f"(0, 0) read: {row}"]


def test_what_was_printed_before_a_fault_is_shown(tiny, cache_dir, capsys):
    with pytest.raises(KernelFault):
        printed(tiny, cache_dir, capsys, 'DPRINT("before\\n");\ncb_pop_front(0, 1);')
    assert capsys.readouterr().out == "(0, 0) read: before\n"


def test_zones_of_a_foreign_kernel_keep_their_names(tiny, cache_dir, capsys):
    recorder = Recorder()
    body = '{ DeviceZoneScopedN("outer"); { DeviceZoneScopedN("inner"); } }'
    assert printed(tiny, cache_dir, capsys, body, recorder) == ""
    kinds = (EventKind.SIGNPOST_BEGIN, EventKind.SIGNPOST_END)
    events = [(each.kind, each.subject) for each in events_of(recorder) if each.kind in kinds]
    begin, end = kinds
    assert events == [(begin, "outer"), (begin, "inner"), (end, "inner"), (end, "outer")]
