"""How large a page of a long run is, and how soon it is there: `python -m benchmarks.view_speed`.

Kernels of 64 nodes go through their events in a random order, 100,000 on each node, which is harder
to pack than any run. First paint: from the navigation of a headless Chromium to the first frame
with the timeline in it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from array import array
from pathlib import Path
from time import perf_counter

import numpy as np

from ttl.studio.view import Events, Shown, page_of
from ttl.trace import EventKind

ROOT = Path(__file__).parents[1]
LIMIT_BYTES, LIMIT_SECONDS = 20_000_000, 2.0
RUNS = 5
# JavaScript: milliseconds from a click on + to the end of the frame.
ZOOM = """new Promise((done) => {
    const start = performance.now();
    document.querySelector('.group button:nth-child(2)').click();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
PIPE = "pipe (0, 0) -> (1:8, 0)"
# Events that each kernel repeats: kind, subject, value, line.
STEPS = {
    "read": (
        ("buffer_reserve", "a_dfb", 1, 46),
        ("copy_start", "a", 8192, 49),
        ("copy_end", "a", 8192, 50),
        ("pipe_send", PIPE, 8192, 51),
        ("kernel_blocked", PIPE, 0, 52),
        ("kernel_resumed", PIPE, 0, 52),
        ("pipe_send_end", PIPE, 8192, 52),
        ("buffer_push", "a_dfb", 2, 60),
        ("kernel_blocked", "a_dfb", 2, 46),
        ("kernel_resumed", "a_dfb", 2, 46),
    ),
    "compute": (
        ("kernel_blocked", "a_dfb", 0, 34),
        ("kernel_resumed", "a_dfb", 0, 34),
        ("buffer_wait", "a_dfb", 1, 34),
        ("buffer_pop", "a_dfb", 0, 34),
        ("buffer_reserve", "y_dfb", 0, 36),
        ("buffer_push", "y_dfb", 1, 36),
    ),
    "write": (
        ("kernel_blocked", "y_dfb", 0, 85),
        ("kernel_resumed", "y_dfb", 0, 85),
        ("buffer_wait", "y_dfb", 1, 85),
        ("copy_start", "y", 8192, 86),
        ("copy_end", "y", 8192, 87),
        ("buffer_pop", "y_dfb", 0, 85),
    ),
}


def random_run(nodes: int, events_of_node: int) -> Events:
    """Make events of the kernels of all nodes, in random order."""
    found = Events()
    kinds = {kind.value: number for number, kind in enumerate(EventKind)}
    own = events_of_node // len(STEPS)
    shapes, values = [], []
    tracks: list[int] = []
    for node in range(nodes):
        for kernel, steps in STEPS.items():
            tracks.append(found.tracks.setdefault(((node % 8, node // 8), kernel), len(tracks)))
            keys = [(kinds[kind], subject, line) for kind, subject, _, line in steps]
            numbers = [found.shapes.setdefault(key, len(found.shapes)) for key in keys]
            first = found.shapes.setdefault((kinds["kernel_start"], "", 0), len(found.shapes))
            shapes.append(np.concatenate(([first], np.resize(numbers, own - 1))))
            values.append(np.concatenate(([0], np.resize([step[2] for step in steps], own - 1))))
    order = np.random.default_rng(0).permutation(np.repeat(tracks, own))
    by_track = np.argsort(order, kind="stable")
    shape, value = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    shape[by_track], value[by_track] = np.concatenate(shapes), np.concatenate(values)
    found.ticks = array("q", np.arange(len(order)).tobytes())
    found.values = array("q", value.tobytes())
    found.track_of = array("l", order.astype(np.int64).tobytes())
    found.shape_of = array("l", shape.tobytes())
    return found


def first_paints(file: Path) -> list[tuple[float, float]]:
    """Return the seconds to the first paint and of a zoom, for some navigations."""
    sys.path.insert(0, str(ROOT / "tests"))
    from view.chromium import install_chromium, opened, page_address

    if install_chromium() is None:
        return []
    times = []
    with opened() as browser:
        for _ in range(RUNS):
            tab = browser.open_tab()
            tab.open(page_address(file))
            tab.wait_for("document.documentElement.dataset.painted !== undefined")
            painted = float(tab.evaluate("document.documentElement.dataset.painted")) / 1000
            zooms = [tab.evaluate(ZOOM) / 1000 for _ in range(RUNS)]
            assert not tab.problems, tab.problems
            times.append((painted, sorted(zooms)[RUNS // 2]))
            tab.call("Page.navigate", url="about:blank")
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--events", type=int, default=100_000, help="of each node")
    options = parser.parse_args()
    start = perf_counter()
    events = random_run(options.nodes, options.events)
    made = perf_counter()
    page = page_of(Shown("64 nodes", "benchmarks.view_speed", events=events))
    print(f"{options.nodes} nodes x {options.events} events: {len(events)} in all")
    print(f"  made in {made - start:.1f} s, packed in {perf_counter() - made:.1f} s")
    print(f"  page {len(page) / 1e6:.1f} MB (limit {LIMIT_BYTES / 1e6:.0f})")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(page, encoding="utf-8")
        times = first_paints(file)
    if not times:
        print("  no Chromium on this machine")
        return 1
    paints = sorted(each for each, _ in times)
    shown = ", ".join(f"{each:.2f}" for each in paints)
    print(f"  first paint {shown} s (limit {LIMIT_SECONDS:.0f})")
    print(f"  zoom {max(zoom for _, zoom in times) * 1000:.0f} ms")
    return int(len(page) > LIMIT_BYTES or paints[len(paints) // 2] > LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
