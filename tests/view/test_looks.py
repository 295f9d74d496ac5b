"""What pages look like, coarsely: fonts differ between machines, the picture does not.

`pytest --update-golden tests/view` writes the pictures again.
"""

from __future__ import annotations

import base64
import re
from itertools import combinations
from pathlib import Path

import pytest

from ttl.studio.view.page import WEB
from view.chromium import Tab, page_address

PANELS = ("timeline", "memory", "graph", "code", "heat", "diagnostics")
GOLDEN = Path(__file__).parent / "pictures"
COLUMNS, ROWS = 42, 27
NEAR = 16  # of 255, of a cell
PAPER = 12  # so near to the background is nothing
SHARE = 0.8  # of the cells with something that are near

SHRINK = """(async () => {{
    const image = new Image();
    image.src = 'data:image/png;base64,{data}';
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = {columns}; canvas.height = {rows};
    const pen = canvas.getContext('2d');
    pen.imageSmoothingQuality = 'high';
    pen.drawImage(image, 0, 0, {columns}, {rows});
    const {{ data }} = pen.getImageData(0, 0, {columns}, {rows});
    return [...data].filter((_, n) => n % 4 < 3);
}})()"""


def cells(tab: Tab) -> list[int]:
    """The page as few cells: red, green and blue of each."""
    data = base64.b64encode(tab.screenshot()).decode()
    found: list[int] = tab.evaluate(SHRINK.format(data=data, columns=COLUMNS, rows=ROWS))
    return found


def _text(found: list[int]) -> str:
    """A line for each row of cells."""
    width = 3 * COLUMNS
    rows = [bytes(found[start : start + width]) for start in range(0, len(found), width)]
    return "".join(f"{row.hex()}\n" for row in rows)


def _cells(picture: Path) -> list[int]:
    return list(bytes.fromhex(picture.read_text()))


def share_near(one: list[int], other: list[int]) -> float:
    """Of the cells that have something in one picture or the other."""
    paper = one[-3:] * (len(one) // 3)  # the last cell is empty in all panels
    triples = zip(one, other, paper, strict=True)
    pairs = [(a, b) for a, b, c in triples if abs(a - c) > PAPER or abs(b - c) > PAPER]
    return sum(abs(a - b) <= NEAR for a, b in pairs) / len(pairs)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("panel", PANELS)
def test_panels_look_as_they_did(
    page: Path, tab: Tab, panel: str, theme: str, request: pytest.FixtureRequest
) -> None:
    tab.open(page_address(page, panel), theme=theme)
    found, golden = cells(tab), GOLDEN / f"{panel}-{theme}.txt"
    if request.config.getoption("--update-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(_text(found))
    assert share_near(found, _cells(golden)) >= SHARE


def test_pictures_of_panels_differ() -> None:
    """The comparison is not so coarse that any panel looks like any other."""
    for theme in ("light", "dark"):
        pictures = [_cells(GOLDEN / f"{panel}-{theme}.txt") for panel in PANELS]
        for one, other in combinations(pictures, 2):
            assert share_near(one, other) < SHARE


# Colours ------------------------------------------------------------------------------------------

CSS = (WEB / "style.css").read_text()
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root[^{]*\{([^}]*)\}", CSS)[:2]
)
DARK = {**LIGHT, **DARK}
THEMES = {"light": LIGHT, "dark": DARK}
# What the eyes of those see who lack one kind of cones (Machado, Oliveira and Fernandes 2009).
EYES = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
WAITS = ("empty", "full", "pipe", "semaphore")


def linear(color: str) -> list[float]:
    channels = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def luminance(color: str) -> float:
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(color), strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: list[float]) -> list[float]:
    """CIE L*a*b* of linear red, green and blue."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(w * max(c, 0) for w, c in zip(row, rgb, strict=True)) for row in rows]
    x, y, z = (
        v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116
        for v in (xyz[0] / 0.9505, xyz[1], xyz[2] / 1.089)
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("theme", THEMES)
def test_waits_differ_for_all_eyes(theme: str, eyes: str) -> None:
    def seen(name: str) -> list[float]:
        rgb = linear(THEMES[theme][name])
        return lab([sum(w * c for w, c in zip(row, rgb, strict=True)) for row in EYES[eyes]])

    for one, other in combinations((*WAITS, "run"), 2):
        pairs = zip(seen(one), seen(other), strict=True)
        distance = sum((a - b) ** 2 for a, b in pairs) ** 0.5
        assert distance > 10, (one, other)


def test_each_wait_has_a_pattern_and_a_letter_of_its_own() -> None:
    text = (WEB / "base.js").read_text()
    causes = re.findall(r"letter: '(.*?)', pattern: '(.*?)'", text)[1:]
    for column in zip(*causes, strict=True):
        assert len(set(column)) == len(column) and all(column)


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read(theme: str) -> None:
    colors = THEMES[theme]
    for ink in (
        "text",
        "dim",
        "accent",
        "error",
        "warning",
        "note",
        "word",
        "string",
        "digits",
        "comment",
        "name",
    ):
        for paper in ("bg", "panel", "head") if ink in ("text", "dim") else ("bg",):
            assert contrast(colors[ink], colors[paper]) >= 4.5, (ink, paper)
    for paper in ("run", *WAITS, "transfer", "unit"):  # labels of slices
        assert contrast(colors["on"], colors[paper]) >= 4.5, paper
