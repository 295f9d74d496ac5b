"""The mutants of `make mutation-language` can still be made: every text is there, exactly once."""

from __future__ import annotations

import pytest

from mutation.language import MUTANTS, Mutant, node_ids_of, occurrences


@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=[f"{number} {mutant.rule}" for number, mutant in enumerate(MUTANTS)]
)
def test_the_text_of_a_mutant_is_there_once_and_its_rule_has_tests(mutant: Mutant) -> None:
    assert occurrences(mutant) == 1, mutant.text
    assert mutant.text != mutant.replacement
    assert mutant.file.startswith(("semantics/", "source/", "sim/"))
    assert node_ids_of(mutant.rule)


def test_thirty_rules_are_broken() -> None:
    assert len({mutant.rule for mutant in MUTANTS}) >= 30


def test_a_text_that_is_gone_is_seen() -> None:
    assert occurrences(Mutant("matmul", "semantics/ops/matmul.py", "no such text", "")) == 0
