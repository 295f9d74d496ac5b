"""Results on disk: whole or not at all, not too many, and nobody's trouble."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ttl.studio.sweep import Store, digest, forked


def test_what_is_put_is_found_again_and_nothing_else(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "folder")
    store.put("a", {"x": 1.5})
    assert store.get("a") == {"x": 1.5} and store.get("b") is None
    assert [each.name for each in store.folder.iterdir()] == ["a.json"], "nothing else is left"


def test_damaged_files_are_as_good_as_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for text in ("", "{", "[1]", '"x"', "\x00"):
        (tmp_path / "a.json").write_text(text)
        assert store.get("a") is None
    (tmp_path / "a.json").write_bytes(b"\xff\xfe")
    assert store.get("a") is None
    store.put("a", {"x": 1})
    assert store.get("a") == {"x": 1}


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "folder")
    store.put("a", {"x": 1})
    store.trim()
    assert store.get("a") is None


def test_those_not_used_for_longest_go_first(tmp_path: Path) -> None:
    store = Store(tmp_path, most_bytes=250)
    for number in range(4):
        store.put(str(number), {"x": "y" * 100})
        os.utime(tmp_path / f"{number}.json", (number, number))
    assert store.get("0") is not None, "it is used now"
    store.trim()
    assert sorted(each.stem for each in tmp_path.iterdir()) == ["0", "3"]


def test_several_processes_write_the_same_key(tmp_path: Path) -> None:
    """Readers see the one or the other, never a part of one."""
    store = Store(tmp_path, most_bytes=20_000)

    def write(number: int) -> dict[str, int]:
        bad = 0
        for _ in range(50):
            store.put("shared", {"values": [number] * 1000})
            found = store.get("shared")
            bad += found is None or len(set(found["values"])) != 1
            store.trim()
        return {"bad": bad}

    results = [result for _, result in forked(write, range(4), 4)]
    assert results == [{"bad": 0}] * 4
    assert len(json.loads((tmp_path / "shared.json").read_text())["values"]) == 1000


def test_digests_tell_values_apart_and_not_the_order_of_names() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    different = [digest(1), digest("1"), digest([1]), digest(1, None), digest(True)]
    assert len(set(different)) == len(different)
