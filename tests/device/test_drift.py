"""The report about other versions of ttnn."""

from __future__ import annotations

from ttnn_drift import Outcome, outcome, parse_newest, report


def test_the_newest_version() -> None:
    said = "ttnn (0.82.0)\nAvailable versions: 0.82.0, 0.81.1\n  INSTALLED: 0.81.1\n"
    assert parse_newest("ttnn", said) == "0.82.0"
    assert parse_newest("ttnn", "ERROR: No matching distribution found for ttnn") is None


def test_what_pytest_says() -> None:
    good = outcome("0.81.1", "headers", "...\n12 passed in 3.00s\n")
    assert good == Outcome("0.81.1", "headers", {"passed": 12}, ())
    failed = "FAILED tests/device/test_real_ttnn.py::test_it - assert"
    text = f"F.\n{failed}\n1 failed, 11 passed in 1s\n"
    bad = outcome("0.82.0", "descriptors", text)
    assert bad.failed == ("tests/device/test_real_ttnn.py::test_it",)
    nothing = outcome("0.83.0", "headers", "RuntimeError: cannot download ttnn==0.83.0")
    assert nothing.failed == ("RuntimeError: cannot download ttnn==0.83.0",)
    lines = report([good, bad, nothing])
    assert lines[-3:] == ["0.81.1 fits", "0.82.0 does not fit", "0.83.0 does not fit"]
    assert "0.82.0: tests/device/test_real_ttnn.py::test_it" in lines
