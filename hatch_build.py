"""What a package says about itself, and the modules that are compiled when a wheel is built.

The README of the package has no relative links, which work in the repository only.

The same sources run either way. They are compiled in a temporary folder, so that no binary ever
lies beside sources that somebody edits. Without a C compiler the wheel is the same for every
machine, as it is with HATCH_BUILD_NO_HOOKS=true.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# In a process of its own: mypyc and setuptools change the one that they run in.
COMPILE = """
import os, sys
from setuptools import Distribution, Extension

module, source, flags, *modules = sys.argv[1:]
extensions = [Extension(module, [source], extra_compile_args=flags.split())]
if modules:
    from mypyc.build import mypycify

    level = os.environ.get("MYPYC_OPT_LEVEL", "1")
    modules = ["--config-file", "compiled.ini", *modules]
    extensions += mypycify(
        modules, opt_level=level, debug_level="0", multi_file=True, group_name="pyttlang"
    )
command = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
command.inplace, command.parallel = True, os.cpu_count()
command.ensure_finalized()
try:
    command.run()
except Exception as error:  # what the C compiler wrote tells why, and not where in setuptools
    sys.exit(str(error))
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
# The simulator's arithmetic: without it numpy does the same.
ARITHMETIC = "ttl.semantics._block_math", "ttl/semantics/block_math.c"
# Contracted, a product and a sum would round once: the bits would not be numpy's.
NATIVE_FLAGS = "-O3 -ffp-contract=off -Werror=implicit-function-declaration"

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


def build_compiled(folder: Path, modules: Sequence[str]) -> None:
    """The modules below `folder` and the arithmetic, compiled beside their sources."""
    (folder / "compiled.ini").write_text(CONFIG)
    run([sys.executable, "-P", "-c", COMPILE, *ARITHMETIC, NATIVE_FLAGS, *modules], folder)


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

    def _build_runtime(self) -> None:
        """Which else the first run builds."""
        run([sys.executable, "-P", "-c", RUNTIME, str(self.folder)], self.folder)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.folder)
