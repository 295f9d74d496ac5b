"""The verbs of the command line that are about graphs: one file a verb."""
