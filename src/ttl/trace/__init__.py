"""Run events: one schema for every engine."""

from .events import Event, EventKind, Node, Recorder, write_json_lines

__all__ = ["Event", "EventKind", "Node", "Recorder", "write_json_lines"]
