"""Passes on graphs, one a file; every pass that the command line knows."""

from .pipelines import GRAPH, KNOWN, find_pass, find_passes, run_passes

__all__ = ["GRAPH", "KNOWN", "find_pass", "find_passes", "run_passes"]
