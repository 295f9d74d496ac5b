"""A pytest plugin that runs the conformance programs compiled, on the host executor.

PYTHONPATH=tests pytest -p conformance.compiled tests/conformance
lists what the compiler refuses or gives another result for.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest


@pytest.fixture(autouse=True)
def compiled(no_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance import harness

    launch = harness._launch

    def on_host(operation: Any, *rest: Any) -> None:
        def call(*arguments: Any, **constants: Any) -> None:
            with patch.dict("os.environ", {"TTL_BACKEND": "host"}):
                operation(*arguments, **constants)

        launch(call, *rest)

    monkeypatch.setattr(harness, "_launch", on_host)
    monkeypatch.setattr(harness, "SEEDS", (1,))
    monkeypatch.setenv("TTL_BACKEND", "host")
