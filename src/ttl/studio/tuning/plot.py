"""Plots the times of configurations: bars, the fastest first, as SVG and as PNG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .result import TuningResult

MOST_BARS = 40
WIDTH, ROW, BAR, MARGIN, FONT = 900, 22, 14, 12, 12
CHARACTER = 0.62 * FONT  # its approximate width
BEST, OTHER, TEXT, RANGE = "#1a7f5a", "#8fb8de", "#333333", "#555555"


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    color: str


@dataclass(frozen=True, slots=True)
class Words:
    x: float
    y: float  # of its middle
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    width: int
    height: int
    parts: tuple[Box | Words, ...]


def plot_of(tuning: TuningResult) -> Plot:
    """Plot a row per configuration: a bar of the typical time, a line from best to worst."""
    height = 2 * MARGIN + ROW * (1 + min(MOST_BARS, len(tuning.ranked)))
    return Plot(WIDTH, height, tuple(_parts(tuning)))


def _parts(tuning: TuningResult) -> Iterator[Box | Words]:
    shown = tuning.ranked[:MOST_BARS]
    more = len(tuning.ranked) - len(shown)
    over = f" ({more} slower ones are not shown)" if more else ""
    yield Words(MARGIN, MARGIN + ROW / 2, f"{tuning.operation}: us, less is better{over}")
    if not shown:
        return
    left = MARGIN + CHARACTER * (max(len(str(config)) for config, _ in shown) + 1)
    scale = max(1.0, WIDTH - left - 90) / max(found.worst for _, found in shown)
    for number, (config, found) in enumerate(shown, 1):
        middle = MARGIN + ROW * number + ROW / 2
        yield Words(MARGIN, middle, str(config))
        color = BEST if number == 1 else OTHER
        yield Box(left, middle - BAR / 2, found.typical * scale, BAR, color)
        start, width = left + found.best * scale, (found.worst - found.best) * scale
        yield Box(start, middle - 1, width, 2, RANGE)
        yield Words(left + found.worst * scale + 6, middle, f"{found.typical:.1f}")


def svg(plot: Plot) -> str:
    size = f'viewBox="0 0 {plot.width} {plot.height}" width="{plot.width}" height="{plot.height}"'
    font = f'font-family="monospace" font-size="{FONT}" fill="{TEXT}"'
    parts = "\n".join(_svg_part(each) for each in plot.parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n{parts}\n</svg>\n'


def _svg_part(part: Box | Words) -> str:
    if isinstance(part, Words):
        place = f'x="{part.x:.1f}" y="{part.y:.1f}" dominant-baseline="central"'
        return f"<text {place}>{escape(part.text)}</text>"
    place = f'x="{part.x:.1f}" y="{part.y:.1f}" width="{part.width:.1f}" height="{part.height:.1f}"'
    return f'<rect {place} fill="{part.color}"/>'


def write_png(plot: Plot, file: Path) -> None:
    """Write a PNG; raise ImportError without Pillow, which the extra `plot` installs."""
    from PIL import Image, ImageDraw, ImageFont

    zoom = 2  # for high-resolution screens
    image = Image.new("RGB", (plot.width * zoom, plot.height * zoom), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(FONT * zoom)
    for part in plot.parts:
        x, y = part.x * zoom, part.y * zoom
        if isinstance(part, Words):
            draw.text((x, y), part.text, fill=TEXT, font=font, anchor="lm")
        else:
            corner = x + part.width * zoom, y + part.height * zoom
            draw.rectangle((x, y, *corner), fill=part.color)
    image.save(file)
