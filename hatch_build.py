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
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SETUP = """
import sys
from mypyc.build import mypycify
from setuptools import setup

extensions = mypycify(
    ["--config-file", "compiled.ini", *sys.argv[1:]],
    opt_level="2", debug_level="0", group_name="pyttl",
)
setup(name="pyttl", packages=[], ext_modules=extensions, script_args=["build_ext", "--inplace"])
"""
# What the modules import need not be installed where the wheel is built.
CONFIG = """
[mypy]
python_version = 3.11
follow_imports = silent
ignore_missing_imports = True
no_site_packages = True
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
        if not self._compiled():
            return
        for path in sorted(Path(self.folder).rglob("*.so")):
            inside = path.relative_to(self.folder)
            if inside.parts[0] != "build":
                build_data["force_include"][str(path)] = str(inside)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _compiled(self) -> bool:
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

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self.folder)
