"""ttl dialect to emitc, one pass a file."""

from .pipelines import PIPELINE, find_pass, run_passes

__all__ = ["PIPELINE", "find_pass", "run_passes"]
