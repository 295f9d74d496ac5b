"""What type checkers and editors show in users' programs: nothing is red in a right one.

They see our wheel as installed, never the tree.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

import ttl
from editor import stubs
from installed import Environment, build_wheel
from ttl import ttnn, utils
from ttl.language.functions import FLAT
from ttl.language.old_names import OLD_NAMES
from ttl.sim import typedefs

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PUBLIC = ROOT / "tests" / "meta" / "public_api.txt"


def test_the_stubs_are_up_to_date() -> None:
    assert stubs.is_up_to_date(), "run python tests/editor/stubs.py"


# Programs -----------------------------------------------------------------------------------------


def programs_of(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def written_in_pages() -> dict[str, str]:
    """The programs of the README, and those of each page of the tutorial one after the other."""
    pages = sorted((ROOT / "docs" / "tutorial").glob("[1-8]*.md"))
    found = {f"tutorial_{page.stem[0]}": "\n".join(programs_of(page)) for page in pages}
    readme = enumerate(programs_of(ROOT / "README.md"))
    return {name: text for name, text in found.items() if text} | {
        f"readme_{number}": text for number, text in readme
    }


def public_names() -> Iterator[str]:
    """The names that others rely on, and those that `ttl` and `ttnn` have beside them."""
    for line in PUBLIC.read_text().splitlines():
        kind, name, *_ = line.split()
        if kind == "name":
            yield name
        elif kind == "function":
            yield f"ttl.math.{name}" if name in ttl.math.__all__ else f"ttl.{name}"
    yield from (f"ttl.block.{name}" for name in ttl.block.__all__)
    yield from (f"ttl.{name}" for name in (*FLAT, *OLD_NAMES, "BlockExpr", "__version__"))
    yield from (f"ttl.sim.{name}" for name in (*ttl.__all__, *FLAT, *OLD_NAMES))
    yield from (f"ttl.ttl.{name}" for name in ttl.__all__)
    yield from (f"ttl.utils.{name}" for name in utils.__all__)
    yield from (f"ttl.sim.typedefs.{name}" for name in typedefs.__all__)
    yield from (f"{home}.{name}" for home in ("ttnn", "ttl.sim.ttnn") for name in ttnn.__all__)


def with_every_name() -> str:
    modules = (
        "pykernel.d2m_api",
        "pykernel.kernel_ast",
        "tt_torch",
        "ttl",
        "ttl.sim",
        "ttl.sim.typedefs",
        "ttl.testing",
        "ttl.utils",
        "ttnn",
    )
    lines = [f"import {module}" for module in modules]
    lines += [f"reveal_type({name})" for name in dict.fromkeys(public_names())]
    return "\n".join(lines) + "\n"


def with_every_import() -> str:
    """Each name of `ttl` and `ttnn` once as `import *` brings it, and once by its name."""
    lines = ["from ttl import *", "from ttl import ttl as same", "from ttl.sim import ttl, ttnn"]
    lines += [f"from ttl import {name} as ttl_{name}" for name in ttl.__all__]
    lines += [f"from ttnn import {name} as ttnn_{name}" for name in ttnn.__all__]
    lines += [f"print({', '.join(ttl.__all__)})", "print(same, ttl.copy, ttnn.open_device)"]
    return "\n".join(lines) + "\n"


# As a user writes it, without annotations.
RMSNORM = """\
import numpy as np
import ttnn

import ttl


@ttl.operation(grid=(1, 1))
def rmsnorm(x, weight, y, epsilon):
    rows, columns = (size // ttl.TILE_SIZE for size in x.shape)
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, columns), block_count=2)
    weight_dfb = ttl.make_dataflow_buffer_like(weight, shape=(1, columns), block_count=1)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, columns), block_count=2)

    @ttl.compute()
    def compute():
        with weight_dfb.wait() as weight_blk:
            for _ in range(rows):
                with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                    mean = ttl.math.reduce_mean(x_blk * x_blk, dims=[-1])
                    scale = ttl.math.rsqrt(mean + epsilon)
                    scaled = x_blk * ttl.math.broadcast(scale, dims=[-1], shape=(1, columns))
                    y_blk.store(-(1 - scaled) * weight_blk / 2 + scaled**2)

    @ttl.datamovement()
    def read():
        with weight_dfb.reserve() as weight_blk:
            transfer = ttl.copy(weight[0, 0:columns], weight_blk)
            transfer.wait()
        for row in range(rows):
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[row, 0:columns], x_blk).wait()

    @ttl.datamovement()
    def write():
        for row in range(rows):
            y_blk = y_dfb.wait()
            ttl.copy(y_blk, y[row, 0:columns]).wait()
            y_blk.pop()


