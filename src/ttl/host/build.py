"""Shared libraries made by the machine's compiler, kept in a cache folder.

A library's name holds a hash of everything that went into it, so a stale entry is one nobody asks
for. Libraries are built beside their place and renamed into it, by one process at a time. An entry
that is not whole, that others may have written or that cannot be loaded is built again, once; a
folder that others may write is not used.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from ttl.diagnostics.errors import reading
from ttl.loading.cache_folder import PRIVATE_FOLDER, is_trusted, refusal_of, temporary_folder
from ttl.loading.forks import UNDIVIDED
from ttl.target import DEVICE_APIS, of_all_chips

from .cache_entries import WORKSPACE, is_whole, only_builder, remove_stale, seal
from .toolchain import Compiler

RUNTIME_FOLDER = Path(__file__).parent / "runtime"
PREBUILT_FOLDER = Path(__file__).parent / "prebuilt"  # of a wheel, not of the sources
CURRENT_API = DEVICE_APIS[0]
# Headers that add the names which the current API has no more.
OLDER_API_FOLDERS = {"0.69": "include_0_69"}

_COMMON_FLAGS = (
    "-std=c++17",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    # The same bits on every machine, equal to numpy's: no fused multiply-add.
    "-ffp-contract=off",
)
_RUNTIME_FLAGS = (
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-semantic-interposition",
)
# GCC 12.2 loses the mask in `narrow ? bits & 0xffff0000 : bits` of a bit-cast float in this pass.
_GCC_RUNTIME_FLAGS = ("-fno-tree-pre",)
_KERNEL_FLAGS = (
    "-O1",
    # Exported static data of the same name would be one object for all operations of a process.
    "-fvisibility=hidden",
    # An int that leaves its 32 bits is a fault, not another number than the simulator's.
    "-fsanitize=signed-integer-overflow",
    # On Linux runtime/overflow.cpp is called with the line; elsewhere the kernel stops.
    "-fno-sanitize-recover=signed-integer-overflow"
    if sys.platform == "linux"
    else "-fsanitize-undefined-trap-on-error",
    # The chip's build treats these as errors; here they keep kernels honest.
    "-Werror=sign-compare",
    "-Werror=unused-value",
    "-Werror=narrowing",
)

RECORDS_CALLS = "-DTTL_RECORDS_CALLS"


def _chip_flags() -> tuple[str, ...]:
    """Return the flags for the runtime's sizes and layout: one runtime serves all chips."""
    sizes = {
        "MOST_DST_TILES": 2 * of_all_chips("dst_tiles_16_bit"),  # of both sections
        "MOST_SEMAPHORES": of_all_chips("semaphores"),
        "TRANSACTION_IDS": of_all_chips("noc_transaction_ids"),
        "L1_ALIGNMENT": of_all_chips("l1_alignment_bytes"),
    }
    return tuple(f"-DTTL_{name}={size}" for name, size in sizes.items())


