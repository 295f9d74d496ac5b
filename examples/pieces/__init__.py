"""Unified operations that others are composed of: each takes its dataflow buffers as parameters.

`movement` brings blocks to nodes and away from them, `layers` computes with them.
"""
