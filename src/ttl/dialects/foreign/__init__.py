"""IR of other tools: what is kept as it stands, since nothing here computes it."""
