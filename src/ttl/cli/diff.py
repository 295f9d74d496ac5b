"""ttl diff A B"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ttl.trace.difference import first_difference
from ttl.trace.reader import Record, read_trace
from ttl.trace.results import Result, read_results

from .traces import read_with


def add_arguments(parser: argparse.ArgumentParser) -> None:
    traces = "a trace, as `ttl run --trace A --results FILE` writes it"
    parser.add_argument("a", metavar="A", help=traces)
    other = "another one, as of `ttl run --host --trace B --results FILE`"
    parser.add_argument("b", metavar="B", help=other)
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help="elements may differ by X times the largest one (default: what the op table allows "
        "for the operations that are applied, 0 if all of them are exact)",
    )


def run(options: argparse.Namespace) -> int:
    """Compare two runs; the exit status is 1 if they differ."""
    (one, ones), (other, others) = _read(options.a), _read(options.b)
    found = first_difference(one, other, (ones, others), options.tolerance)
    if found is not None:
        print(found)
        return 1
    compared = "events and results" if ones and others else "events; there are no results beside"
    print(f"no difference ({len(one)} and {len(other)} {compared})")
    if ones and others:
        print("\n".join(_list_tolerances(ones, options.tolerance)))
    return 0


def _list_tolerances(results: list[Result], tolerance: float | None) -> Iterator[str]:
    """Yield the tolerance of each kind of results once."""
    if tolerance is not None:
        yield f"elements were allowed to differ by {tolerance:g} times the largest"
        return
    bounds = dict.fromkeys(result.bound for result in results)
    for bound in bounds:
        if bound is None:
            yield "bit for bit: tensors that only exact operations lead to"
        else:
            applied = ", ".join(f"`{name}`" for name in dict.fromkeys(bound.operations))
            share = f"{bound.relative:.2g} times the largest element"
            yield f"within the bounds of the op table for {applied}: {share}"


def _read(file: str) -> tuple[list[Record], list[Result]]:
    return read_with(
        lambda path: (read_trace(path), read_results(path)),
        file,
        "ttl run --trace FILE --results PROGRAM",
    )
