"""ttl dialect to emitc and StableHLO to ttnn, one pass a file."""

from .pipelines import GRAPH, KNOWN, PIPELINE, find_pass, run_passes, run_pipeline

__all__ = ["GRAPH", "KNOWN", "PIPELINE", "find_pass", "run_passes", "run_pipeline"]
