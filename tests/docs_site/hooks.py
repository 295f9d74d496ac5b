"""What MkDocs is told while it builds the site: pages made of the source, the navigation, links."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from mkdocs.structure.files import File, Files  # noqa: E402

from docs_site import reference_pages  # noqa: E402
from docs_site.pages import DOCS  # noqa: E402

# A page of the repository that is no page of the site.
_OUTSIDE = re.compile(
    r"\[([^\]]*)\]\((?:\.\./)+(?:src|tests|examples|benchmarks|[A-Z]+\.md)[^)]*\)"
)


def on_config(config: Any) -> Any:
    config["nav"] = navigation()
    return config


def on_files(files: Files, config: Any) -> Files:
    for path, make in reference_pages.PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The text of a link to the repository is all that is left of it."""
    return _OUTSIDE.sub(r"\1", markdown)


def navigation() -> list[Any]:
    return [
        {"Home": ["index.md", "upgrading.md"]},
        {"Tutorial": ["tutorial/index.md", *_files("tutorial", "[1-8]-*.md")]},
        {"Gallery": ["gallery/index.md", *_files("gallery", "[!i]*.md")]},
        {
            "Concepts": [
                "concepts/machine.md",
                "concepts/buffers-and-states.md",
                "concepts/pipes.md",
                "concepts/numerics.md",
                "concepts/races-and-proofs.md",
                "concepts/unified-and-multi-kernel.md",
                "concepts/compiled-and-simulated.md",
                "concepts/from-python-to-cpp.md",
            ]
        },
        {"Coming from": ["coming-from/index.md", *_files("coming-from", "[!i]*.md")]},
        {"How to": _files("howto", "*.md")},
        {
            "Reference": [
                "reference/api.md",
                "reference/operators.md",
                "reference/ttnn.md",
                "reference/command-line.md",
                "reference/environment.md",
                {
                    "Diagnostics": [
                        "reference/diagnostics.md",
                        *_files("reference/diagnostics", "TTL*.md"),
                    ]
                },
                *(name for name in _files("reference", "*.md") if name not in _PLACED),
            ]
        },
        {"Decisions": ["decisions/index.md", *_files("decisions", "[0-9]*.md")]},
    ]


_PLACED = ("reference/operators.md", "reference/ttnn.md")


def _files(folder: str, pattern: str) -> list[str]:
    paths = (path for path in (DOCS / folder).glob(pattern) if path.name != "index.md")
    return sorted(str(path.relative_to(DOCS)) for path in paths)
