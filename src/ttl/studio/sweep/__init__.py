"""Runs many independent jobs on all cores or a cluster, and keeps results on disk."""

from .job import CRASHED, Job, failed, perform, run_job
from .local import cores, forked, limited, may_fork, on_cores
from .program_files import program_files
from .store import Store, digest, version_of_pyttlang
from .sweeping import Runner, Task, sweep

__all__ = [
    "CRASHED",
    "Job",
    "Runner",
    "Store",
    "Task",
    "cores",
    "digest",
    "failed",
    "forked",
    "limited",
    "may_fork",
    "on_cores",
    "perform",
    "program_files",
    "run_job",
    "sweep",
    "version_of_pyttlang",
]
