"""Run events: one schema for every engine."""

from .events import CATEGORIES, Event, EventKind, Node, Recorder

__all__ = ["CATEGORIES", "Event", "EventKind", "Node", "Recorder"]
