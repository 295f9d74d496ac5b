"""What a run on a device needs, and what is reported where it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import ttl
from device.standins import DataType, Device, Launches, Layout, Tensor
from golden.example_programs import operation_of
from ttl import ttnn as embedded_ttnn
from ttl.device import readiness
from ttl.diagnostics import codes
from ttl.target import TARGETS, load


def installed(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    monkeypatch.setattr(readiness, "installed_version", lambda: version)


def test_no_ttnn(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, None)
    broken = readiness.missing({})
    assert broken is not None and broken.code is codes.NO_TTNN
    assert "needs ttnn >= 0.81" in broken.message


@pytest.mark.parametrize("version", ["0.69.0", "0.80.0", "0.9", "dev"])
def test_an_old_ttnn(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    installed(monkeypatch, version)
    broken = readiness.missing({})
    assert broken is not None and broken.code is codes.TTNN_VERSION
    assert f"found {version}, needs >= 0.81" in broken.message


@pytest.mark.parametrize("version", ["0.81", "0.81.1", "0.82.0rc3", "1.0", "0.81.1.dev20260822"])
def test_no_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    installed(monkeypatch, version)
    broken = readiness.missing({}, tmp_path)
    assert broken is not None and broken.code is codes.NO_DEVICE
    (tmp_path / "0").touch()
    assert readiness.missing({}, tmp_path) is None
    assert readiness.missing({"TT_METAL_SIMULATOR": "libttsim.so"}, tmp_path / "none") is None


@pytest.mark.parametrize(("version", "code"), [(None, "TTL6010"), ("0.69.0", "TTL6011")])
def test_a_call_reports_it_too(
    monkeypatch: pytest.MonkeyPatch, version: str | None, code: str
) -> None:
    installed(monkeypatch, version)
    monkeypatch.setenv("TTL_BACKEND", "device")
    kind = embedded_ttnn.bfloat16, embedded_ttnn.TILE_LAYOUT
    given = [embedded_ttnn.zeros((256, 256), *kind, embedded_ttnn.open_device(device_id=0))] * 4
    with pytest.raises(ttl.UsageError, match=code) as caught:
        operation_of("elementwise")(*given)
    assert caught.value.diagnostics[0].primary is not None


def test_tensors_of_an_old_ttnn(monkeypatch: pytest.MonkeyPatch, launches: Launches) -> None:
    installed(monkeypatch, "0.69.0")
    compiled = operation_of("elementwise")
    given = [
        Tensor((256, 256), DataType.BFLOAT16, Layout.TILE, Device(), position)
        for position in range(4)
    ]
    compiled(*given)  # a stand-in has no version
    monkeypatch.setattr(
        "ttl.device.programs.check_version",
        lambda module, operation: readiness.check_version(_Named("ttnn"), operation),
    )
    given[0].position = 11  # so that the program is built anew
    with pytest.raises(ttl.UsageError, match=r"found 0\.69\.0, needs >= 0\.81") as caught:
        compiled(*given)
    assert caught.value.diagnostics[0].code is codes.TTNN_VERSION


class _Named:
    def __init__(self, name: str):
        self.__name__ = name


def test_the_profiler_is_looked_for_in_the_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "libtt_metal.so"
    library.write_bytes(b"\0" * 5000 + readiness.PROFILER_REFUSAL)

    class File:
        name = "libtt_metal.so"

        def locate(self) -> Path:
            return library

    monkeypatch.setattr("importlib.metadata.files", lambda name: [File()])
    assert not readiness.has_profiler()
    library.write_bytes(b"\0" * 5000)
    assert readiness.has_profiler()
    monkeypatch.setattr("importlib.metadata.files", lambda name: [])
    assert not readiness.has_profiler()


def test_the_version_that_is_needed_is_that_of_the_kernels() -> None:
    assert {load(name).device_api for name in TARGETS} == {readiness.NEEDED_VERSION}
    assert all(map(readiness.is_new_enough, readiness.KNOWN_VERSIONS))
