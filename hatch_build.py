"""Makes the package's description, and compiles modules when a wheel is built.

The package's README has no relative links, which only work in the repository.

The sources also run uncompiled. They are compiled in a temporary folder, so that no binary is ever
beside edited sources. Without a C compiler, or with HATCH_BUILD_NO_HOOKS=true, the wheel is the
same for every machine.
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

# In a separate process: mypyc and setuptools change their process.
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
# The modules' imports need not be installed where the wheel is built, and are not read: types of
# modules that are not compiled change little, and reading them takes five times as long.
CONFIG = """
[mypy]
python_version = 3.11
follow_imports = skip
ignore_missing_imports = True
no_site_packages = True
"""
# The simulator's arithmetic; without it numpy computes the same.
ARITHMETIC = "ttl.semantics._block_math", "ttl/semantics/block_math.c"
# A contracted product and sum would round once, with other bits than numpy's.
NATIVE_FLAGS = "-O3 -ffp-contract=off -Werror=implicit-function-declaration"

# Do not import the package: its dependencies are not installed where the wheel is built.
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
    """Return the README with links that work outside the repository, or without links."""
    return RELATIVE_LINK.sub(rf"[\1]({home}/\2)" if home else r"\1", text)


class Description(MetadataHookInterface):
    """Sets the package's text and addresses."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        home = self.config["home"].rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        readme = {"content-type": "text/markdown", "text": readme_elsewhere(text, home)}
        own = {"Repository": home, "Changelog": f"{home}/CHANGELOG.md"} if home else {}
        metadata |= {"readme": readme, "urls": {**own, **self.config["urls"]}}


class NotBuilt(Exception):
    """A part of the wheel could not be built; the text is the reason."""


def run(command: Sequence[str], folder: Path) -> None:
    """Run a command; raise NotBuilt with the end of its output if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotBuilt((done.stdout + done.stderr)[-2000:])


def build_compiled(folder: Path, modules: Sequence[str]) -> None:
    """Compile the modules below `folder` and the arithmetic beside their sources."""
    (folder / "compiled.ini").write_text(CONFIG)
    run([sys.executable, "-P", "-c", COMPILE, *ARITHMETIC, NATIVE_FLAGS, *modules], folder)


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel, which works without them, only slower."""

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
        with ThreadPoolExecutor() as threads:  # each thread waits for its processes
            done = [*threads.map(self._is_done, parts, parts.values())]
        if not any(done):
            return
        for path in sorted(self.folder.rglob("*.so")):
            build_data["force_include"][str(path)] = str(path.relative_to(self.folder))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _is_done(self, part: str, build: Callable[[], None]) -> bool:
        """Build a part and report it for `pip -v`; return whether it was built."""
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
        """Build the runtime, which otherwise the first run builds."""
        run([sys.executable, "-P", "-c", RUNTIME, str(self.folder)], self.folder)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.folder)
