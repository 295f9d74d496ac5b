"""What a package says about itself, and the modules that are compiled when a wheel is built.

The README of the package has no relative links, which work in the repository only.

The same sources run either way. They are compiled in a temporary folder, so that no binary ever
lies beside sources that somebody edits. Without a C compiler the wheel is the same for every
machine, as it is with HATCH_BUILD_NO_HOOKS=true.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# The C of the modules, and what is to be known about it. It is compiled below; mypyc would leave it
# to setuptools, which takes seconds to fetch. What mypyc imports of it is given nothing to do.
GENERATE = r"""
import json, re, sys, types
from pathlib import Path

nothing = types.SimpleNamespace(ccompiler=None, sysconfig=None)
sys.modules |= {"setuptools": None, "distutils": nothing, "mypyc.build_setup": nothing}
from mypyc.build import generate_c_extension_shim, include_dir, mypyc_build
from mypyc.common import RUNTIME_C_FILES, shared_lib_name
from mypyc.options import CompilerOptions

LOADING = r"^(?=char CPyDef_\w+_____top_level__\(void\) \{)"
NOT_OPTIMIZED = '__attribute__((optimize("O0")))\n'
options = CompilerOptions(multi_file=True, group_name="pyttlang", target_dir="build")
((sources, group),), ((files, _),), parts = mypyc_build(
    ["--config-file", "compiled.ini", *sys.argv[1:]], options
)
for file in map(Path, files):  # a fifth of the C runs once, when its module is loaded
    file.write_text(re.sub(LOADING, NOT_OPTIMIZED, file.read_text(), flags=re.MULTILINE))
own = Path(include_dir())
found = {
    "library": shared_lib_name(group),
    "files": [*files, *(str(own / name) for name in (*RUNTIME_C_FILES, *(p.path for p in parts)))],
    "includes": ["build", str(own), *(str(own / name) for p in parts for name in p.include_dirs)],
    "shims": {
        each.path: generate_c_extension_shim(
            each.module, each.module.split(".")[-1], "build", group
        )
        for each in sources
    },
}
Path("generated.json").write_text(json.dumps(found))
"""
# What the modules import need not be installed where the wheel is built, and is not read either:
# types of modules that are not compiled change little, and reading them takes five times as long.
CONFIG = """
[mypy]
python_version = 3.11
follow_imports = skip
ignore_missing_imports = True
no_site_packages = True
"""
# An installation from the sources is to be short: -O1 takes 1.4 times as long as -Og, for 2 % fewer
# instructions of a simulation, and -O2 1.6 times as long as -O1. Published wheels have it.
OPTIMIZED = f"-O{os.environ.get('MYPYC_OPT_LEVEL', 'g')}"
# Every unit reads the headers again, which takes as long as compiling a small module.
MOST_UNITS = 4

# The simulator's arithmetic, what its calls look up, and the texts of traces: without them numpy
# and Python do the same.
NATIVE_SOURCES = tuple(
    f"ttl/{name}.c"
    for name in ("semantics/block_math", "semantics/kernel_calls", "trace/event_texts")
)
# Contracted, a product and a sum would round once: the bits would not be numpy's.
NATIVE_FLAGS = ("-O3", "-ffp-contract=off", "-Werror=implicit-function-declaration")

# The package itself is not imported: what it needs is not installed where the wheel is built.
RUNTIME = """
import sys, types
from pathlib import Path

folder = Path(sys.argv[1])
for name in ("ttl", "ttl.host", "ttl.loading"):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [str(folder.joinpath(*name.split(".")))]
from ttl.host.build import PREBUILT_FOLDER, build_runtime, prebuilt_name
from ttl.host.toolchain import find_compiler

build_runtime(find_compiler(), PREBUILT_FOLDER).rename(PREBUILT_FOLDER / prebuilt_name())
"""
RELATIVE_LINK = re.compile(r"\[([^]]*)\]\((?![a-z]+:|#)([^)]*)\)")


def readme_elsewhere(text: str, home: str) -> str:
    """The README with links that work outside the repository, or without them."""
    return RELATIVE_LINK.sub(rf"[\1]({home}/\2)" if home else r"\1", text)


class Description(MetadataHookInterface):
    """The text and the addresses of the package."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        home = self.config["home"].rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        readme = {"content-type": "text/markdown", "text": readme_elsewhere(text, home)}
        own = {"Repository": home, "Changelog": f"{home}/CHANGELOG.md"} if home else {}
        metadata |= {"readme": readme, "urls": {**own, **self.config["urls"]}}


class NotBuilt(Exception):
    """Why a part of the wheel is not there."""


