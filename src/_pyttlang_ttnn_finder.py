"""Serves `import ttnn` from `ttl.ttnn` if the real ttnn is not installed.

Also serves `sim` and `utils`, for programs written for the source tree of the public tools. A .pth
file imports this at interpreter start, so it imports nothing that Python has not loaded already.
The finder is last in `sys.meta_path`, so that a real ttnn, and the program's own `utils`, are found
first. The modules are the objects of `ttl`, not copies.
"""

import sys
from _frozen_importlib import ModuleSpec

SERVED = ("ttnn", "sim", "utils")


class TtnnFinder:
    """Finds ttnn, sim and utils."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name not in SERVED:
            return None
        origin = f"ttl.{name}"
        return ModuleSpec(name, cls, origin=origin, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec):  # type: ignore[no-untyped-def]
        return None  # an empty module, replaced below

    @staticmethod
    def exec_module(module):  # type: ignore[no-untyped-def]
        from importlib import import_module

        name = module.__spec__.name
        try:
            sys.modules[name] = import_module(f"ttl.{name}")
            sys.modules["ttl"].operation  # noqa: B018  # another distribution has no such name
        except (AttributeError, ImportError) as error:
            from _pyttlang_installation import damage

            if not (found := damage()):
                raise
            raise ImportError(f"{error}\n{found}", name=name) from None
        if sys.meta_path[0] is not InsideFinder:
            sys.meta_path.insert(0, InsideFinder)


class FirstFinder(TtnnFinder):
    """Finds ttnn even if a real one is installed; commands put it before other finders."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # type: ignore[no-untyped-def]
        found = super().find_spec(name)  # type: ignore[no-untyped-call]
        return found if name == "ttnn" else None


class InsideFinder(TtnnFinder):
    """Finds submodules of served packages; is first, so that no module loads twice."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # type: ignore[no-untyped-def]
        package, _, inside = name.partition(".")
        ours = sys.modules.get(f"ttl.{package}") if package in SERVED else None
        if not inside or ours is None or sys.modules.get(package) is not ours:
            return None
        return ModuleSpec(name, cls, origin=f"ttl.{name}")  # type: ignore[arg-type]


sys.meta_path.append(TtnnFinder)
