"""Pictures of estimates: what the threads of a node do over time, as SVG.

    PYTHONPATH=src:tests python -m docs_site.timelines

draws them anew for the tutorial and the gallery. They show the model, not a measurement, so the
tests ask only that they are there.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from docs_site.gallery_pages import PROGRAMS
from docs_site.pages import DOCS, TUTORIAL, file_name, program_of
from ttl.cli import main

# The operation of each page that its picture shows.
SHOWN = {
    "1-add": "add",
    "2-blocks-and-buffers": "scaled_add",
    "3-matmul": "matmul",
    "4-fusion": "layer",
    "5-softmax": "softmax",
    "6-pipes": "multicast_matmul",
    "7-semaphores-and-meshes": "total_of_rows",
    "8-flash-attention": "flash_attention",
}
LEFT, WIDTH, ROW, TOP = 150, 640, 26, 34
# Colours that colour-blind people can tell apart; waiting is the background.
KINDS = {
    "moves data": ("#0072B2", r"noc_async_(read|write)_(page|multicast).*|noc_async_(read|write)"),
    "unpacks": ("#56B4E9", r"copy_.*|unary_bcast|transpose.*"),
    "computes or waits for operands": (
        "#E69F00",
        r".*_(tile|tiles|block)(_\w+)?|sfpu_reduce|copy_dest_values",
    ),
    "packs": ("#009E73", r"pack_(tile|block).*"),
    "sets up": ("#CC79A7", r".*init.*|.*reconfig.*|compute_kernel_hw_startup|pack_relu_config"),
    "waits": ("#DDDDDD", r".*wait.*|cb_.*|.*barrier.*|tile_regs_.*|.*semaphore.*"),
}
ORDER = ("sets up", "packs", "unpacks", "waits", "moves data", "computes or waits for operands")


@dataclass(frozen=True, slots=True)
class Bar:
    thread: str
    kind: str
    start: float
    end: float


def kind_of(name: str, thread: str) -> str:
    found = next((kind for kind in ORDER if re.fullmatch(KINDS[kind][1], name)), "waits")
    return "unpacks" if found.startswith("computes") and thread.endswith("unpack") else found


def bars_of(program: Path, position: int) -> tuple[str, list[Bar]]:
    """The first node of the operation that is called at this position, and its steps."""
    events = _events(program)
    starts = [
        n
        for n, event in enumerate(events)
        if event.get("name") == "process_name" and event["pid"] == 0
    ]
    ends = [*starts[1:], len(events)]
    mine = [e for e in events[starts[position] : ends[position]] if e["pid"] == 0]
    node = next(e["args"]["name"] for e in mine if e["name"] == "process_name")
    threads = {e["tid"]: e["args"]["name"] for e in mine if e["name"] == "thread_name"}
    bars = [
        Bar(threads[e["tid"]], kind_of(e["name"], threads[e["tid"]]), e["ts"], e["ts"] + e["dur"])
        for e in mine
        if e["ph"] == "X"
    ]
    return node, bars


def _events(program: Path) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "timeline.json"
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["estimate", "--timeline", str(file), str(program)]) == 0, program
        events: list[Any] = json.loads(file.read_text())["traceEvents"]
        return events


def columns_of(bars: list[Bar], first: float, last: float) -> list[str]:
    """For each column of the picture what takes most of it."""
    columns: list[dict[str, float]] = [{} for _ in range(WIDTH)]
    scale = WIDTH / (last - first)
    for bar in bars:
        start, end = (bar.start - first) * scale, (bar.end - first) * scale
        for n in range(int(start), min(int(end) + 1, WIDTH)):
            share = min(end, n + 1) - max(start, n)
            columns[n][bar.kind] = columns[n].get(bar.kind, 0) + share
    return [max(each, key=lambda kind: each[kind]) if each else "waits" for each in columns]


def picture(title: str, bars: list[Bar]) -> str:
    first, last = min(bar.start for bar in bars), max(bar.end for bar in bars)
    threads = list(dict.fromkeys(bar.thread for bar in bars))
    threads.sort(key=lambda name: (name.endswith("writer"), not name.endswith("reader")))
    height = TOP + ROW * len(threads) + 62
    return (
        "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" '
                f'viewBox="0 0 {LEFT + WIDTH + 20} {height}" '
                'font-family="sans-serif" font-size="13">',
                f"<title>{escape(title)}</title>",
                '<rect width="100%" height="100%" rx="6" fill="#ffffff"/>',
                f'<text x="12" y="21" font-weight="bold">{escape(title)}</text>',
                *(
                    line
                    for n, thread in enumerate(threads)
                    for line in _row(
                        n, thread, [b for b in bars if b.thread == thread], first, last
                    )
                ),
                *_axis(TOP + ROW * len(threads), last - first),
                *_legend(height - 12),
                "</svg>",
            ]
        )
        + "\n"
    )


def _row(number: int, thread: str, bars: list[Bar], first: float, last: float) -> Iterator[str]:
    y = TOP + number * ROW
    yield f'<text x="12" y="{y + 15}">{escape(thread)}</text>'
    yield (
        f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{ROW - 6}" fill="{KINDS["waits"][0]}"/>'
    )
    x = LEFT
    for kind, group in groupby(columns_of(bars, first, last)):
        length = len(list(group))
        if kind != "waits":
            yield (
                f'<rect x="{x}" y="{y}" width="{length}" height="{ROW - 6}" '
                f'fill="{KINDS[kind][0]}"/>'
            )
        x += length


def _axis(y: int, duration: float) -> Iterator[str]:
    yield f'<text x="{LEFT}" y="{y + 12}" fill="#555555">0</text>'
    yield (
        f'<text x="{LEFT + WIDTH}" y="{y + 12}" text-anchor="end" fill="#555555">'
        f"{duration:.3g} us, estimated</text>"
    )


def _legend(y: int) -> Iterator[str]:
    x = LEFT
    for kind, (colour, _) in KINDS.items():
        yield f'<rect x="{x}" y="{y - 11}" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{x + 17}" y="{y}">{kind}</text>'
        x += 30 + 7 * len(kind)


def draw_tutorial(folder: Path) -> None:
    for page in TUTORIAL:
        shown = SHOWN[page.stem]
        with tempfile.TemporaryDirectory() as temporary:
            program = Path(temporary) / file_name(page)
            text = program_of(page)
            program.write_text(text, encoding="utf-8")
            names = re.findall(r"^@ttl\.operation\(.*\)\ndef (\w+)", text, re.MULTILINE)
            node, bars = bars_of(program, names.index(shown))
        (folder / f"{page.stem}.svg").write_text(picture(f"{shown}, {node}", bars))


def draw_gallery(folder: Path) -> None:
    for program in PROGRAMS:
        node, bars = bars_of(program, 0)
        (folder / f"{program.stem}.svg").write_text(picture(f"{program.stem}, {node}", bars))


if __name__ == "__main__":
    draw_tutorial(DOCS / "tutorial" / "pictures")
    draw_gallery(DOCS / "gallery" / "pictures")
