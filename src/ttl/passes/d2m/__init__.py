"""Threads of cores (the pykernel DSL) and ttir graphs to kernels of the language."""
