"""Unified operations: the body is written once, its statements get a thread each.

`reading.py` makes units of the statements, `assignment.py` gives them threads, `sections.py` says
what each kernel needs, `splitting.py` makes the multi-kernel operation, which then runs and is
compiled like one that was written by hand.
"""

from .unify import body_of, forget, shown_threads, threads_of

__all__ = ["body_of", "forget", "shown_threads", "threads_of"]
