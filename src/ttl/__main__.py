"""`python -m ttl` is the command `ttl`."""

import sys

from _pyttlang_commands import ttl

sys.exit(ttl())
