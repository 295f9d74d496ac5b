"""A kernel's Python, read once: its definition, what its names stand for, what it does to blocks,
transfers, buffers and tensors. `facts.facts_of()` gives what backends need to know of a program."""
