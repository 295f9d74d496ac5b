"""Serves `import ttnn` from `ttl.ttnn` where the real ttnn is not installed.

A .pth file imports this at interpreter start, so it imports nothing that Python has not loaded
already. The finder stands last in `sys.meta_path`: a real ttnn is found before it. The modules
are the very objects of `ttl.ttnn`, not copies.
"""

import sys
from _frozen_importlib import ModuleSpec


class TtnnFinder:
    """Finds `ttnn`; once that is ours, also stands first, so that no submodule loads twice."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name == "ttnn":
            return ModuleSpec(name, cls, origin="ttl.ttnn", is_package=True)  # type: ignore[arg-type]
        ours = sys.modules.get("ttl.ttnn")
        if name.startswith("ttnn.") and ours is not None and sys.modules.get("ttnn") is ours:
            return ModuleSpec(name, cls, origin=f"ttl.{name}")  # type: ignore[arg-type]
        return None

    @staticmethod
    def create_module(spec):  # type: ignore[no-untyped-def]
        return None  # an empty module, replaced below

    @classmethod
    def exec_module(cls, module):  # type: ignore[no-untyped-def]
        from importlib import import_module

        name = module.__spec__.name
        sys.modules[name] = import_module(f"ttl.{name}")
        if name == "ttnn" and sys.meta_path[0] is not cls:
            sys.meta_path.insert(0, cls)


sys.meta_path.append(TtnnFinder)
