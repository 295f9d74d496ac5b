"""Pages in a real browser: they load, keys and clicks work, and they look as they did."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from e2e.test_tune import TUNED
from ttl.passes import PIPELINE
from ttl.studio.view import Shown, page_of, serve
from view.chromium import Tab, page_address
from view.programs import line_of, ttl

PANELS = ["timeline", "memory", "graph", "code", "heat", "diagnostics"]
LIT = "[...document.querySelectorAll('.column.{} .line.lit')].map((line) => line.textContent)"
TABS = "[...document.querySelectorAll('#tabs button')].map((tab) => tab.dataset.panel)"


def shown_panels(tab: Tab) -> list[str]:
    found: list[str] = tab.evaluate(
        "[...document.querySelectorAll('.panel')].filter((panel) => !panel.hidden)"
        ".map((panel) => panel.classList[1])"
    )
    return found


def text_of(tab: Tab, selector: str) -> str:
    return str(tab.evaluate(f"document.querySelector({json.dumps(selector)}).textContent"))


def test_a_run_has_six_panels_which_keys_open(page: Path, tab: Tab) -> None:
    tab.open(page_address(page))
    assert tab.evaluate(TABS) == PANELS
    for number, panel in enumerate(PANELS, 1):
        tab.press(str(number))
        assert shown_panels(tab) == [panel]
    tab.click_on("#tabs button", 2)
    assert shown_panels(tab) == ["graph"]


def test_the_file_is_one_and_may_load_nothing(page: Path, tab: Tab) -> None:
    text = page.read_text()
    assert "default-src 'none'" in text
    assert "src=" not in text.replace("default-src=", "") and "@import" not in text
    tab.open(page_address(page))
    assert [each for each in tab.requests if each != "about:blank"] == [page_address(page)]


def test_the_timeline_zooms_and_moves(page: Path, tab: Tab) -> None:
    def shown() -> tuple[float, float]:
        begin, end = tab.evaluate("document.querySelector('canvas.tracks').dataset.shown").split()
        return float(begin), float(end)

    tab.open(page_address(page, "timeline"))
    tab.frame()
    begin, end = shown()
    tab.press("w")
    closer = shown()
    assert closer[1] - closer[0] == pytest.approx((end - begin) / 2)
    tab.press("a")
    assert shown()[0] < closer[0]
    tab.press("0")
    assert shown() == (begin, end)
    x, y = tab.middle("canvas.tracks")
    tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400, modifiers=2)
    tab.frame()
    assert shown()[1] - shown()[0] < end - begin


def test_a_search_finds_waits_and_goes_to_them(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "timeline"))
    tab.press("/")
    tab.type("empty x_dfb")
    assert text_of(tab, "#matches").endswith("matches")
    assert not text_of(tab, "#matches").startswith("0")
    tab.press("Enter")
    assert "waits: buffer empty, x_dfb" in text_of(tab, ".details")
    assert f"line {line_of('with x_dfb.wait()')}" in text_of(tab, ".details")


def test_a_slice_leads_to_its_line_in_all_three_texts(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "timeline"))
    tab.press("/")
    tab.type("full x_dfb")
    tab.press("Enter")
    tab.press("Enter")
    assert shown_panels(tab) == ["code"]
    (python,) = tab.evaluate(LIT.format("python"))
    assert "with x_dfb.reserve() as x_blk:" in python
    assert any("dfb_reserve" in line for line in tab.evaluate(LIT.format("ir")))
    assert any("cb_reserve_back(x_dfb" in line for line in tab.evaluate(LIT.format("cpp")))


def test_a_click_on_the_timeline_shows_what_is_there(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "timeline"))
    box = tab.evaluate(
        "(() => { const box = document.querySelector('canvas.tracks').getBoundingClientRect();"
        " return [box.x, box.y, box.width]; })()"
    )
    left, top, width = box
    for share in (0.3, 0.4, 0.5):  # the first track: one of its slices is at each of these
        tab.click(left + width * share, top + 36 + 19 + 10)
        assert "compute on node (0, 0)" in text_of(tab, ".details")
    tab.press("Escape")
    assert "Drag to move" in text_of(tab, ".details")


def test_what_is_under_the_pointer_is_lit_in_the_other_texts(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "code"))
    line = line_of("y_blk.store(x_blk + x_blk)")
    tab.move(*tab.middle(".column.python .line code", line - 1))
    assert any('"ttl.add"' in each for each in tab.evaluate(LIT.format("ir")))
    assert any("add_tiles" in each for each in tab.evaluate(LIT.format("cpp")))
    tab.move(*tab.middle(".column.python .line code", line_of("import ttl") - 1))
    assert tab.evaluate(LIT.format("cpp")) == []


def test_every_stage_is_there_and_can_be_stepped_through(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "code"))
    names = tab.evaluate(
        "[...document.querySelectorAll('[aria-label=\"stage of the IR\"] option')]"
        ".map((option) => option.textContent.split(/ +/)[1])"
    )
    assert names == ["frontend", *PIPELINE]
    assert "ttl.dfb_reserve" in text_of(tab, ".column.ir .lines")
    before = text_of(tab, ".column.ir .lines")
    tab.press("]")
    assert text_of(tab, ".column.ir .lines") != before
    for _ in PIPELINE:
        tab.press("]")
    assert "emitc" in text_of(tab, ".column.ir .lines")
    tab.press("c")
    assert tab.evaluate("document.querySelectorAll('.column.ir:not([hidden])').length") == 2
    tab.press("k")
    assert "noc_async_read" in text_of(tab, ".column.cpp .lines")


def test_l1_has_the_buffers_of_a_node(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "memory"))
    rows = tab.evaluate(
        "[...document.querySelectorAll('.memory tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    assert [row[:2] for row in rows[:2]] == [["x_dfb", "buffer"], ["y_dfb", "buffer"]]
    assert [row[6] for row in rows[:2]] == ["4", "4"]  # pushes of this node
    assert rows[0][2].replace("\u202f", "") == str(2 * 2048)
    tab.press("ArrowRight")
    assert tab.evaluate("document.querySelector('.memory select').value") == "node (1, 0)"


def test_the_graph_has_nodes_pipes_and_traffic(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "graph"))
    tab.frame()
    assert tab.evaluate("document.querySelectorAll('.cell').length") == 2
    assert tab.evaluate("document.querySelectorAll('path.pipe').length") == 1
    boxes = tab.evaluate(
        "[...document.querySelectorAll('.box text:not(.small)')].map((text) => text.textContent)"
    )
    assert boxes == ["x", "read", "x_dfb", "compute", "y_dfb", "write", "y"]
    assert "8 blocks" in text_of(tab, ".flow")
    tab.click_on(".cell", 1)
    assert "node (1, 0)" in text_of(tab, ".graph .bar")
    assert "4 blocks" in text_of(tab, ".flow")
    assert "receives 8 KiB" in text_of(tab, ".flow")


def test_lines_have_their_costs_and_lead_to_the_code(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "heat"))
    assert "estimated time" in text_of(tab, ".summary")
    line = line_of("y_blk.store(x_blk + x_blk)")
    row = f".heatline[data-line='{line}']"
    numbers = tab.evaluate(
        f'[...document.querySelector("{row}").children].map((cell) => cell.textContent)'
    )
    assert numbers[0] == str(line)
    assert int(numbers[2].replace("\u202f", "")) > 0  # busy cycles
    tab.evaluate(f'document.querySelector("{row}").scrollIntoView()')
    tab.click_on(row)
    assert shown_panels(tab) == ["code"]
    assert any("y_blk.store" in each for each in tab.evaluate(LIT.format("python")))


def test_diagnostics_of_a_run_that_failed(deadlock_page: Path, tab: Tab) -> None:
    tab.open(page_address(deadlock_page, "diagnostics"))
    assert "TTL5001" in text_of(tab, ".diagnostic h2")
    assert "help:" in text_of(tab, ".diagnostic")
    assert text_of(tab, ".count.error") == "1"
    tab.click_on(".place button.link")
    assert shown_panels(tab) == ["code"]
    assert len(tab.evaluate(LIT.format("python"))) == 1
    tab.press("1")
    assert shown_panels(tab) == ["timeline"]


def test_dark_where_the_system_is_dark_and_at_a_key(page: Path, tab: Tab) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    tab.open(page_address(page), theme="dark")
    dark = tab.evaluate(background)
    tab.press("t")
    light = tab.evaluate(background)
    assert (dark, light) == ("rgb(18, 22, 28)", "rgb(255, 255, 255)")


def test_the_keys_are_told(page: Path, tab: Tab) -> None:
    tab.open(page_address(page))
    tab.press("?")
    assert tab.evaluate("document.querySelector('#keys').open") is True
    assert "estimated times" in text_of(tab, "#keys")


@pytest.mark.parametrize("panel", PANELS)
def test_nothing_sticks_out_of_a_narrow_screen(page: Path, tab: Tab, panel: str) -> None:
    tab.open(page_address(page, panel), width=420, height=800)
    tab.frame()
    assert tab.evaluate("document.documentElement.scrollWidth") <= 420


def test_estimated_times(page: Path, tab: Tab) -> None:
    tab.open(page_address(page, "timeline"))
    for what in ("events", "steps"):
        tab.press("e")
        tab.wait_for(f"document.querySelector('.details').textContent.includes(' {what}. ')")
        assert "those of the model" in text_of(tab, ".details")
        tab.press("n")
        assert "µs" in text_of(tab, ".details")


def test_lower_shows_the_code_alone(folder: Path, tab: Tab) -> None:
    file = folder / "lower.html"
    assert ttl("lower", "-o", file, folder / "double.py") == 0  # though its assertion fails
    tab.open(page_address(file))
    assert tab.evaluate(TABS) == ["code", "diagnostics"]
    assert shown_panels(tab) == ["code"]
    assert "cb_wait_front" in text_of(tab, ".column.cpp .lines")


def test_lower_shows_how_far_it_came(folder: Path, tab: Tab) -> None:
    file = folder / "refused.html"
    assert ttl("lower", "-o", file, folder / "stuck.py") == 1
    tab.open(page_address(file))
    assert "TTL5001" in text_of(tab, ".diagnostic h2")
    tab.press("1")
    assert "ttl.dfb_wait" in text_of(tab, ".column.ir .lines")
    assert "not compiled" in text_of(tab, ".column.cpp .lines")


@pytest.mark.parametrize("has_source", [False, True])
def test_a_trace_alone(page: Path, folder: Path, tab: Tab, has_source: bool) -> None:
    file = folder / f"trace{has_source}.html"
    source = ["--source", folder / "double.py"] if has_source else []
    assert ttl("view", folder / "double.jsonl", "-o", file, *source) == 0
    tab.open(page_address(file))
    assert tab.evaluate(TABS) == PANELS
    for panel in PANELS:
        tab.press(str(PANELS.index(panel) + 1))
        assert shown_panels(tab) == [panel]
    tab.press("5")
    assert ("y_blk.store" in text_of(tab, ".heatlines")) is has_source
    assert "No estimate" in text_of(tab, ".summary")


@pytest.mark.parametrize("runs", [False, True])
def test_a_compiled_operation(folder: Path, tab: Tab, runs: bool) -> None:
    bundle, file = folder / "bundle", folder / f"bundle{runs}.html"
    if not bundle.exists():
        assert ttl("compile", "-o", bundle, folder / "double.py") == 0
    assert ttl("view", bundle, "-o", file, *(["--run"] if runs else [])) == 0
    tab.open(page_address(file))
    shown = PANELS if runs else ["memory", "graph", "code", "diagnostics"]
    assert tab.evaluate(TABS) == shown
    tab.press(str(shown.index("code") + 1))
    assert "y_blk.store" in text_of(tab, ".column.python .lines")
    tab.press(str(shown.index("graph") + 1))
    tab.frame()
    assert tab.evaluate("document.querySelectorAll('.box').length") == 7


def test_a_graph_of_ttnn(folder: Path, tab: Tab) -> None:
    from ttgraph.dialects import make_context
    from ttgraph.flatbuffer import compile_module
    from ttl.dialects.reading import parse_module

    text = """
    func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x32xf32>) -> tensor<32x32xf32> {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
      %z = stablehlo.tanh %y : tensor<32x32xf32>
      return %z : tensor<32x32xf32>
    }
    """
    model, file = folder / "model.ttnn", folder / "model.html"
    model.write_bytes(compile_module(parse_module(text, "model.mlir", make_context())))
    assert ttl("view", model, "-o", file) == 0
    tab.open(page_address(file, "graph"))
    tab.frame()
    assert tab.evaluate(TABS) == ["graph", "diagnostics"]
    names = text_of(tab, ".flow")
    assert "matmul" in names and "tanh" in names and "32\u00d732" in names
    assert tab.evaluate("document.querySelectorAll('.flow path.link').length") >= 3


def test_a_page_is_served(tab: Tab) -> None:
    from threading import Thread

    ports: list[int] = []
    server = Thread(
        target=serve,
        args=(lambda: page_of(Shown("served", "ttl view --port")), 0, ports.append),
        daemon=True,
    )
    server.start()
    while not ports:
        server.join(0.01)
    address = f"http://127.0.0.1:{ports[0]}/"
    with pytest.raises(HTTPError):
        urlopen(f"{address}other")
    tab.open(address)
    assert text_of(tab, "#title") == "served"


def test_titles_are_text(tab: Tab, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of(Shown("</title><script>x</script>", "")))
    tab.open(page_address(file))
    assert text_of(tab, "#title") == "</title><script>x</script>"


def test_what_tuning_has_found_has_a_panel(folder: Path, tab: Tab) -> None:
    file = folder / "tuned.html"
    (folder / "tuned.py").write_text(TUNED)
    assert ttl("view", "--no-open", "-o", file, folder / "tuned.py") == 0
    tab.open(page_address(file))
    assert tab.evaluate(TABS) == [*PANELS, "tuning"]
    tab.press("7")
    assert shown_panels(tab) == ["tuning"]
    assert "twice(x=32x256): 3 trials in " in text_of(tab, ".ttl-tuning")
    assert text_of(tab, ".ttl-tuning tr.best td") == "2"
    assert tab.evaluate("document.querySelectorAll('.ttl-tuning svg rect').length") == 4
