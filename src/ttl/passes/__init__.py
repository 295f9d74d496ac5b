"""Passes from the ttl dialect to emitc, in rooms by stage."""

from .pipelines import PIPELINE, find_pass, run_passes, run_pipeline

__all__ = ["PIPELINE", "find_pass", "run_passes", "run_pipeline"]
