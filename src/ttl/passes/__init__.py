"""ttl dialect to emitc, one pass a file."""

from .pipelines import KNOWN, PIPELINE, find_pass, run_passes, run_pipeline

__all__ = ["KNOWN", "PIPELINE", "find_pass", "run_passes", "run_pipeline"]
