"""The older name of ttgraph.flatbuffer."""

from ttgraph.flatbuffer import *  # noqa: F403
