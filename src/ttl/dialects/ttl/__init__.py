"""ttl: the user's program, with one operation for each construct of the language.

The op table defines block operations: `ttl.<name>` works on whole blocks, `ttl.tile_<name>` on
every tile of a block, after the places of the operands are known (a buffer, or DST registers).
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ..definitions import dialect_of
from .block_math import *  # noqa: F403
from .block_math import BLOCK_MATH, TILE_MATH
from .buffers import *  # noqa: F403
from .kernels import *  # noqa: F403
from .pipe_nets import *  # noqa: F403
from .semaphores import *  # noqa: F403
from .transfers import *  # noqa: F403


def make_dialect() -> Dialect:
    """The dialect with all its operations, for reading IR text."""
    return dialect_of("ttl", globals(), calls=[*BLOCK_MATH.all(), *TILE_MATH.all()])
