"""Run events: one schema for every engine."""

from .events import CATEGORIES, Event, EventKind, Node, Recorder, write_json_lines

__all__ = ["CATEGORIES", "Event", "EventKind", "Node", "Recorder", "write_json_lines"]
