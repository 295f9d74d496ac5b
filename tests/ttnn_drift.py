"""`python -m ttnn_drift [VERSION...]`: do kernels and descriptors fit other versions of ttnn?

Without versions: the one that kernels are made for, and the newest that the package registry has.
The tests of headers, descriptors and example kernels are run with each. What comes out is a report:
the exit status is 0 also where a version does not fit.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headers.metal_headers import PLATFORM, VERSION
from ttl.trace.stats import Table

TESTS = Path(__file__).parent
PARTS = {
    "headers": ("headers",),
    "kernels of the examples": ("golden",),
    "descriptors": ("device",),
}
SUMMARY = re.compile(r"(\d+) (passed|failed|error|skipped)")
MOST_SHOWN = 5  # of the tests that fail in a part
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    version: str
    part: str
    counts: dict[str, int]
    failed: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        return self.counts.get("passed", 0) > 0 and not self.failed


def newest_version(package: str = "ttnn", platform: Sequence[str] = PLATFORM) -> str | None:
    """Of the wheels for the platform; None if the registry does not answer."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "index",
        "versions",
        package,
        "--disable-pip-version-check",
        "--only-binary=:all:",
        *platform,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return parse_newest(package, done.stdout)


def parse_newest(package: str, text: str) -> str | None:
    found = re.search(rf"^{re.escape(package)} \(([^)]+)\)", text, re.MULTILINE)
    return None if found is None else found[1]


def tried(version: str, part: str) -> Outcome:
    text = run_tests(PARTS[part], {"PYTTLANG_TTNN_VERSION": version})
    return outcome(version, part, text)


def run_tests(
    names: Sequence[str], variables: Mapping[str, str], python: str = sys.executable
) -> str:
    """What pytest prints about files or folders of the tests."""
    command = [python, "-P", "-m", "pytest", "-q", "-n", "1", *(str(TESTS / n) for n in names)]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, cwd=TESTS.parent, capture_output=True, text=True, check=False, env=environment
    )
    return done.stdout + done.stderr


def outcome(version: str, part: str, text: str) -> Outcome:
    counts = {kind: int(count) for count, kind in SUMMARY.findall(text)}
    failed = tuple(FAILED.findall(text))
    if not counts and not failed:
        failed = ((text.strip().splitlines() or ["nothing was run"])[-1],)
    return Outcome(version, part, counts, failed)


def report(outcomes: Sequence[Outcome], title: str = "ttnn versions") -> list[str]:
    rows = tuple(
        (each.version, each.part, each.counts.get("passed", 0), len(each.failed))
        for each in outcomes
    )
    lines = Table(title, ("version", "what", "passed", "failed"), rows).lines()
    for each in outcomes:
        lines += [f"{each.version}: {name}" for name in each.failed[:MOST_SHOWN]]
        if len(each.failed) > MOST_SHOWN:
            lines.append(f"{each.version}: {len(each.failed) - MOST_SHOWN} more of {each.part}")
    for version in dict.fromkeys(each.version for each in outcomes):
        fits = all(each.is_good for each in outcomes if each.version == version)
        lines.append(f"{version} {'fits' if fits else 'does not fit'}")
    return lines


def main(versions: Sequence[str]) -> None:
    if not versions:
        newest = newest_version()
        if newest is None:
            print("the package registry does not tell which version of ttnn is the newest")
        elif newest == VERSION:
            print(f"the newest ttnn of the package registry is {VERSION}, the one that is used")
        versions = [each for each in dict.fromkeys((VERSION, newest)) if each is not None]
    outcomes = [tried(version, part) for version in versions for part in PARTS]
    print("\n".join(report(outcomes)))


if __name__ == "__main__":
    main(sys.argv[1:])
