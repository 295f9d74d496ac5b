"""Print emitc as C++ text, and assemble the artifact."""

from .assemble import assemble
from .cpp import CppFile, print_file

__all__ = ["CppFile", "assemble", "print_file"]
