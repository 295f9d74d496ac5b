"""Verbs of the command line that work on graphs: one file a verb."""
