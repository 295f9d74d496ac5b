"""The table of what is not compiled names tests that exist."""

from __future__ import annotations

from pathlib import Path

from conformance.compiled import EXCEPTIONS


def test_every_exception_names_a_test() -> None:
    texts = [path.read_text() for path in Path(__file__).parent.glob("*/test_*.py")]
    for name in EXCEPTIONS:
        function = name.partition("[")[0]
        assert any(f"def {function}(" in text for text in texts), name
