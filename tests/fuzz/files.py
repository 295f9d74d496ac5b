"""Damaged files: manifests of compiled operations, flatbuffers and IR text.

A case is a JSON object: which file, and the edits that damaged it. The commands that read such
files run it, or refuse it with a diagnostic.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.judging import Verdict
from golden.example_programs import OPERATIONS, compile_example
from graph.test_malformed import PLAIN
from graph_texts import STITCHED, TWO_OUTPUTS, binary
from ttl.artifact import write_folder
from ttl.cli import main

FILECHECK = Path(__file__).parents[1] / "filecheck"
RUNS = re.compile(r"-p '?([\w,-]+(?:\{[^}]*\})?)")
CODES = re.compile(r"\[(TTL\d+)\]")
ODD: tuple[Any, ...] = (
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    1.5,
    -0.0,
    1e308,
    True,
    None,
    "",
    "x",
    "../../x",
    "\u0000",
    [],
    {},
    [[]],
    [-1],
    {"x": 1},
)
BYTES = (0, 1, 0x7F, 0x80, 0xFF)
SHORT = 12_000  # of a manifest: kernels make the rest
WORDS = re.compile(r"[%@!#]?[\w.]+|\S")


def said(command: list[str], verdict: Verdict) -> str:
    """What is wrong with how a command ended; nothing if it worked or refused in good form."""
    shown, text = io.StringIO(), ""
    with redirect_stderr(shown), redirect_stdout(io.StringIO()):
        try:
            status = main(command)
        except SystemExit as error:  # argparse
            status = int(error.code or 0)
        except BaseException as error:
            return f"{command[0]}: traceback: {type(error).__name__}: {error}"[:400]
    text = shown.getvalue()
    found = CODES.findall(text)
    verdict.codes |= {(command[0], code) for code in found}
    verdict.ending = "refused" if status else "ended"
    if any(code.startswith("TTL9") for code in found) or "Traceback" in text:
        return f"{command[0]}: internal error: {text[:400]}"
    if status and not found:
        return f"{command[0]}: status {status} without a diagnostic: {text[:200]}"
    return ""


# Manifests ----------------------------------------------------------------------------------------


@cache
def _artifact(name: str) -> Any:
    return compile_example(name)


@cache
def _manifest(name: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        write_folder(_artifact(name), Path(folder))
        return json.loads((Path(folder) / "manifest.json").read_text())


def manifest(seed: int) -> str:
    random = Random(seed)
    name = random.choice(sorted(OPERATIONS))
    found = list(paths(_manifest(name)))
    edits = []
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        if random.random() < 0.1:
            edits.append(["byte", random.randrange(SHORT), random.choice(']}{,:x\u00e9"')])
            continue
        path = random.choice(found)
        how = random.choice(("set", "set", "set", "drop", "add", "near"))
        edits.append([how, path, random.choice(ODD)])
    return json.dumps({"base": name, "edits": edits})


def paths(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if path:
        yield list(path)
    items = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else items:
        yield from paths(each, (*path, key))


def edited(value: Any, how: str, path: list[Any], odd: Any) -> None:
    """Paths that an edit before has removed are left out."""
    try:
        for key in path[:-1]:
            value = value[key]
        before = value[path[-1]]
    except (KeyError, IndexError, TypeError):
        return
    if isinstance(value, str):  # that stands where a list was
        return
    if how == "drop":
        del value[path[-1]]
    elif how == "add" and isinstance(before, dict):
        before["unknown"] = odd
    elif how == "add" and isinstance(before, list):
        before.append(odd)
    elif how == "near" and isinstance(before, int):
        value[path[-1]] = before + (1 if odd else -1)
    else:
        value[path[-1]] = odd


def check_manifest(text: str) -> Verdict:
    given, verdict = json.loads(text), Verdict()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_folder(_artifact(given["base"]), folder)
        file = folder / "manifest.json"
        file.write_text(_damaged_manifest(file.read_text(), given["edits"]))
        verdict.failure = said(["replay", name], verdict)
    return verdict


def _damaged_manifest(text: str, edits: list[Any]) -> str:
    value = json.loads(text)
    for how, *rest in edits:
        if how != "byte":
            edited(value, how, *rest)
    text = json.dumps(value, indent=1)
    for how, *rest in edits:
        if how == "byte":
            place = rest[0] % len(text)
            text = text[:place] + rest[1] + text[place + 1 :]
    return text


# Flatbuffers --------------------------------------------------------------------------------------

# Kernels in a file are C++, which may be damaged too: those files are only loaded.
FLATBUFFERS = {"plain": PLAIN}
LOADED = {"stitched": STITCHED.format(64, 32), "two outputs": TWO_OUTPUTS}


@cache
def _flatbuffer(name: str) -> bytes:
    return binary({**FLATBUFFERS, **LOADED}[name])


def flatbuffer(seed: int) -> str:
    random = Random(seed)
    name = random.choice(("plain", "plain", *LOADED))
    size = len(_flatbuffer(name))
    edits: list[list[Any]] = []
    for _ in range(random.choice((1, 1, 2, 8))):
        value = random.choice((*BYTES, random.randrange(256)))
        edits.append(["byte", random.randrange(size), value])
    if random.random() < 0.2:
        edits.append(["cut", random.randrange(size), random.randrange(1, 16)])
    if random.random() < 0.1:
        edits.append(["word", random.randrange(size) & ~3, random.choice((2**31 - 1, -1, size))])
    return json.dumps({"base": name, "edits": edits})


def check_flatbuffer(text: str) -> Verdict:
    given, verdict = json.loads(text), Verdict()
    data = bytearray(_flatbuffer(given["base"]))
    for how, place, value in given["edits"]:
        if how == "byte":
            data[min(place, len(data) - 1)] = value
        elif how == "word":
            data[place : place + 4] = int(value).to_bytes(4, "little", signed=True)
        else:
            del data[place : place + value]
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "damaged.ttnn"
        file.write_bytes(bytes(data))
        command = ["run-flatbuffer", str(file)]
        if given["base"] in LOADED:
            verdict.failure = _loaded(bytes(data), verdict)
        else:
            verdict.failure = said(command, verdict)
    return verdict


def _loaded(data: bytes, verdict: Verdict) -> str:
    from ttgraph.flatbuffer import Runtime
    from ttl.diagnostics import UsageError

    try:
        Runtime(data, memory_bytes=2**26)
    except UsageError as error:
        verdict.ending = "refused"
        verdict.codes |= {("run-flatbuffer", each.code.code) for each in error.diagnostics}
    except Exception as error:
        return f"run-flatbuffer: traceback: {type(error).__name__}: {error}"
    else:
        verdict.ending = "ended"
    return ""


# IR text ------------------------------------------------------------------------------------------


def ir(seed: int) -> str:
    """The text of a FileCheck test with words exchanged, lines doubled or gone."""
    random = Random(seed)
    file = random.choice(sorted(FILECHECK.glob("*.mlir")))
    text = file.read_text(encoding="utf-8")
    passes = random.choice(RUNS.findall(text) or [""])
    lines = [line for line in text.splitlines() if "CHECK" not in line and "RUN:" not in line]
    for _ in range(random.choice((1, 1, 2, 4))):
        _damage(lines, random)
    return f"// -p {passes}\n" + "\n".join(lines) + "\n"


def _damage(lines: list[str], random: Random) -> None:
    full = [number for number, line in enumerate(lines) if line.strip()]
    if not full:
        return
    one, other = random.choice(full), random.choice(full)
    how = random.randrange(6)
    if how == 0:
        del lines[one]
    elif how == 1:
        lines.insert(other, lines[one])
    elif how == 2:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        words = WORDS.findall(lines[one])
        new = random.choice((*WORDS.findall(lines[other]), "0", "-1", "99999999999", "index", "!x"))
        lines[one] = lines[one].replace(random.choice(words), new, random.choice((1, -1)))


def check_ir(text: str) -> Verdict:
    passes = re.findall(r"^// -p (.*)$", text, re.MULTILINE)
    verdict = Verdict()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "damaged.mlir"
        file.write_text(text, encoding="utf-8")
        chosen = ["-p", passes[0]] if passes and passes[0] else []
        verdict.failure = said(["opt", str(file), "--split-input-file", *chosen], verdict)
    return verdict
