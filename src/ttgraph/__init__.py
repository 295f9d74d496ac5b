"""Graphs of tensors: StableHLO, TTIR and TTNN, what is compiled from them and what runs it."""
