"""`ttnn._ttnn`: where programs look for what the real ttnn shows nowhere else."""

from types import SimpleNamespace

from .mesh import SystemMeshDescriptor

multi_device = SimpleNamespace(SystemMeshDescriptor=SystemMeshDescriptor)
