"""What a package says about itself, and the modules that are compiled when a wheel is built.

The README of the package has no relative links, which work in the repository only.

The same sources run either way. They are compiled in a temporary folder, so that no binary ever
lies beside sources that somebody edits. Without a C compiler the wheel is the same for every
machine, as it is with HATCH_BUILD_NO_HOOKS=true.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# One C file for each module, and all of them at the same time: setuptools would wait for each.
SETUP = """
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from mypyc.build import mypycify
from setuptools import setup
from setuptools.command.build_ext import build_ext

class AllAtOnce(build_ext):
    def build_extension(self, extension):
        def compiled(source):
            return self.compiler.compile(
                [source], output_dir=self.build_temp, include_dirs=extension.include_dirs,
                extra_postargs=extension.extra_compile_args,
            )

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            extension.extra_objects = sum(threads.map(compiled, extension.sources), [])
        extension.sources = []
        super().build_extension(extension)

extensions = mypycify(
    ["--config-file", "compiled.ini", *sys.argv[1:]],
    opt_level=os.environ.get("MYPYC_OPT_LEVEL", "1"), debug_level="0", group_name="pyttl",
    multi_file=True,
)
setup(
    name="pyttl", packages=[], ext_modules=extensions, cmdclass={"build_ext": AllAtOnce},
    script_args=["build_ext", "--inplace"],
)
"""
# What the modules import need not be installed where the wheel is built, and is not read either:
# types of modules that are not compiled change little, and reading them takes five times as long.
# An installation from the sources is to be short: -O2 takes 1.6 times as long as -O1, and the
# simulator is 2 to 5 % faster. Published wheels have it.
CONFIG = """
[mypy]
python_version = 3.11
follow_imports = skip
ignore_missing_imports = True
no_site_packages = True
"""

# Of the C files that are given. Contracted, a product and a sum would round once: the bits would
# not be numpy's.
NATIVE = """
import sys
import numpy
from pathlib import Path
from setuptools import Extension, setup

extensions = [
    Extension(
        ".".join((*Path(file).parent.parts, "_" + Path(file).stem)),
        [file],
        include_dirs=[numpy.get_include()],
        extra_compile_args=["-O3", "-g0", "-ffp-contract=off"],
    )
    for file in sys.argv[1:]
]
setup(name="pyttl", packages=[], ext_modules=extensions, script_args=["build_ext", "--inplace"])
"""
# The simulator's arithmetic, what its calls look up, and the texts of traces: without them numpy
# and Python do the same.
NATIVE_SOURCES = tuple(
    f"ttl/{name}.c"
    for name in ("semantics/block_math", "semantics/kernel_calls", "trace/event_texts")
)

# The package itself is not imported: what it needs is not installed where the wheel is built.
RUNTIME = """
import sys, types
from pathlib import Path

folder = Path(sys.argv[1])
for name in ("ttl", "ttl.host"):
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


class CompiledModules(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel; without them it works as well, only slower."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self.folder = tempfile.mkdtemp(prefix="pyttl-")
        shutil.copytree(Path(self.root, "src", "ttl"), Path(self.folder, "ttl"))
        parts = (self._compiled, self._native_is_built, self._runtime_is_built)
        with ThreadPoolExecutor() as threads:  # each waits for processes of its own
            done = [*threads.map(lambda build: build(), parts)]
        if not any(done):
            return
        for path in sorted(Path(self.folder).rglob("*.so")):
            inside = path.relative_to(self.folder)
            if inside.parts[0] != "build":
                build_data["force_include"][str(path)] = str(inside)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _compiled(self) -> bool:
        count = len(self.config["modules"])
        self.app.display_info(f"pyttl: compiling {count} modules of the simulator with mypyc ...")
        Path(self.folder, "compiled.ini").write_text(CONFIG)
        done = subprocess.run(
            [sys.executable, "-c", SETUP, *self.config["modules"]],
            cwd=self.folder,
            env={**os.environ, "CFLAGS": os.environ.get("CFLAGS", "") + " -g0"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            output = (done.stdout + done.stderr)[-2000:]
            self.app.display_warning(f"pyttl is not compiled: {output}")
        return done.returncode == 0

    def _native_is_built(self) -> bool:
        otherwise = "without native arithmetic, calls and traces"
        return self._is_done([NATIVE, *NATIVE_SOURCES], otherwise)

    def _runtime_is_built(self) -> bool:
        """The runtime of the executor, which else the first run builds."""
        self.app.display_info("pyttl: building the C++ runtime of the executor ...")
        return self._is_done([RUNTIME, self.folder], "without the runtime of the executor")

    def _is_done(self, program: list[str], otherwise: str) -> bool:
        done = subprocess.run(
            [sys.executable, "-P", "-c", *program],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            self.app.display_warning(f"{otherwise}: {done.stderr[-2000:]}")
        return done.returncode == 0

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.folder)
