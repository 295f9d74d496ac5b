"""`make upstream`: what is pinned where, and which versions are newer."""

from __future__ import annotations

import pytest

import upstream
from ttnn_drift import Outcome
from upstream import Package


def test_the_versions_in_use_are_read_where_they_are_pinned() -> None:
    used = {package.name: package.used for package in upstream.packages()}
    assert list(used) == ["ttnn", "tt-lang-sim", "xdsl", "torch", "jax"]
    assert f'"xdsl=={used["xdsl"]}"' in (upstream.ROOT / "pyproject.toml").read_text()
    assert "" not in used.values()


def test_the_tests_of_a_package_exist() -> None:
    tests = upstream.ROOT / "tests"
    assert all((tests / part).exists() for parts in upstream.TESTS_OF.values() for part in parts)


@pytest.mark.parametrize(
    ("used", "newest", "is_newer"),
    [
        ("0.74.*", "0.74.3", False),
        ("0.74.*", "0.75.0", True),
        ("2.13.0", "2.13.0", False),
        ("2.13.0", "2.14.0", True),
    ],
)
def test_what_is_newer(used: str, newest: str, is_newer: bool) -> None:
    assert Package("p", used).is_newer(newest) is is_newer


def test_the_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    newest = {"ttnn": None, "tt-lang-sim": "1.1.6", "xdsl": "0.75.0", "torch": "2.13.0"}
    monkeypatch.setattr(upstream, "newest_version", lambda name, platform: newest[name])
    broken = Outcome("0.75.0", "golden", {"passed": 3, "failed": 1}, ("golden/test_kernels.py::a",))
    monkeypatch.setattr(upstream, "tried", lambda name, version: [broken])
    upstream.main(["ttnn", "tt-lang-sim", "xdsl", "torch"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ttnn: the package registry does not tell the newest version"
    assert lines[1] == "tt-lang-sim 1.1.6: the newest is 1.1.6"
    assert "0.75.0: golden/test_kernels.py::a" in lines
    assert "0.75.0 does not fit" in lines
    assert lines[-1] == "torch 2.13.0: the newest is 2.13.0"
