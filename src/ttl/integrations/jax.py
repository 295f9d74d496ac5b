"""The older name of ttgraph.jax."""

from ttgraph.jax import *  # noqa: F403