class CompilerRejected(Exception):
    """The compiler did not accept a source; `output` is what it printed."""

    def __init__(self, output: str):
        super().__init__(output)
        self.output = output


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How a library is made; `units` are compiled one by one, all at the same time, and linked."""

    name: str
    key: str
    arguments: tuple[str, ...]
    units: tuple[str, ...] = ()
    standard_input: str = ""
    link: tuple[str, ...] = ()
    notice: str = ""  # printed when it has to be made


def load(build: Callable[[bool], Path]) -> tuple[Path, ctypes.CDLL]:
    """The library that `build(anew)` gives, loaded; OSError if a new one cannot be either."""
    path = build(False)
    try:
        return path, ctypes.CDLL(str(path))
    except OSError:  # of another machine, perhaps
        path = build(True)
        return path, ctypes.CDLL(str(path))


def build_runtime(
    compiler: Compiler, cache_dir: Path, folder: Path = RUNTIME_FOLDER, anew: bool = False
) -> Path:
    """The runtime as a shared library; `anew` does not take it from the wheel or the cache."""
    sources = _sources(folder)
    prebuilt = PREBUILT_FOLDER / _name_of(sources)
    if not anew and is_whole(prebuilt):
        return prebuilt
    includes = (f"-I{folder}", *_includes(compiler, folder))
    own_flags = (*_RUNTIME_FLAGS, *(_GCC_RUNTIME_FLAGS if compiler.is_gcc else ()))
    flags = (*_COMMON_FLAGS, *own_flags, *_chip_flags(), *compiler.flags)
    units = tuple(str(folder / name) for name in sources if name.endswith(".cpp"))
    key = _key(compiler, flags, _parts(sources))
    link = (*_linker_flags(compiler), *_direct_calls(compiler), "-lm")
    notice = f"ttl: building the C++ runtime of the executor with {compiler.command[0]}, once"
    recipe = _Recipe("runtime", key, (*flags, *includes), units, link=link, notice=notice)
    return _build(compiler, recipe, cache_dir, anew)


def prebuilt_name(folder: Path = RUNTIME_FOLDER) -> str:
    """By all that a runtime depends on but the compiler: it serves kernels of any."""
    return _name_of(_sources(folder))


def _name_of(sources: dict[str, bytes]) -> str:
    return f"runtime-{_hash((*_chip_flags(), *_parts(sources)))}.so"


def _sources(folder: Path) -> dict[str, bytes]:
    """All files by their names. Every first launch of a process reads them: no objects of paths."""
    found = {}
    with reading(folder):
        for place, _, names in os.walk(folder):
            for path in (os.path.join(place, name) for name in names):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return dict(sorted(found.items()))


def _parts(sources: dict[str, bytes]) -> list[bytes]:
    return [part for name, content in sources.items() for part in (name.encode(), content)]


def build_kernels(
    compiler: Compiler,
    unit: str,
    runtime: Path,
    cache_dir: Path,
    folder: Path = RUNTIME_FOLDER,
    anew: bool = False,
    device_api: str = CURRENT_API,
    records_calls: bool = False,
) -> Path:
    """The kernels of one translation unit as a shared library that needs `runtime`; with
    `records_calls` the device headers tell it of each call.
    """
    records = (RECORDS_CALLS,) if records_calls else ()
    flags = (*_COMMON_FLAGS, *_KERNEL_FLAGS, *records, *compiler.flags)
    link = ("-x", "c++", "-", "-x", "none", str(runtime), *_kernel_linker_flags(compiler))
    older = OLDER_API_FOLDERS.get(device_api)
    names = (f"-I{folder / older}",) if older is not None else ()
    arguments = (*flags, *names, *_includes(compiler, folder))
    # The runtime's name holds the hash of the headers; its folder is where the loader looks.
    key = _key(compiler, (*flags, *names), [str(runtime).encode(), unit.encode()])
    recipe = _Recipe("kernels", key, arguments, standard_input=unit, link=link)
    return _build(compiler, recipe, cache_dir, anew)


def _includes(compiler: Compiler, folder: Path) -> tuple[str, ...]:
    names = ("include",) if compiler.has_cxx_library else ("include", "freestanding")
    return tuple(f"-I{folder / name}" for name in names)


def _linker_flags(compiler: Compiler) -> tuple[str, ...]:
    """Leave out the C++ library, which nothing here uses."""
    if sys.platform == "darwin" or not compiler.has_cxx_library:
        return ()
    return ("-Wl,--as-needed",)


def _direct_calls(compiler: Compiler) -> tuple[str, ...]:
    """Calls within the runtime, of which a step makes many, go through no table."""
    return ("-Wl,-Bsymbolic",) if _linker_flags(compiler) else ()


def _kernel_linker_flags(compiler: Compiler) -> tuple[str, ...]:
    """GCC's linker takes a sixth of a build to read the C++ library, which kernels do not use."""
    is_plain_gcc = compiler.is_gcc and compiler.has_cxx_library and sys.platform == "linux"
    own = ("-nodefaultlibs", "-lgcc", "-lc") if is_plain_gcc else ()
    return (*_linker_flags(compiler), *own)


