"""Makes docs/gallery: an index of examples/gallery, and a page for each program.

    PYTHONPATH=src:tests python -m docs_site.gallery_pages [--estimate]

The words are the programs' own; with --estimate what `ttl estimate` says of them is asked again and
written to estimates.json, from where the pages have it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from docs_site.pages import DOCS, ROOT
from ttl.cli import main

GALLERY = DOCS / "gallery"
SHARED = "against_numpy"  # what the programs import
PROGRAMS = tuple(
    path for path in sorted((ROOT / "examples/gallery").glob("*.py")) if path.stem != SHARED
)
HEAD = """# Gallery

Programs to read, run and change. Each compares its result with numpy, and runs simulated and
compiled:

```console
$ ttl run examples/gallery/rope.py
$ ttl run --host examples/gallery/rope.py
```

The pictures show what the threads of one node do over the estimated time. `ttl examples -t DIR`
copies all programs to a folder."""
KINDS = {
    "Layers of models": (
        "rope",
        "layernorm",
        "rmsnorm",
        "swiglu_mlp",
        "gqa_flash_attention",
        "cross_entropy",
        "embedding_gather",
        "top_k",
    ),
    "Matrices": ("quantized_matmul", "all_gather_matmul", "conv2d", "kmeans_step", "prefix_sum"),
    "Between nodes": ("reduce_scatter", "stencil_halo", "histogram"),
    "Numbers": ("black_scholes", "monte_carlo", "mandelbrot", "game_of_life", "adamw_step"),
}
OTHERS = {
    "examples/elementwise.py": "blocks in, one expression, blocks out",
    "examples/matmul_bias_relu.py": "a product accumulated over a loop, with bias and ReLU",
    "examples/softmax.py": "reductions and broadcasts in one expression",
    "examples/multicast_matmul.py": "nodes that read a block once and send it to others",
    "examples/ring_all_reduce.py": "blocks that go round a ring of nodes, each adds them up",
    "examples/split_sum.py": "partial sums of nodes, and a semaphore that counts them",
    "examples/barrier.py": "semaphores at which all nodes meet",
    "examples/unified/": "these as unified operations, flash attention and an MLP",
    "examples/pieces/": "a transformer block, composed of pieces",
    "examples/pykernel/": "programs of the pykernel DSL",
    "examples/pytorch/": "kernels in models of PyTorch",
}


def words(program: Path) -> tuple[str, str]:
    """The first line of a program's docstring, and the rest."""
    text = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))) or ""
    head, _, rest = text.partition("\n")
    return head, rest.strip()


def estimate(program: Path) -> dict[str, Any]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        assert main(["estimate", "--json", str(program)]) == 0, program
    found: dict[str, Any] = json.loads(printed.getvalue())[0]
    return found


def shown_estimate(values: dict[str, Any]) -> dict[str, Any]:
    """What a page shows of an estimate."""
    best, typical, worst = (values["microseconds"][case] for case in ("best", "typical", "worst"))
    digits = [float(f"{number:.2g}") for number in (typical, best, worst)]
    return {"us": digits, "nodes": values["nodes"], "bound": values["bound"].partition(";")[0]}


def page(program: Path, estimates: dict[str, Any]) -> str:
    name, (head, rest) = program.stem, words(program)
    return "\n".join(
        [
            f"# {name}",
            "",
            head,
            "",
            *([rest, ""] if rest else []),
            f"![What the threads of a node do, by the estimate](pictures/{name}.svg)",
            "",
            _sentence(estimates[name]),
            "",
            "```console",
            f"$ ttl run examples/gallery/{name}.py",
            f"$ ttl run --host examples/gallery/{name}.py",
            f"$ ttl estimate examples/gallery/{name}.py",
            "```",
            "",
            f'```py title="examples/gallery/{name}.py"',
            f'--8<-- "examples/gallery/{name}.py"',
            "```",
            "",
        ]
    )


def _sentence(values: dict[str, Any]) -> str:
    typical, best, worst = (f"{number:g}" for number in values["us"])
    nodes = "1 node" if values["nodes"] == 1 else f"{values['nodes']} nodes"
    return (
        f"Estimated on {nodes} of Wormhole: {typical} us ({best} to {worst}), "
        f"bound by {values['bound']}."
    )


def index(estimates: dict[str, Any]) -> str:
    lines = [HEAD]
    by_name = {program.stem: program for program in PROGRAMS}
    for kind, names in KINDS.items():
        lines += ["", f"## {kind}", "", '<div class="gallery" markdown>', ""]
        for name in names:
            head, _ = words(by_name[name])
            typical = f"{estimates[name]['us'][0]:g}"
            picture = f"[![Timeline of {name}](pictures/{name}.svg)]({name}.md)"
            name_and_time = f"[**{name}**]({name}.md) · {typical} us"
            lines += ["<div markdown>", "", name_and_time, "", head, "", picture, "", "</div>", ""]
        lines.append("</div>")
    lines += ["", "## Other examples", "", "| program | what it shows |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in OTHERS.items()]
    return "\n".join(lines) + "\n"


def files() -> dict[Path, str]:
    """The pages, as they should be."""
    estimates = json.loads((GALLERY / "estimates.json").read_text())
    made = {GALLERY / f"{program.stem}.md": page(program, estimates) for program in PROGRAMS}
    return {GALLERY / "index.md": index(estimates), **made}


if __name__ == "__main__":
    if "--estimate" in sys.argv[1:]:
        found = {program.stem: shown_estimate(estimate(program)) for program in PROGRAMS}
        (GALLERY / "estimates.json").write_text(json.dumps(found, indent=1) + "\n")
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
