"""Older names of what is in ttgraph: programs that use them keep working."""
