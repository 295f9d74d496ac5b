"""What the engines make of a program of which a model knows whether it ends.

rule ALWAYS  what always ends runs on every engine, with the same results, and nothing is wrong
rule ELSE    what does not, or ends by chance, is refused by the check and by every engine: as a
             deadlock, or as a race that decides about it
"""

from __future__ import annotations

from fuzz.engines import Outcome, check, run
from fuzz.judging import HOST_SEEDS, SIM_SEEDS, Verdict
from ttl.diagnostics import Diagnostic, Severity

DEADLOCK = "TTL5001"
REFUSED = {DEADLOCK, "TTL5005"}
ENDS = [("sim", seed) for seed in SIM_SEEDS] + [("host", seed) for seed in HOST_SEEDS]


def judged(text: str, ends: str) -> Verdict:
    outcome, found = check(text)
    outcomes = {("check", None): outcome}
    verdict = Verdict(ending=ends)
    errors = {each.code.code for each in found if each.severity is Severity.ERROR}
    outcomes |= {each: run(text, *each) for each in ENDS}
    verdict.codes = {(name, code) for (name, _), each in outcomes.items() for code in each.codes}
    faults = [
        f"{name}: {each.detail}" for (name, _), each in outcomes.items() if each.kind == "fault"
    ]
    verdict.failure = faults[0] if faults else _failure(ends, found, errors, outcomes)
    return verdict


def _failure(
    ends: str,
    found: list[Diagnostic],
    errors: set[str],
    outcomes: dict[tuple[str, int | None], Outcome],
) -> str:
    said = {each.code.code for each in found}
    engines = {key: each for key, each in outcomes.items() if key[0] != "check"}
    if ends == "always":
        if errors or DEADLOCK in said:
            return f"the check says {sorted(said)} to what always ends"
        refused = [f"{key}: {each}" for key, each in engines.items() if each.kind != "ended"]
        if refused:
            return f"it always ends, but {refused[0]}"
        first, *others = engines.values()
        same = all(first.same_as(each) for each in others)
        return "" if same else "the engines compute different results"
    if not errors & REFUSED:
        return f"{ends}: the check says {sorted(said)}"
    wrong = [f"{key}: {each}" for key, each in engines.items() if not set(each.codes) & REFUSED]
    return f"{ends}, but {wrong[0]}" if wrong else ""
