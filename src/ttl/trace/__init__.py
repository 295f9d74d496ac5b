"""Run events: one schema for every engine."""

from .events import CATEGORIES, EventKind, Node, Recorder

__all__ = ["CATEGORIES", "EventKind", "Node", "Recorder"]