def run(command: Sequence[str], folder: Path) -> None:
    """NotBuilt, with the last of what it printed, if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuilt((done.stdout + done.stderr)[-2000:])


class CCompiler(NamedTuple):  # hatchling loads this file in a way that dataclasses cannot bear
    """What compiles extension modules for this Python: as it was compiled itself, unless the
    environment says otherwise.
    """

    compiling: tuple[str, ...]
    linking: tuple[str, ...]

    @classmethod
    def of_this_python(cls) -> CCompiler:
        def words(settings: Mapping[str, Any], *names: str) -> list[str]:
            return [word for name in names for word in shlex.split(settings.get(name) or "")]

        built = sysconfig.get_config_vars()
        own = words(built, "CC")
        chosen = words(os.environ, "CC") or own
        linking = words(os.environ, "LDSHARED") or words(built, "LDSHARED")
        if linking[: len(own)] == own:
            linking[: len(own)] = chosen
        flags = words(os.environ, "CPPFLAGS", "CFLAGS")
        includes = [f"-I{sysconfig.get_path(name)}" for name in ("include", "platinclude")]
        return cls(
            (*chosen, *words(built, "CFLAGS", "CCSHARED"), *flags, *includes, "-g0", "-w"),
            (*linking, *words(os.environ, "LDFLAGS"), *flags),
        )

    def compiled(self, source: Path, flags: Sequence[str]) -> Path:
        place = source.with_suffix(".o")
        run([*self.compiling, *flags, "-c", str(source), "-o", str(place)], source.parent)
        return place

    def linked(self, objects: Sequence[Path], module: Path) -> Path:
        run([*self.linking, *map(str, objects), "-o", str(module)], module.parent)
        return module


def extension(module: Path) -> Path:
    """Where Python looks for a module that is compiled."""
    return module.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))


def build_native(source: Path) -> None:
    """The module of a C file, beside it."""
    compiler = CCompiler.of_this_python()
    compiled = compiler.compiled(source, NATIVE_FLAGS)
    compiler.linked([compiled], extension(source.with_name(f"_{source.stem}")))


def build_compiled(folder: Path, modules: Sequence[str]) -> None:
    """The modules below `folder`, compiled beside their sources."""
    (folder / "compiled.ini").write_text(CONFIG)
    run([sys.executable, "-P", "-c", GENERATE, *modules], folder)
    found = json.loads((folder / "generated.json").read_text())
    compiler = CCompiler.of_this_python()
    flags = [OPTIMIZED, *(f"-I{folder / name}" for name in found["includes"])]
    shares = shared_out([folder / name for name in found["files"]], os.cpu_count() or 1)
    units = [written(folder / f"unit_{n}.c", share) for n, share in enumerate(shares)]
    with ThreadPoolExecutor(len(units)) as threads:  # each waits for a process
        objects = [*threads.map(lambda unit: compiler.compiled(unit, flags), units)]
    compiler.linked(objects, extension(folder / found["library"]))
    shims = {folder / path: folder / shim for path, shim in found["shims"].items()}
    build_shims(compiler, folder, shims)


def shared_out(files: Sequence[Path], processors: int) -> list[list[Path]]:
    """The files in as many parts as can be compiled at once, about equally large."""
    parts: list[list[Path]] = [[] for _ in range(min(processors, MOST_UNITS))]
    sizes = [0] * len(parts)
    for file in sorted(files, key=lambda file: (-file.stat().st_size, file.name)):
        smallest = sizes.index(min(sizes))
        parts[smallest].append(file)
        sizes[smallest] += file.stat().st_size
    return parts


def written(unit: Path, files: Iterable[Path]) -> Path:
    """One C file of many. Each shim defines a PyInit___init__ that nobody calls."""
    lines = (
        f'#define PyInit___init__ {unit.stem}_{n}\n#include "{file}"\n#undef PyInit___init__\n'
        for n, file in enumerate(files)
    )
    unit.write_text("".join(lines))
    return unit


def build_shims(compiler: CCompiler, folder: Path, shims: Mapping[Path, Path]) -> None:
    """What Python finds in the places of the modules, each of which asks the library for its own.

    One file does for all modules, but for those that end in the same name: that of the function
    that Python calls.
    """
    names: dict[str, list[Path]] = {}
    for module in shims:
        names.setdefault(module.stem, []).append(module)
    for n, modules in enumerate(zip_longest(*names.values())):
        here = [module for module in modules if module is not None]
        unit = written(folder / f"shims_{n}.c", [shims[module] for module in here])
        linked = compiler.linked([compiler.compiled(unit, ["-O1"])], extension(here[0]))
        for module in here[1:]:
            shutil.copy(linked, extension(module))


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel; without them it works as well, only slower."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self.folder = Path(tempfile.mkdtemp(prefix="pyttlang-"))
        shutil.copytree(Path(self.root, "src", "ttl"), self.folder / "ttl")
        modules = self.config["modules"]
        parts: dict[str, Callable[[], None]] = {
            f"{len(modules)} modules of the simulator": partial(
                build_compiled, self.folder, modules
            ),
            "native arithmetic, calls and traces": self._build_native,
            "the C++ runtime of the executor": self._build_runtime,
        }
        with ThreadPoolExecutor() as threads:  # each waits for processes of its own
            done = [*threads.map(self._is_done, parts, parts.values())]
        if not any(done):
            return
        for path in sorted(self.folder.rglob("*.so")):
            build_data["force_include"][str(path)] = str(path.relative_to(self.folder))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _is_done(self, part: str, build: Callable[[], None]) -> bool:
        """What pip shows with -v."""
        self.app.display_info(f"pyttlang: compiling {part} ...")
        start = time.monotonic()
        try:
            build()
        except (NotBuilt, OSError) as error:
            self.app.display_warning(f"pyttlang: without {part}, compiled: {error}")
            return False
        self.app.display_info(f"pyttlang: {part}: {time.monotonic() - start:.0f} s")
        return True

    def _build_native(self) -> None:
        for source in NATIVE_SOURCES:
            build_native(self.folder / source)

    def _build_runtime(self) -> None:
        """Which else the first run builds."""
        run([sys.executable, "-P", "-c", RUNTIME, str(self.folder)], self.folder)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.folder)
