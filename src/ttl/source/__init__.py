"""A kernel's Python, read once: its definition, the values of its names, and its effects on blocks,
transfers, buffers and tensors. `facts.facts_of()` is the part that backends need."""
