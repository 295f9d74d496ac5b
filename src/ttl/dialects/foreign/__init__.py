"""IR of other tools, kept unmodified because nothing here computes it."""
