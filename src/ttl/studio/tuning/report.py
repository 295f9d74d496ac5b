"""Reports of tuning: a self-contained section of HTML, a page with it, and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from ttl.language import Config

from .plot import plot_of, svg, write_png
from .result import TuningResult

PAGE = "tuning.html"
STYLE = """\
.ttl-tuning { background: white; color: #222; padding: 0 12px }
.ttl-tuning table { border-collapse: collapse; font: 13px monospace }
.ttl-tuning td, .ttl-tuning th { padding: 2px 10px; text-align: right }
.ttl-tuning tr { border-bottom: 1px solid #ddd }
.ttl-tuning td.text, .ttl-tuning th.text { text-align: left }
.ttl-tuning tr.best { font-weight: bold }
.ttl-tuning svg { max-width: 100%; height: auto }
"""


def html_section(tunings: Sequence[TuningResult]) -> str:
    """Return HTML for any page: it needs nothing from the page, and changes nothing there."""
    parts = "\n".join(part for tuning in tunings for part in _of_one(tuning))
    return f'<section class="ttl-tuning">\n<style>\n{STYLE}</style>\n{parts}\n</section>\n'


def html_page(tunings: Sequence[TuningResult]) -> str:
    head = '<meta charset="utf-8"><title>tuning</title>'
    section = html_section(tunings)
    return f"<!doctype html>\n<html><head>{head}</head><body>\n{section}</body></html>\n"


def write_report(tunings: Sequence[TuningResult], folder: Path) -> list[Path]:
    """Write the page and a plot for each tuning, as SVG and, with Pillow, PNG; raise OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    page.write_text(html_page(tunings), encoding="utf-8")
    written = [page]
    for number, tuning in enumerate(tunings, 1):
        name = tuning.operation if len(tunings) == 1 else f"{tuning.operation}-{number}"
        plot = plot_of(tuning)
        place = folder / f"{name}.svg"
        place.write_text(svg(plot), encoding="utf-8")
        written.append(place)
        try:
            write_png(plot, place.with_suffix(".png"))
            written.append(place.with_suffix(".png"))
        except ImportError:
            continue
    return written


def _of_one(tuning: TuningResult) -> Iterator[str]:
    yield f"<h2>{escape(tuning.operation)}</h2>\n<p>{escape(tuning.headline)}</p>"
    yield svg(plot_of(tuning))
    names = list(tuning.tried[0][0]) if tuning.tried else []
    heads = "".join(f'<th class="text">{escape(name)}</th>' for name in names)
    yield f"<table>\n<tr>{heads}<th>us</th><th>best</th><th>worst</th></tr>"
    for number, (config, found) in enumerate(tuning.ranked):
        times = (found.typical, found.best, found.worst)
        cells = "".join(f"<td>{each:.1f}</td>" for each in times)
        kind = ' class="best"' if number == 0 else ""
        yield f"<tr{kind}>{_values(config)}{cells}</tr>"
    for config, found in tuning.left_out:
        code = f"[{found.code}] " if found.code else ""
        reason = escape(f"left out: {code}{found.problem}")
        yield f'<tr>{_values(config)}<td class="text" colspan="3">{reason}</td></tr>'
    yield "</table>"


def _values(config: Config) -> str:
    return "".join(f'<td class="text">{escape(repr(each))}</td>' for each in config.values())
