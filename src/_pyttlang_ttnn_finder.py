"""Serves `import ttnn` from `ttl.ttnn` where the real ttnn is not installed.

So it does for `sim` and `utils`, which programs import that ran in the source tree of the public
tools. A .pth file imports this at interpreter start, so it imports nothing that Python has not
loaded already. The finder stands last in `sys.meta_path`: a real ttnn, and a `utils` of the
program's own, are found before it. The modules are the very objects of `ttl`, not copies.
"""

import sys
from _frozen_importlib import ModuleSpec

SERVED = ("ttnn", "sim", "utils")


class TtnnFinder:
    """Finds these."""

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
    """Finds ttnn where a real one is installed, too; commands put it before the others."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # type: ignore[no-untyped-def]
        found = super().find_spec(name)  # type: ignore[no-untyped-call]
        return found if name == "ttnn" else None


class InsideFinder(TtnnFinder):
    """Finds the modules inside them, once one is ours; stands first, so that none loads twice."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # type: ignore[no-untyped-def]
        package, _, inside = name.partition(".")
        ours = sys.modules.get(f"ttl.{package}") if package in SERVED else None
        if not inside or ours is None or sys.modules.get(package) is not ours:
            return None
        return ModuleSpec(name, cls, origin=f"ttl.{name}")  # type: ignore[arg-type]


sys.meta_path.append(TtnnFinder)
