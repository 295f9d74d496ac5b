"""The language as data: element types, shapes, operations, the life of a block."""
