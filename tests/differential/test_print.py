"""print() and signposts: the compiled program writes what the simulator writes."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest

import ttl
from golden.example_programs import load_file
from headers import translation_unit
from headers.check import check_folder
from ttl import ttnn
from ttl.diagnostics import codes

PROGRAM = """import ttl


@ttl.operation(grid=(2, 1))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape={shape}, block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape={shape}, block_count=2)
    scale = 3

    @ttl.compute()
    def compute():
        for i in range(2):
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
{compute}
                y_blk.store(a_blk + a_blk)
{computed}

    @ttl.datamovement()
    def read():
        x, _ = ttl.node(dims=2)
{start}
        for i in range(2):
            with a_dfb.reserve() as a_blk:
                ttl.copy(a[{part}], a_blk).wait()
{read}

    @ttl.datamovement()
    def write():
        x, _ = ttl.node(dims=2)
        for i in range(2):
            with y_dfb.wait() as y_blk:
{write}
                ttl.copy(y_blk, y[{part}]).wait()
"""
INDENTS = {"compute": 16, "computed": 16, "start": 8, "read": 16, "write": 16}


def text(shape: tuple[int, ...] = (1, 2), **places: str) -> str:
    *leading, rows, columns = shape
    part = ", ".join(
        [
            *(f"0:{size}" for size in leading),
            f"i * {rows} : i * {rows} + {rows}",
            f"x * {columns} : x * {columns} + {columns}",
        ]
    )
    bodies = {
        place: indent(places.get(place, "pass").strip("\n"), " " * width)
        for place, width in INDENTS.items()
    }
    return PROGRAM.format(shape=shape, part=part, **bodies)


def run(path: Path, backend: str, capsys: Any, shape: tuple[int, ...], dtype: Any) -> list[str]:
    """What was printed: a text a print(), in the order of each kernel's own."""
    *leading, rows, columns = shape
    size = (*leading, rows * 64, columns * 64)
    values = np.random.default_rng(3).standard_normal(size).astype(np.float32) * 10
    device = ttnn.open_device(device_id=0)
    a = ttl.from_numpy(values, dtype=dtype, device=device)
    y = ttnn.full(size, 0.0, dtype, layout=ttnn.TILE_LAYOUT, device=device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TTL_BACKEND", backend)
        load_file(path).operation(a, y)
    out: str = capsys.readouterr().out
    texts: list[str] = []
    for line in out.splitlines():
        if line.startswith(("(0, 0) ", "(1, 0) ")):
            texts.append(line)
        else:
            texts[-1] += "\n" + line
    return sorted(texts, key=lambda each: each.split(":")[0])


PRINTS: dict[str, dict[str, str]] = {
    "texts and scalars": {
        "compute": "print('i', i, i * 2 - 3, 'x%{}y{z}', 1.5, True, None, scale)",
        "read": "print(x, i / 2, i == x, 'a\\\\b \"c\" \\u00e9 ??/', (x, 'y', (i,)), [i])",
        "write": "print()\nprint('')\nprint('one\\ntwo', i)",
    },
    "formats": {"read": "print(f'{i:03d} {i / 3:.3f} {scale:>4} {{}} {x}', f'{scale}')"},
    "blocks": {
        "compute": "print('in', i, a_blk, 'behind', i + 1)",
        "computed": "print(y_blk)\nprint(y_blk, 1)",
        "read": "print(a_blk)",
        "write": "print('y:', y_blk)",
    },
    "block expressions": {"compute": "print('sum', a_blk + a_blk, i)\nprint(a_blk * 2.0)"},
    "blocks that are added to": {
        "compute": "y_blk.store(a_blk)\nfor j in range(2):\n    y_blk += a_blk\n    print(j, y_blk)"
        "\nprint(y_blk)\nprint(y_blk * a_blk)",
    },
    "buffers": {
        "compute": "print(a_dfb)\nprint('y', y_dfb, i)",
        "read": "print(a_dfb)",
        "write": "print(y_dfb)",
    },
    "threads": {
        "compute": "print('u', i, thread='unpack')\nprint('m', thread='math')\n"
        "print(i, thread='pack')\nprint(a_blk, thread='pack')",
        "read": "print(x, thread='pack')",
    },
    "tensors": {
        "start": "print('A', a, x)\nprint(a, num_pages=3)\nprint(y, num_pages=1000)",
    },
    "separators and ends": {
        "compute": "print('a', i, a_blk, i, sep=' {} ', end='!\\n')\nprint(i, end='', flush=True)",
        "read": "print('x', i, sep=None, end=' ')\nprint('y', sep='')\nprint('\\n', end='')",
    },
    "halves of characters": {
        "compute": "print('\\ud800', i, sep='\\udc80')",
        "read": "print(f'{i}\\udc80')",
    },
    "numbers of two kinds": {
        "compute": "n = 0 if i else 1.5\nprint(n, n + 1)",
        "read": "n = 2.5\nif x:\n    n = 2\nm = True if i else 3\nprint(n * 2, m)",
        "write": "print(isinstance(1.0 if x else 1, int), f'{i!r:4}|{i!s:>3}|{i / 3!r}')",
    },
    "branches and functions": {
        "compute": "if i == 1:\n    print('one', a_blk)\nelse:\n    print('zero')",
        "read": "def show(n):\n    print('shown', n)\nshow(i)\nshow(x + 7)",
    },
}


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32], ids=str)
@pytest.mark.parametrize("name", PRINTS)
def test_the_same_text(name: str, dtype: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "program.py"
    path.write_text(text(**PRINTS[name]), encoding="utf-8")
    simulated = run(path, "sim", capsys, (1, 2), dtype)
    assert len(simulated) >= 4
    if name == "buffers":  # how full they are depends on who runs first
        simulated = [each.split(" rd_ptr")[0] for each in simulated]
        compiled = [each.split(" rd_ptr")[0] for each in run(path, "host", capsys, (1, 2), dtype)]
    else:
        compiled = run(path, "host", capsys, (1, 2), dtype)
    assert compiled == simulated


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (2, 2, 1), (5, 1, 1), (6, 2, 1, 1)], ids=str)
def test_blocks_of_all_shapes(shape: tuple[int, ...], tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "program.py"
    path.write_text(text(shape, read="print(a_blk)", computed="print(y_blk)"))
    simulated = run(path, "sim", capsys, shape, ttnn.bfloat16)
    assert run(path, "host", capsys, shape, ttnn.bfloat16) == simulated


ROWS = """import ttl


@ttl.operation(grid=(1, 1))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(2, 5), block_count=4)
    one_dfb = ttl.make_dataflow_buffer_like(a, shape=(70,), block_count=1)

    @ttl.datamovement()
    def read():
        print('A', a, num_pages=2)
        for i in range(2):
            first, second = a_dfb.reserve(), a_dfb.reserve()
            ttl.copy(a[2 * i : 2 * i + 2, 0:5], first).wait()
            ttl.copy(a[2 * i : 2 * i + 2, 7:12], second).wait()
            print(i, first, 'and')
            print(second)
            first.push()
            second.push()
        with one_dfb.reserve() as one:
            ttl.copy(a[0, 0:70], one).wait()
            print(one)

    @ttl.datamovement()
    def write():
        for i in range(4):
            with a_dfb.wait() as block:
                print(block)
                ttl.copy(block, y[2 * i : 2 * i + 2, 0:5]).wait()
        with one_dfb.wait() as one:
            print('seen', one)
            ttl.copy(one, a[3, 0:70]).wait()
"""


@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32, ttnn.int32, ttnn.uint16], ids=str)
def test_rows(dtype: Any, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row-major blocks and tensors."""
    path = tmp_path / "program.py"
    path.write_text(ROWS)
    values = np.arange(4 * 70).reshape(4, 70) * 7
    texts = []
    for backend in ("sim", "host"):
        device = ttnn.open_device(device_id=0)
        rows = ttnn.ROW_MAJOR_LAYOUT
        a = ttl.from_numpy(values, dtype=dtype, layout=rows, device=device)
        y = ttl.from_numpy(np.zeros((8, 5)), dtype=dtype, layout=rows, device=device)
        monkeypatch.setenv("TTL_BACKEND", backend)
        load_file(path).operation(a, y)
        texts.append(sorted(capsys.readouterr().out.split("(0, 0)")))
    assert texts[0] == texts[1] and len(texts[0]) == 12


def test_a_buffer_of_one_kernel_step_by_step(tmp_path: Path, capsys: Any) -> None:
    """Nobody else has touched the buffer yet, so all fields are known."""
    path = tmp_path / "program.py"
    steps = "print(a_dfb)\nblk = a_dfb.reserve()\nprint(a_dfb)\n"
    steps += "ttl.copy(a[0:1, 0:2], blk).wait()\nblk.push()\nprint('pushed')"
    two, one = (f"range({count}):\n            with a_dfb.reserve" for count in (2, 1))
    path.write_text(text(start=steps).replace(two, one))
    simulated = run(path, "sim", capsys, (1, 2), ttnn.float32)
    assert run(path, "host", capsys, (1, 2), ttnn.float32) == simulated
    assert any("rd_ptr=0 wr_ptr=0 wr_tile_ptr=2 filled=0" in each for each in simulated)


def test_kernels_that_print_are_accepted_by_the_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    places: dict[str, str] = {}
    shown = (
        "texts and scalars",
        "formats",
        "blocks",
        "buffers",
        "threads",
        "tensors",
        "separators and ends",
    )
    for name in shown:
        for place, body in PRINTS[name].items():
            places[place] = places.get(place, "") + "\n" + body
    path = tmp_path / "program.py"
    path.write_text(text(**places), encoding="utf-8")
    monkeypatch.setenv("TTL_COMPILE_TO", str(tmp_path / "out"))
    run(path, "host", capsys, (1, 2), ttnn.bfloat16)
    kernel = (tmp_path / "out" / "kernels" / "compute.cpp").read_text()
    assert all(f"DPRINT_{thread}(" in kernel for thread in ("UNPACK", "MATH", "PACK"))
    assert check_folder(tmp_path / "out", ["wormhole_b0", "blackhole"]) == []
    # Printing switched on: this compiler cannot check formats, but it knows what has no text.
    monkeypatch.setattr(translation_unit, "_COMMON", (*COMMON, "DEBUG_PRINT_ENABLED"))
    found = check_folder(tmp_path / "out", ["wormhole_b0"])
    assert [each for each in found if not NOT_CONSTANT.search(each)] == []


COMMON = translation_unit._COMMON
NOT_CONSTANT = re.compile("not a constant expression|non-constant condition")


WRONG = {
    "two objects": ({"read": "print(a_blk, a_dfb)"}, codes.WRONG_ARGUMENT, "at most one tensor"),
    "no page": ({"start": "print(a, num_pages=0)"}, codes.WRONG_ARGUMENT, "num_pages=0"),
    "run-time pages": ({"start": "print(a, num_pages=x)"}, codes.NOT_IN_KERNELS, "options"),
    "options": ({"read": "print(i, file=None)"}, codes.NOT_IN_KERNELS, "file="),
    "no text": ({"read": "print(i, end=3)"}, codes.WRONG_ARGUMENT, "end=3"),
    "thread": ({"compute": "print(i, thread='dst')"}, codes.WRONG_ARGUMENT, "thread='dst'"),
    "tensor in compute": ({"compute": "print(a)"}, codes.WRONG_KERNEL_KIND, "print a tensor"),
    "conversion": ({"read": "print(f'{i!r:.1}')"}, codes.NOT_IN_KERNELS, "converted"),
    "block in a text": ({"read": "print(f'{a_blk}')"}, codes.NOT_IN_KERNELS, "a block"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_printed(name: str, tmp_path: Path, capsys: Any) -> None:
    places, code, message = WRONG[name]
    path = tmp_path / "program.py"
    path.write_text(text(**places))
    with pytest.raises(ttl.TTLError) as caught:
        run(path, "host", capsys, (1, 2), ttnn.bfloat16)
    (found,) = caught.value.diagnostics
    assert found.code is code and message in found.message
    assert found.primary is not None and found.primary.span.file == str(path)


def test_signposts_are_in_the_trace_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Names of any characters, two of which are the same for the profiler."""
    zones = "with ttl.signpost('load a'):\n    with ttl.signpost('load_a'):\n        pass"
    path = tmp_path / "program.py"
    path.write_text(text(read=zones, compute=zones))
    events = []
    for backend in ("sim", "host"):
        trace = tmp_path / f"{backend}.jsonl"
        monkeypatch.setenv("TTL_TRACE", str(trace))
        monkeypatch.setenv("TTL_TRACE_EVENTS", "signpost")
        run(path, backend, capsys, (1, 2), ttnn.bfloat16)
        lines = trace.read_text().splitlines()
        events.append(sorted(line.split(", ", 1)[1] for line in lines))
    assert len(events[0]) == 2 * 2 * 2 * 4  # nodes, kernels, steps, ends of two zones
    assert events[0] == events[1]
    assert any('"load a"' in line for line in events[0])
