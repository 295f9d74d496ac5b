"""ttl doctor"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import Enum
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

from _pyttlang_installation import (
    install_extra,
    lost_files,
    other_owners,
    own_distribution,
    repair,
)
from ttl import __version__
from ttl.config import Config, chosen_variables, old_variables
from ttl.device.readiness import (
    FIND_DEVICE,
    INSTALL,
    KNOWN_VERSIONS,
    found_devices,
    has_profiler,
    installed_version,
    is_new_enough,
    wrong_version,
)
from ttl.diagnostics import Diagnostic, TTLError
from ttl.driver.surroundings import refused_cache, rename_command
from ttl.loading.cache_folder import CACHE
from ttl.trace.stats import Table

from .cache import table_of
from .terminal import show_tables

# Variables of tt-metal that change a run on a device; is it a folder that must exist?
METAL_VARIABLES = {
    "TT_METAL_HOME": True,
    "TT_METAL_RUNTIME_ROOT": True,
    "TT_METAL_CACHE": False,
    "ARCH_NAME": False,
}


class FindingState(Enum):
    OK = "ok"
    ABSENT = "absent"  # only the row's own feature does not work
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    needed_for: str
    state: FindingState
    found: str
    fix: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check the installation. The exit status is 1 only if something is broken that programs "
        "need. What is absent is only needed for what its row names."
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(options: argparse.Namespace) -> int:
    findings = list(examine())
    if options.json:
        for each in findings:
            print(json.dumps({**asdict(each), "state": each.state.value}))
    else:
        _show(findings)
    return int(any(each.state is FindingState.BROKEN for each in findings))


def _show(findings: list[Finding]) -> None:
    rows = tuple((f.what, f.state.value, f.found, f.needed_for) for f in findings)
    table = Table(f"pyttlang {__version__}", ("what", "state", "found", "needed for"), rows)
    show_tables([table])
    fixes = [each for each in findings if each.fix]
    if fixes:
        print()
    for each in fixes:
        print(f"{each.what}: {each.fix}")


def examine() -> Iterator[Finding]:
    # A Python older than pyttlang supports does not get here.
    yield Finding("Python", EVERYTHING, FindingState.OK, platform.python_version())
    yield _own_package()
    yield from _packages()
    yield _compiler()
    yield _torch()
    yield from _ttnn()
    yield from _variables()
    yield from _caches()


EVERYTHING, EXECUTOR, DEVICE = "everything", "ttl run --host", "ttl run --backend device"


def _own_package() -> Finding:
    """Check that the files of `ttl` are as installed, and find other owners of files there."""
    ours, others, lost = own_distribution(), other_owners(), lost_files()
    found = f"{ours.name} {ours.version}" if ours is not None else f"{__version__}, a folder"
    if others:
        names = " and ".join(f"{each.name} {each.version}" for each in others)
        found += f"; {names} has the package too: removing one removes files of the other"
    if lost:
        found += f"; {len(lost)} files missing or overwritten, {lost[0]} first"
    state = FindingState.BROKEN if lost else FindingState.OK
    fix = " && ".join(repair(others)) if others or lost else ""
    return Finding("ttl", EVERYTHING, state, found, fix)


def _packages() -> Iterator[Finding]:
    """Check the packages that ours requires."""
    for requirement in _requirements():
        name = requirement.partition(";")[0].strip()
        bare = name.rstrip("0123456789.*,<>=!~ ")
        yield _package(bare, f'pip install "{name}"')


def _requirements() -> list[str]:
    ours = own_distribution()
    if ours is not None:
        found = ours.requires or []
    else:  # running from sources
        project = Path(__file__).parents[4] / "pyproject.toml"
        found = tomllib.loads(project.read_text())["project"]["dependencies"]
    return [each for each in found if "extra ==" not in each]


def _package(name: str, fix: str) -> Finding:
    """Check a package by importing it: an installed one may still be broken."""
    try:
        import_module(name.replace("-", "_"))
        return Finding(name, EVERYTHING, FindingState.OK, metadata.version(name))
    except ModuleNotFoundError:
        return Finding(name, EVERYTHING, FindingState.BROKEN, "not installed", fix)
    except Exception as error:
        text = str(error).strip().splitlines() or [type(error).__name__]
        return Finding(name, EVERYTHING, FindingState.BROKEN, f"cannot be imported: {text[0]}", fix)


def _compiler() -> Finding:
    from ttl.host.toolchain import find_compiler

    try:
        compiler = find_compiler()
    except TTLError as error:
        found = error.diagnostics[0]
        # No compiler without CXX is fine; a CXX that does not run is a mistake.
        state = FindingState.BROKEN if os.environ.get("CXX") else FindingState.ABSENT
        return Finding("C++ compiler", EXECUTOR, state, found.message, " ".join(found.helps))
    version = compiler.version.splitlines()[0]
    if (problem := _try_compiler(compiler.command)) is not None:
        fix = "install another one, or set CXX to one that works"
        return Finding("C++ compiler", EXECUTOR, FindingState.BROKEN, f"{version}: {problem}", fix)
    return Finding("C++ compiler", EXECUTOR, FindingState.OK, version)


def _try_compiler(command: tuple[str, ...]) -> str | None:
    """Compile a library of one function; return the problem if that fails."""
    import subprocess

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "one.cpp")
        source.write_text('#include <stdint.h>\nextern "C" uint32_t one() { return 1; }\n')
        arguments = [*command, "-shared", "-fPIC", str(source), "-o", str(Path(folder, "one.so"))]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if not done.returncode:
            return None
        return (done.stderr.strip().splitlines() or ["it fails without a message"])[0]


def _torch() -> Finding:
    """Check torch without importing it, which takes seconds; most programs do not need it."""
    fix = install_extra("torch")
    if find_spec("torch") is None:
        return Finding("torch", "tt_torch", FindingState.ABSENT, "not installed", fix)
    try:
        return Finding("torch", "tt_torch", FindingState.OK, metadata.version("torch"))
    except metadata.PackageNotFoundError:
        return Finding("torch", "tt_torch", FindingState.OK, "of an unknown version")


def _ttnn() -> Iterator[Finding]:
    version = installed_version()
    if version is None:
        yield Finding(
            "ttnn", DEVICE, FindingState.ABSENT, "not installed: the stand-in is used", INSTALL
        )
    elif not is_new_enough(version):  # `import ttnn` gives it, not the stand-in
        yield Finding("ttnn", DEVICE, FindingState.BROKEN, wrong_version(version).message, INSTALL)
    else:
        known = "" if version in KNOWN_VERSIONS else ", not among those that were tried"
        yield Finding("ttnn", DEVICE, FindingState.OK, f"{version}{known}")
        yield _profiler()
    devices = found_devices()
    if devices:
        yield Finding("device", DEVICE, FindingState.OK, ", ".join(devices))
    else:
        yield Finding("device", DEVICE, FindingState.ABSENT, "none", FIND_DEVICE)


def _profiler() -> Finding:
    what, needed_for = "device profiler", "--trace on a device"
    if has_profiler():
        return Finding(what, needed_for, FindingState.OK, "in this ttnn")
    fix = "build tt-metal with Tracy: the wheel of the package registry is without"
    return Finding(what, needed_for, FindingState.ABSENT, "not in this ttnn", fix)


def _variables() -> Iterator[Finding]:
    for name, is_folder in METAL_VARIABLES.items():
        text = os.environ.get(name)
        if text is None:
            continue
        if is_folder and not Path(text).is_dir():
            fix = f"unset {name}, or set it to the folder of tt-metal"
            yield Finding(name, DEVICE, FindingState.BROKEN, f"{text}: no folder", fix)
        else:
            yield Finding(name, DEVICE, FindingState.OK, text)
    for old, now in old_variables().items():
        text = f"the old name of {now}"
        yield Finding(old, "this shell", FindingState.ABSENT, text, rename_command(old))
    if ours := chosen_variables():
        shown = " ".join(f"{name}={text}" for name, text in sorted(ours.items()))
        try:
            Config.from_environment()
            yield Finding("variables", "this shell", FindingState.OK, shown)
        except TTLError as error:
            found = error.diagnostics[0]
            fix = " ".join(found.helps)
            yield Finding("variables", "this shell", FindingState.BROKEN, found.message, fix)


def _caches() -> Iterator[Finding]:
    try:
        config = Config.from_environment()
    except TTLError:  # reported above
        return
    if (refused := refused_cache(config)) is not None:
        yield Finding("cache", EXECUTOR, FindingState.BROKEN, refused.message, _cache_fix(refused))
    else:
        yield _add_size(_writable("cache", EXECUTOR, config.cache_dir, CACHE))
    metal = Path(os.environ.get("TT_METAL_CACHE") or Path.home() / ".cache/tt-metal-cache")
    if metal.exists():
        yield _writable("cache of tt-metal", DEVICE, metal, "TT_METAL_CACHE")


def _cache_fix(refused: Diagnostic) -> str:
    return f"{refused.helps[0]}, or set {CACHE} to a folder of your own"


def _add_size(cache: Finding) -> Finding:
    """Add a cache's size and its limit."""
    if cache.state is not FindingState.OK:
        return cache
    *_, size, limit = table_of(Config.from_environment()).rows
    return replace(cache, found=f"{cache.found}: {size[1]}, limit {limit[1]}")


def _writable(what: str, needed_for: str, folder: Path, variable: str) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = f"set {variable} to a folder that can be written"
        return Finding(what, needed_for, FindingState.BROKEN, f"{folder}: {error.strerror}", fix)
    return Finding(what, needed_for, FindingState.OK, str(folder))
