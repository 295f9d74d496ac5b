"""The seed of what tests choose themselves; it stands at the head of every report."""

from __future__ import annotations

import os

SEED = "TTL_TEST_SEED"


def sample_seed() -> int:
    return int(os.environ.get(SEED, "1"))
