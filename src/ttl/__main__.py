"""`python -m ttl` is the command `ttl`."""

import sys

from ttl.tools.cli import main

sys.exit(main())
