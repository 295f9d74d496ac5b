"""The kinds of cases: how one is made of a seed, judged, and made smaller; cases as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random

from diagnostics.test_pages import CASES as PAGES
from fuzz import (
    caches,
    captured,
    files,
    forms,
    lsp_messages,
    pipe_nets,
    semaphore_orders,
    shrinking,
    traces,
)
from fuzz.forks import check_forks, forking_program
from fuzz.judging import Verdict, judge
from fuzz.mutants import mutant
from fuzz.programs import RIGHT
from fuzz.warm import check_warm, warm_program
from mutation.sync_mutants import mutants

# Kinds whose programs may be wrong: then all engines refuse them.
SOME_ARE_WRONG = ("nodes", "stores", "meshes")


@dataclass(frozen=True)
class Kind:
    make: Callable[[int], str]
    check: Callable[[str], Verdict]
    smaller: Callable[[str], Iterator[str]] = shrinking.of_program
    suffix: str = ".py"
    comment: str = "#"
    at_once: int = 1  # cases of one process


@cache
def _wrong_programs() -> list[str]:
    """Those of the pages about diagnostics that are programs alone, with no options."""
    plain = (["ttl", "run", "program.py"], ["ttl", "run", "--host", "program.py"])
    return [case.wrong for case in PAGES if case.command in plain]


def changed_program(seed: int) -> str:
    """A wrong program, or a right one, changed at random or in one synchronization."""
    random = Random(seed)
    if random.random() < 0.6:
        base = random.choice(_wrong_programs())
    else:
        base = RIGHT[random.choice(("nodes", "unified", "left-out", "stores"))](seed)
    if random.random() < 0.25 and (found := list(mutants(base))):
        return random.choice(found).source + "\n"
    return mutant(base, random)


KINDS: dict[str, Kind] = {
    **{
        name: Kind(make, partial(judge, may_be_wrong=name in SOME_ARE_WRONG))
        for name, make in RIGHT.items()
    },
    "forms": Kind(forms.program, forms.judge),
    "mutants": Kind(changed_program, judge, at_once=2),
    "captured": Kind(captured.program, captured.check, captured.smaller, at_once=4),
    "manifests": Kind(files.manifest, files.check_manifest, shrinking.of_edits, ".txt", at_once=20),
    "flatbuffers": Kind(
        files.flatbuffer, files.check_flatbuffer, shrinking.of_edits, ".txt", at_once=100
    ),
    "traces": Kind(traces.trace, traces.check_trace, shrinking.of_edits, ".txt", at_once=10),
    "lsp": Kind(lsp_messages.lsp, lsp_messages.check_lsp, shrinking.of_edits, ".txt", at_once=10),
    "caches": Kind(caches.cache_case, caches.check_cache, shrinking.of_edits, ".txt"),
    "pipe-nets": Kind(pipe_nets.plan, pipe_nets.check, shrinking.of_edits, ".txt", at_once=4),
    "semaphores": Kind(
        semaphore_orders.plan, semaphore_orders.check, shrinking.of_edits, ".txt", at_once=4
    ),
    "forks": Kind(forking_program, check_forks),
    "warm": Kind(warm_program, check_warm, at_once=5),
    "ir": Kind(files.ir, files.check_ir, shrinking.of_lines, ".mlir", "//", at_once=20),
}


@dataclass(frozen=True)
class Case:
    """A text, and what is known of it."""

    kind: str
    seed: int
    text: str
    failure: str = ""

    def file_text(self) -> str:
        about = {"kind": self.kind, "seed": self.seed, "failure": self.failure}
        return f"{KINDS[self.kind].comment} fuzz: {json.dumps(about)}\n{self.text}"

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.kind}-{self.seed}{KINDS[self.kind].suffix}"
        file.write_text(self.file_text(), encoding="utf-8")
        return file


def read_case(file: Path) -> Case:
    first, _, text = file.read_text(encoding="utf-8").partition("\n")
    about = json.loads(first.partition("fuzz: ")[2])
    return Case(about["kind"], about["seed"], text, about["failure"])


def made(kind: str, seed: int) -> Case:
    return Case(kind, seed, KINDS[kind].make(seed))
