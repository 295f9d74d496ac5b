"""Chooses where a sweep's jobs run: on the cores of this machine, or on a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from ttl.studio.sweep import Job, Runner, cores, on_cores

from .program import natural


def _at_least_one(text: str) -> int:
    number = natural(text) if text.isdecimal() else 0
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r}: there must be one process or more")
    return number


def add_where(parser: argparse.ArgumentParser) -> None:
    """Add the options for where a sweep's jobs run."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=_at_least_one,
        default=cores(),
        metavar="N",
        help="processes at a time on this machine (default: %(default)s)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, as in tcp://node:8786",
    )


@contextmanager
def runner(options: argparse.Namespace) -> Iterator[Runner[Job]]:
    if options.scheduler is None:
        yield lambda jobs: on_cores(jobs, options.jobs)
        return
    from ttl.studio.sweep.cluster import cluster, on_cluster

    with cluster(options.scheduler) as client:
        yield partial(on_cluster, client)
