"""Every row of docs/howto/coming-from-tt-lang.md, on the backend that the test runs on."""

from __future__ import annotations

import pytest

import ttl
from conformance.coming_page import run
from conformance.coming_rows import ROWS, Row


@pytest.mark.rule("coming-from-tt-lang")
@pytest.mark.parametrize("row", ROWS, ids=[row.shown for row in ROWS])
def test_row(row: Row, way: str) -> None:
    backend = {"simulated": "sim", "compiled": "host"}[way]
    if row.expected is None:
        with pytest.raises(ttl.TTLError):
            run(row, backend)
    else:
        run(row, backend)
