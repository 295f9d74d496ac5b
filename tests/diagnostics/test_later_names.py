"""Names of later versions are told from misspelt ones."""

from __future__ import annotations

import pytest

import ttl
from ttl.diagnostics import UsageError
from ttl.diagnostics.later_names import LATER_NAMES

ABSENT = [name for name in LATER_NAMES if not hasattr(ttl, name)]


@pytest.mark.parametrize("name", ABSENT)
def test_a_later_name_is_not_taken_for_a_misspelt_one(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        getattr(ttl, name)
    (found,) = caught.value.diagnostics
    assert found.code.slug == "unknown-name"
    assert "later than this version" in found.helps[0]
    assert not any("did you mean" in each for each in found.helps)


def test_a_misspelt_name_still_has_its_neighbors() -> None:
    with pytest.raises(UsageError) as caught:
        getattr(ttl, "semaphor")  # noqa: B009
    assert any("did you mean" in each for each in caught.value.diagnostics[0].helps)
