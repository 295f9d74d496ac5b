"""What is wrong with how the engines treat a program; nothing, if they agree.

rule FAULT    nobody ends with an internal error, a traceback of ours or an error without a place
rule ALIKE    what one engine refuses no other runs, but for what is only not compiled
rule SEEDS    what is proven ends the same in every order
rule NUMPY    what ends has the results of the reference
rule ENGINES  exact results are the same on simulator and host
rule CHECKED  what the check before a run refuses ends on no engine; but statements that are never
              reached are only read by the compiler
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzz import numpy_ttl
from fuzz.engines import OF_COMPILING, Outcome, check, expected, run
from ttl.diagnostics import Severity

SIM_SEEDS = (None, 1, 2)
HOST_SEEDS = (1, 2, 3)
# What is wrong with a statement, whether it is reached or not, and what does not compile.
OF_TEXT = ("TTL1", "TTL2", *OF_COMPILING)
UNSAID = {"not-proven", "deadlock"}  # the second as a warning: in some orders


@dataclass
class Verdict:
    failure: str = ""
    ending: str = ""  # how the program ended
    codes: set[tuple[str, str]] = field(default_factory=set)  # which engine raised them


def judge(text: str, may_be_wrong: bool = True) -> Verdict:
    verdict = Verdict()
    verdict.failure = _failure(text, may_be_wrong, verdict)
    return verdict


def _failure(text: str, may_be_wrong: bool, verdict: Verdict) -> str:
    checked, found = check(text)
    verdict.codes |= {("check", each.code.code) for each in found}
    verdict.codes |= {("check", code) for code in checked.codes}
    sims = [run(text, "sim", seed) for seed in SIM_SEEDS]
    hosts = [run(text, "host", HOST_SEEDS[0])]
    hosts += [run(text, "host", seed) for seed in HOST_SEEDS[1:] if hosts[0].kind == "ended"]
    named = [("check", checked), *(("sim", each) for each in sims), *(("host", h) for h in hosts)]
    verdict.codes |= {(name, code) for name, each in named for code in each.codes}
    verdict.ending = sims[0].kind
    for name, each in named:  # rule FAULT
        if each.kind == "fault":
            return f"{name}: {each.detail}"
    unsaid = [each for each in found if each.code.slug in UNSAID]
    is_proven = all(each.severity is Severity.ERROR for each in unsaid)
    errors = [each for each in found if each.severity is Severity.ERROR]
    refusals = [*(each.code.code for each in errors), *checked.codes]
    if refusals and sims[0].kind == "ended":  # rule CHECKED
        if all(code.startswith(OF_TEXT) for code in refusals):
            return ""
        return f"the check refuses for {refusals[0]} what the simulator runs"
    if "invalid" in {each.kind for _, each in named}:
        return "" if may_be_wrong else f"no program: {sims[0].detail}"
    if sims[0].kind == "refused" and not may_be_wrong:
        return f"sim refuses for {sims[0].detail}"
    if hosts[0].is_compilers:
        hosts = []
    if is_proven:
        return _alike(sims, hosts) or _as_numpy(text, sims[0], hosts, may_be_wrong)
    return ""


def _alike(sims: list[Outcome], hosts: list[Outcome]) -> str:
    for name, runs in (("sim", sims), ("host", hosts)):  # rule SEEDS
        for each in runs[1:]:
            if not each.same_as(runs[0]):
                return f"{name} depends on the order: {runs[0]}, {each}"
    if hosts and sims[0].kind != hosts[0].kind:  # rule ALIKE
        return f"engines differ: sim {sims[0]}, host {hosts[0]}"
    return ""


def _as_numpy(text: str, sim: Outcome, hosts: list[Outcome], may_be_wrong: bool) -> str:
    if sim.kind != "ended":
        return ""
    try:
        wanted = expected(text)
    except numpy_ttl.NeedsThreads:
        wanted = None
    except numpy_ttl.Stuck:
        return "the reference waits for ever where the engines end"
    except Exception as error:  # what nobody generates, it need not know
        return "" if may_be_wrong else f"the reference fails: {error!r}"
    if wanted is not None:  # rule NUMPY
        for name, each in (("sim", sim), *(("host", host) for host in hosts[:1])):
            for number, (one, result) in enumerate(zip(wanted, each.results, strict=True)):
                if difference := one.difference(result):
                    return f"{name} is not numpy: tensor {number}: {difference}"
    if hosts and _is_exact(text) and not sim.same_as(hosts[0]):  # rule ENGINES
        return "sim is not host"
    return ""


def _is_exact(text: str) -> bool:
    return "\nEXACT = True\n" in text or "make_tensors" not in text
