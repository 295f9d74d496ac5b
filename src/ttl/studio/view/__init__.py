"""Pages about a run: one self-contained HTML file each."""

from .events import Events, read_events
from .page import Shown, page_of, serve
from .stages import Stage, stage_of
from .timed import read_timed_events

__all__ = [
    "Events",
    "Shown",
    "Stage",
    "page_of",
    "read_events",
    "read_timed_events",
    "serve",
    "stage_of",
]
