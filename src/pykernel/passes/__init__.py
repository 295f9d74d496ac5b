"""Passes from threads of cores to kernels of the language, one a file."""
