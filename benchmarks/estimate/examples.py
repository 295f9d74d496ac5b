"""Runs examples before and after the most valuable change, and measures their estimates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import TTL, output_of

PROGRAMS: tuple[tuple[str, ...], ...] = (
    ("examples/elementwise.py",),
    ("examples/matmul_bias_relu.py",),
    ("examples/multicast_matmul.py",),
    ("examples/softmax.py",),
    ("examples/ring_all_reduce.py",),
    ("examples/unified/flash_attention.py",),
    (
        "benchmarks/estimate/programs/matmul.py",
        "2048",
        "2048",
        "2048",
        "bfloat16",
        "HiFi2",
        "8",
        "8",
        "8",
        "1",
    ),
    ("benchmarks/estimate/programs/grid_stream.py", "crossed", "8", "8", "64"),
)


@dataclass(frozen=True, slots=True)
class Example:
    name: str
    found: list[dict[str, Any]]
    estimate_seconds: float  # CPU seconds
    run_seconds: float


def measured(program: tuple[str, ...]) -> Example:
    file, *arguments = program
    output, estimate_seconds = output_of(
        [*TTL, "estimate", "--json", "--trials", "6", file, *arguments]
    )
    _, run_seconds = output_of([*TTL, "run", "--host", file, *arguments])
    name = " ".join((Path(file).name, *arguments))
    return Example(name, json.loads(output), estimate_seconds, run_seconds)


def examples_report(examples: Sequence[Example]) -> Iterator[str]:
    yield "| operation | before | after | by the model |"
    yield "|---|---:|---:|---|"
    for example in examples:
        for found in example.found:
            yield _row(example, found)
    yield ""
    yield "| program | estimate with 6 trials, CPU s | compiled and run on this machine, CPU s |"
    yield "|---|---:|---:|"
    for each in examples:
        yield f"| {each.name} | {each.estimate_seconds:.1f} | {each.run_seconds:.1f} |"


def _row(example: Example, found: dict[str, Any]) -> str:
    before = found["microseconds"]["typical"]
    name = f"{found['operation']}, {example.name}"
    if not found["changes"]:
        return f"| {name} | {before:.3g} us | | bound: {found['bound']} |"
    change = found["changes"][0]
    after = before * (1 - change["saved"])
    return f"| {name} | {before:.3g} us | {after:.3g} us | {change['text']} |"
