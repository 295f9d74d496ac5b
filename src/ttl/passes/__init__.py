"""ttl dialect to emitc, threads of cores (d2m) to it, and StableHLO to ttnn, in rooms by stage."""

from .pipelines import GRAPH, KNOWN, PIPELINE, find_pass, find_passes, run_passes, run_pipeline

__all__ = ["GRAPH", "KNOWN", "PIPELINE", "find_pass", "find_passes", "run_passes", "run_pipeline"]
