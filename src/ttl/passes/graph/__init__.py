"""StableHLO to the calls of ttnn that a flatbuffer holds."""
