"""The table that holds the codes of the catalogue."""

from __future__ import annotations

from .diagnostic import Blame, ChipEffect, Code

CATALOGUE: dict[str, Code] = {}

# Codes of earlier versions, by number and name, with their replacements. No other code gets their
# numbers. TTL7006 warned that an operation does not compile; the reasons have their own codes, all
# errors except TTL1016. TTL3009 refused pipes under conditions that only the run knows.
RETIRED: dict[tuple[str, str], tuple[str, ...]] = {
    ("TTL1017", "captured-written-simulated"): ("TTL1016",),
    ("TTL3009", "pipe-guard"): ("TTL5006",),
    ("TTL3014", "output-written-twice"): ("TTL5005",),
    ("TTL5007", "order-dependent"): ("TTL5005",),
    ("TTL7006", "simulator-only"): ("TTL1016",),
}


def codes_of(name: str) -> list[Code]:
    """Return the codes for a number, with or without TTL, or for a slug."""
    names = (name.upper(), f"TTL{name}", name.lower())
    now = next((now for known, now in RETIRED.items() if {*known} & {*names}), ())
    return [each for each in CATALOGUE.values() if {each.code, each.slug} & {*names, *now}]


def code(
    number: str,
    slug: str,
    blame: Blame,
    effect: ChipEffect,
    explanation: str,
    milder: ChipEffect | None = None,
) -> Code:
    assert number not in CATALOGUE
    assert all(number != retired for retired, _ in RETIRED)
    entry = Code(number, slug, blame, effect, " ".join(explanation.split()), milder)
    CATALOGUE[number] = entry
    return entry
