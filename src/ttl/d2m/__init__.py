"""D2M: the pykernel DSL. Its threads become kernels of the language, and take the same backends."""
