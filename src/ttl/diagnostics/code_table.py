"""Where the codes of the catalogue are entered."""

from __future__ import annotations

from .diagnostic import Blame, Code, Effect

CATALOGUE: dict[str, Code] = {}


def code(
    number: str,
    slug: str,
    blame: Blame,
    effect: Effect,
    explanation: str,
    milder: Effect | None = None,
) -> Code:
    assert number not in CATALOGUE
    entry = Code(number, slug, blame, effect, " ".join(explanation.split()), milder)
    CATALOGUE[number] = entry
    return entry
