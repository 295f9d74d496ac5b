"""`ttnn._ttnn`: names that the real ttnn has only here."""

from types import SimpleNamespace

from .mesh import SystemMeshDescriptor

multi_device = SimpleNamespace(SystemMeshDescriptor=SystemMeshDescriptor)
