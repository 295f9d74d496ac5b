"""What can be read off a kernel's Python, once."""
