"""The names of the pykernel DSL. They are at home in `ttl.d2m.api`."""

from ttl.d2m.api import *  # noqa: F403
from ttl.d2m.api import __all__ as __all__
