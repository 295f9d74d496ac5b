"""A store with a bound."""

from __future__ import annotations

import pytest

from ttl.loading.recent import Recent


def test_what_was_asked_for_last_is_kept() -> None:
    recent: Recent[str] = Recent(2)
    for key in ("a", "b", "a", "c"):
        recent.get(key, lambda key=key: key * 2)
    assert len(recent) == 2
    assert recent.get("a", lambda: "new") == "aa"
    assert recent.get("b", lambda: "new") == "new"


def test_what_cannot_be_made_is_not_kept() -> None:
    recent: Recent[int] = Recent(2)
    with pytest.raises(ZeroDivisionError):
        recent.get("a", lambda: 1 // 0)
    assert recent.get("a", lambda: 3) == 3


def test_a_value_may_be_made_of_others() -> None:
    recent: Recent[int] = Recent(2)
    assert recent.get("a", lambda: recent.get("b", lambda: 1) + 1) == 2


def test_a_key_is_new_once() -> None:
    recent: Recent[None] = Recent(2)
    assert [recent.is_first(key, None) for key in ("a", "a", "b", "a", "c", "b")] == [
        True,
        False,
        True,
        False,
        True,
        True,
    ]
    recent.clear()
    assert recent.is_first("a", None)