def _key(compiler: Compiler, flags: Iterable[str], content: Iterable[bytes]) -> str:
    return _hash((*compiler.command, compiler.version, *flags, *content))


def _hash(parts: Iterable[str | bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:24]


def _build(compiler: Compiler, recipe: _Recipe, cache_dir: Path, anew: bool) -> Path:
    file_name = f"{recipe.name}-{recipe.key}.so"
    for folder in _folders(cache_dir):
        place = folder / file_name
        if not anew and _may_be_loaded(place):
            return place
        try:
            workspace = _make_workspace(place.parent)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            continue  # missing and not to be made, or read-only
        with only_builder(place):
            if not anew and _may_be_loaded(place):  # another process was faster
                shutil.rmtree(workspace, ignore_errors=True)
                return place
            if recipe.notice:
                print(recipe.notice, file=sys.stderr, flush=True)
            return _build_in(workspace, compiler, recipe, place)
    raise OSError(f"no folder to build in: {cache_dir} is not writable")


def _folders(cache_dir: Path) -> Iterator[Path]:
    """Where a library may be: the cache, if its content may be run; else a temporary folder."""
    if refusal_of(str(cache_dir)) is None:
        yield cache_dir
    yield Path(temporary_folder())


def _may_be_loaded(library: Path) -> bool:
    return is_trusted(str(library)) and is_whole(library)


def _make_workspace(parent: Path) -> Path:
    """Make a folder that only the user may write: its libraries will run."""
    parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    remove_stale(parent)
    return Path(tempfile.mkdtemp(prefix=WORKSPACE, dir=parent))


def _build_in(workspace: Path, compiler: Compiler, recipe: _Recipe, place: Path) -> Path:
    try:
        output = workspace / place.name
        naming = (f"-Wl,-install_name,{place}",) if sys.platform == "darwin" else ()
        parts = (*_objects(workspace, compiler, recipe), *recipe.link, *naming)
        arguments = ("-shared", *recipe.arguments, *parts, "-o", str(output))
        run_compiler(compiler, arguments, workspace, recipe.standard_input)
        seal(output)
        if place.is_dir():  # nothing of ours, and no library can have its name
            shutil.rmtree(place)
        os.replace(output, place)
        return place
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _objects(workspace: Path, compiler: Compiler, recipe: _Recipe) -> list[str]:
    """The compiled units; the compilers run in processes of their own, so threads do to wait.

    Plain threads: a pool loads much more, also locks that other forks of the process see.
    """
    objects = {unit: str(workspace / f"{Path(unit).stem}.o") for unit in recipe.units}
    waiting, failures = iter(objects.items()), list[Exception]()

    def compile_units() -> None:
        try:
            for unit, compiled in waiting:
                run_compiler(compiler, (*recipe.arguments, "-c", unit, "-o", compiled), workspace)
        except Exception as failure:
            failures.append(failure)

    count = min(os.cpu_count() or 1, len(objects))
    threads = [Thread(target=compile_units, name="ttl compiler") for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return list(objects.values())


def run_compiler(
    compiler: Compiler, arguments: Sequence[str], workspace: Path, standard_input: str = ""
) -> None:
    """There, and not where the user is: `#include "..."` looks in the current folder, too."""
    # Files, not pipes: a child of fork() has a copy of a pipe, which then has no end before the
    # child's own, and the child may wait for what is built here.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.write(standard_input.encode())
        given.seek(0)
        command = (*compiler.command, *arguments)
        with UNDIVIDED:
            running = subprocess.Popen(
                command, stdin=given, stdout=printed, stderr=printed, cwd=workspace
            )
        try:
            status = running.wait()
        except BaseException:
            running.kill()
            running.wait()
            raise
        printed.seek(0)
        output = printed.read().decode(errors="replace")
    if status != 0:
        for number in (errno.ENOSPC, errno.EMFILE):  # of the machine, not of the kernels
            if os.strerror(number) in output:
                raise OSError(number, os.strerror(number), str(workspace.parent))
        raise CompilerRejected(output)