device = ttnn.open_device(device_id=0)
x = ttl.from_numpy(np.ones((64, 64)), dtype=ttnn.bfloat16, device=device)
weight = ttnn.ones((32, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
y = ttnn.zeros_like(x)
rmsnorm(x, weight, y, 1e-5)
print(ttl.to_numpy(y)[:2, :4])
ttnn.close_device(device)
"""
# mypy --strict wants annotations: docs/howto/editor.md.
UNANNOTATED = "# mypy: allow-untyped-defs, allow-untyped-calls\n"

# Each line with the type that an editor shows when the mouse is on what it reveals.
HOVERED = """\
import numpy as np
import ttnn
import ttl

@ttl.operation(grid=(1, 1))
def exp(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    reveal_type(x_dfb)  # DataflowBuffer

    @ttl.compute()
    def compute():
        with x_dfb.wait() as x_blk:
            reveal_type(x_blk)  # Block
            reveal_type(x_blk * 2 + x_blk)  # BlockExpression
            reveal_type(ttl.math.exp(x_blk))  # BlockExpression
            reveal_type(x_blk @ x_blk)  # BlockExpression

    @ttl.datamovement()
    def read():
        reveal_type(ttl.node(dims=1))  # int
        reveal_type(ttl.node(dims=2))  # tuple[int, int]
        reveal_type(ttl.copy(x[0, 0], x_dfb.reserve()))  # Transfer

reveal_type(exp)  # Operation
device = ttnn.open_device(device_id=0)
reveal_type(device)  # Device
x = ttl.from_numpy(np.ones((32, 32)), dtype=ttnn.bfloat16, device=device)
reveal_type(x)  # Tensor
reveal_type(ttnn.bfloat16)  # DataType
"""

WRONG = """\
import ttnn
import ttl

@ttl.operation()
def wrong(x: ttnn.Tensor) -> None:
    columns, rows = ttl.node(dims=1)
    a, b, c = ttl.grid_size()
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

    @ttl.compute()
    def compute(block: int) -> None:
        with dfb.wait() as blk:
            blk.store(ttl.math.exq(blk))
            blk.store(ttl.math.relu_max(blk))
            ttl.block.fill("one")

ttnn.open_devise(0)
ttl.coppy(1, 2)
"""
WRONG_FILE, WRONG_LINES = "wrong_types.py", {6, 7, 10, 13, 14, 15, 17, 18}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What we show, what users write, and a wrong one: a checker to which all is `Any` would find
    nothing there either.
    """
    folder = tmp_path_factory.mktemp("programs")
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("pytorch"))
    texts = {
        **written_in_pages(),
        "rmsnorm_of_a_user": UNANNOTATED + RMSNORM,
        "hovered": HOVERED.replace("import numpy", f"{UNANNOTATED}import numpy", 1),
        "every_name": with_every_name(),
        "every_import": with_every_import(),
    }
    for name, text in texts.items():
        (folder / "examples" / f"{name}.py").write_text(text)
    (folder / "examples" / WRONG_FILE).write_text(WRONG)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("environment")
    made = Environment(folder / "environment")
    made.install(build_wheel(folder), "--no-compile")
    return made


# Type checkers ------------------------------------------------------------------------------------


class Found(NamedTuple):
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def pyright(environment: Environment, folder: Path) -> dict[str, list[Found]]:
    """What it says by severity, as it is without settings."""
    command = [sys.executable, "-m", "pyright", "--outputjson"]
    command += ["--pythonpath", str(environment.python), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    said = json.loads(done.stdout)
    assert said["summary"]["filesAnalyzed"] > 0
    found: dict[str, list[Found]] = {"error": [], "warning": [], "information": []}
    for each in said["generalDiagnostics"]:
        line = each["range"]["start"]["line"] + 1
        found[each["severity"]].append(Found(Path(each["file"]).name, line, each["message"]))
    return found


def mypy(environment: Environment, folder: Path) -> dict[str, list[Found]]:
    """Modules find each other as when one of them is run."""
    command = [sys.executable, "-m", "mypy", "--strict", "--namespace-packages"]
    command += ["--explicit-package-bases", "--cache-dir", str(folder / "cache")]
    command += ["--python-executable", str(environment.python), "."]
    path = os.pathsep.join(str(folder / name) for name in (".", "pieces", "gallery"))
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "MYPYPATH": path, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    found: dict[str, list[Found]] = {"error": [], "note": []}
    for file, line, kind, text in re.findall(r"^(.+?):(\d+): (\w+): (.*)$", done.stdout, re.M):
        found[kind].append(Found(Path(file).name, int(line), text))
    return found


def split(found: Iterable[Found]) -> tuple[str, set[int]]:
    """What is reported of our programs, and the lines of the wrong one."""
    found = list(found)
    ours = [str(each) for each in found if each.file != WRONG_FILE]
    return "\n".join(ours), {each.line for each in found if each.file == WRONG_FILE}


@pytest.fixture(scope="module")
def seen_by_pyright(environment: Environment, programs: Path) -> dict[str, list[Found]]:
    return pyright(environment, programs / "examples")


@pytest.fixture(scope="module")
def seen_by_mypy(environment: Environment, programs: Path) -> dict[str, list[Found]]:
    return mypy(environment, programs / "examples")


def test_pyright_finds_nothing_in_programs(seen_by_pyright: dict[str, list[Found]]) -> None:
    assert split(seen_by_pyright["error"]) == ("", WRONG_LINES)


def test_mypy_finds_nothing_in_programs(seen_by_mypy: dict[str, list[Found]]) -> None:
    assert split(seen_by_mypy["error"]) == ("", WRONG_LINES)


def test_every_public_name_has_a_type(
    seen_by_pyright: dict[str, list[Found]], seen_by_mypy: dict[str, list[Found]]
) -> None:
    count = len(set(public_names()))
    hovers = [each for each in seen_by_pyright["information"] if each.file == "every_name.py"]
    assert len(hovers) == count
    assert not [str(each) for each in hovers if "Unknown" in each.text]
    notes = [each for each in seen_by_mypy["note"] if each.file == "every_name.py"]
    assert len(notes) == count
    assert not [str(each) for each in notes if each.text == 'Revealed type is "Any"']


def test_values_in_kernels_have_types(seen_by_pyright: dict[str, list[Found]]) -> None:
    shown = [each.text for each in seen_by_pyright["information"] if each.file == "hovered.py"]
    wanted = re.findall(r"reveal_type\((.+)\)  # (.+)$", HOVERED, re.M)
    assert shown == [f'Type of "{value}" is "{type_}"' for value, type_ in wanted]


def test_pyright_warns_of_missing_sources_and_imports_of_everything_only(
    seen_by_pyright: dict[str, list[Found]],
) -> None:
    """Python's finder serves ttnn, and the programs of pykernel import everything."""
    known = r"Import \S+ could not be resolved from source|Wildcard import from a library"
    others = [each for each in seen_by_pyright["warning"] if not re.match(known, each.text)]
    assert not [str(each) for each in others]


@pytest.mark.full
def test_pyright_finds_nothing_in_the_examples_of_pytorch(
    environment: Environment, tmp_path: Path
) -> None:
    shutil.copytree(EXAMPLES / "pytorch", tmp_path / "pytorch")
    assert pyright(environment, tmp_path)["error"] == []


@pytest.mark.full
def test_mypy_finds_nothing_in_the_examples_of_pytorch(
    environment: Environment, tmp_path: Path
) -> None:
    shutil.copytree(EXAMPLES / "pytorch", tmp_path / "pytorch")
    assert mypy(environment, tmp_path / "pytorch")["error"] == []


# Completion ---------------------------------------------------------------------------------------


def completed(environment: Environment, file: Path) -> list[set[str]]:
    """What pyright's language server, on which Pylance is built, offers at the end of each line."""

    async def session() -> list[set[str]]:
        client = LanguageClient("test", "1")
        paths = os.pathsep.join((str(environment.folder / "bin"), os.environ["PATH"]))
        command = (sys.executable, "-m", "pyright.langserver", "--stdio")
        await client.start_io(*command, env={**os.environ, "PATH": paths})
        folder = types.WorkspaceFolder(file.parent.as_uri(), "programs")
        asked = types.InitializeParams(
            types.ClientCapabilities(), workspace_folders=[folder], root_uri=folder.uri
        )
        await client.initialize_async(asked)
        client.initialized(types.InitializedParams())
        document = types.TextDocumentItem(file.as_uri(), "python", 1, file.read_text())
        client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        found = [
            await _offered(client, document.uri, number, len(line))
            for number, line in enumerate(document.text.splitlines())
            if line.endswith(".")
        ]
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()
        return found

    return asyncio.run(session())


async def _offered(client: LanguageClient, uri: str, line: int, column: int) -> set[str]:
    place = types.TextDocumentIdentifier(uri), types.Position(line, column)
    found: Any = await client.text_document_completion_async(types.CompletionParams(*place))
    return {item.label for item in getattr(found, "items", found)}


def test_editors_complete_names(environment: Environment, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("import ttl\nimport ttnn\nttl.\nttl.math.\nttnn.\nttnn.ones((1, 1)).\n")
    of_ttl, of_math, of_ttnn, of_tensor = completed(environment, file)
    assert {*ttl.__all__, *FLAT, *OLD_NAMES} <= of_ttl
    assert {*ttl.math.__all__} <= of_math
    assert {*ttnn.__all__} <= of_ttnn
    assert {"shape", "dtype", "layout"} <= of_tensor


# Sources ------------------------------------------------------------------------------------------


def can_be_read(statement: ast.stmt) -> bool:
    """Whether it gives `__all__` names in a way that the typing specification describes."""
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Attribute):
        return value.attr == "__all__"
    return isinstance(value, (ast.List, ast.Tuple)) and all(
        isinstance(each, ast.Constant) for each in value.elts
    )


def named(statement: ast.stmt) -> set[str]:
    given = [*getattr(statement, "targets", ()), getattr(statement, "target", None)]
    return {each.id for each in given if isinstance(each, ast.Name)}


def test_lists_of_public_names_can_be_read_without_running_them() -> None:
    """Where they cannot, a stub stands beside the source."""
    unreadable = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for path in (ROOT / "src").rglob("*.py*")
        if path.suffix == ".pyi" or (path.suffix == ".py" and not path.with_suffix(".pyi").exists())
        for statement in ast.parse(path.read_text()).body
        if "__all__" in named(statement) and not can_be_read(statement)
    ]
    assert unreadable == []
