"""Attributes by which passes on threads of cores tell each other what they know."""

D2M_MARK = "d2m.use_tile_matmul"  # on modules of the d2m dialect
OVER_BLOCKS = "d2m.over_blocks"  # on a loop: each iteration makes a block of the output
