"""Static checks: they change nothing and find what would be wrong at run time."""

from .block_states import verify_block_states

__all__ = ["verify_block_states"]
