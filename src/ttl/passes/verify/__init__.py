"""Static checks: they change nothing and find what would be wrong at run time."""

from .block_states import verify_block_states
from .buffer_ends import verify_buffer_ends

__all__ = ["verify_block_states", "verify_buffer_ends"]
