"""The place where older programs find `kernel_ast`."""
