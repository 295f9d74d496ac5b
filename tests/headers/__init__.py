"""Type-checking generated kernels against the real device headers."""
