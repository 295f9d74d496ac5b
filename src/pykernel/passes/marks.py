"""Attributes by which passes on threads of cores inform each other."""

D2M_MARK = "d2m.use_tile_matmul"  # on modules of the d2m dialect
OVER_BLOCKS = "d2m.over_blocks"  # on a loop over blocks of the output
