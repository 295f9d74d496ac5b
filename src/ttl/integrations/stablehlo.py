"""The older name of ttgraph.stablehlo."""

from ttgraph.stablehlo import *  # noqa: F403
