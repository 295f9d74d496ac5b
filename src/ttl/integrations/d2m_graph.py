"""The older name of ttgraph.d2m_graph."""

from ttgraph.d2m_graph import *  # noqa: F403
