"""Where the older programs find `kernel_ast`."""
