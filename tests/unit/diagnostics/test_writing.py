"""Files for which there is no room: reported, and not left half-written."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ttl.artifact import CompiledOperation, Kernel, ThreadKind, write_folder
from ttl.diagnostics import UsageError, codes, writing


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """What is written past it fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_half_of_a_file_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with pytest.raises(UsageError, match="File too large") as caught, room_for(100), writing(file):
        file.write_bytes(b"x" * 200)
    (found,) = caught.value.diagnostics
    assert found.code is codes.FILE_NOT_USABLE
    assert found.helps == ("make room there, and run again: what was begun is removed",)
    assert not file.exists()


def test_a_file_that_cannot_be_opened_stays_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"), writing(tmp_path):
        tmp_path.write_text("x")
    assert tmp_path.is_dir()


def test_devices_are_not_removed() -> None:
    with pytest.raises(UsageError, match="No space left on device"), writing("/dev/full"):
        Path("/dev/full").write_text("x")
    assert Path("/dev/full").exists()


def test_no_part_of_a_folder_is_left(tmp_path: Path) -> None:
    kernels = tuple(
        Kernel(name, thread, "\n" * size, (), None)
        for name, thread, size in (("a", ThreadKind.READER, 10), ("b", ThreadKind.WRITER, 200))
    )
    operation = CompiledOperation("tiny", "wormhole_b0", "0.81", kernels, (), (), ((0, 0), (0, 0)))
    with pytest.raises(UsageError), room_for(100):
        write_folder(operation, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
