"""A compiled operation on disk and back."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from golden.example_programs import OPERATIONS, compile_example
from ttl.artifact import CompiledOperation, read_folder, write_folder
from ttl.artifact.manifest import FORMAT_VERSIONS, from_json, to_json
from ttl.diagnostics import UsageError, codes
from unit.artifact.everything import BY_HAND, COMPUTE, EVERYTHING, SPAN


@pytest.mark.parametrize("compiled", [EVERYTHING, BY_HAND], ids=lambda each: each.name)
def test_everything_comes_back(compiled: CompiledOperation, tmp_path: Path) -> None:
    write_folder(compiled, tmp_path / "new" / "folder")
    assert read_folder(tmp_path / "new" / "folder") == compiled


@pytest.mark.parametrize("name", OPERATIONS)
def test_examples_come_back(name: str, tmp_path: Path) -> None:
    compiled = compile_example(name)
    write_folder(compiled, tmp_path)
    assert read_folder(tmp_path) == compiled


def test_writing_again_replaces(tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    changed = replace(EVERYTHING, kernels=(replace(COMPUTE, cpp_source="other\n"),))
    write_folder(changed, tmp_path)
    assert read_folder(tmp_path) == changed


def test_sizes_on_disk_are_those_of_the_buffer(tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    configs = json.loads((tmp_path / "manifest.json").read_text())["cb_configs"]
    sizes = [(one["num_tiles"], one["page_size"], one["total_size"]) for one in configs]
    # Of the compiler's own buffer, the last, the tiles of one block are counted.
    tiles = [(18, 1088, 18 * 1088), (1, 4096, 4096), (4, 4096, 8 * 4096)]
    assert sizes == [*tiles, (6, 128, 6 * 128), (2, 2048, 2 * 2048)]


@pytest.mark.parametrize("version", FORMAT_VERSIONS)
def test_both_versions_are_read_without_a_folder(version: int) -> None:
    text = json.dumps(to_json(EVERYTHING, version))
    assert from_json(json.loads(text)) == EVERYTHING


def test_an_edited_kernel_is_the_one_that_is_read(tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    (tmp_path / "kernels" / "compute.cpp").write_text("edited\n")
    assert read_folder(tmp_path).kernels[0] == replace(COMPUTE, cpp_source="edited\n")


def test_loaders_make_semaphores_up_to_the_last_one() -> None:
    assert to_json(EVERYTHING)["num_pipe_sync_semaphores"] == 4
    assert to_json(replace(EVERYTHING, semaphores=()))["num_pipe_sync_semaphores"] == 0


def test_loaders_are_told_of_pipes() -> None:
    text = to_json(EVERYTHING)
    assert (text["num_pipe_nets"], text["pipe_sram_scratch_bytes"]) == (2, 96)


def test_nothing_in_the_text_is_the_repr_of_an_object() -> None:
    text = json.dumps([to_json(compile_example(name)) for name in OPERATIONS])
    assert not re.search(r"Layout\.|DataType|<\w+ object|0x[0-9a-f]{8,}", text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-9], "it is not JSON"),
        (lambda text: "[" * 100_000, "it is not JSON"),
        (lambda text: "[]", "it is not a JSON object"),
        (lambda text: text.replace('"format_version": 1', '"format_version": 3'), "is 3, and not"),
        (lambda text: text.replace('"pyttl"', '"other"'), "it has no 'pyttl'"),
        (lambda text: text.replace('"thread": "writer"', '"thread": "w"'), "'w' is not one of"),
        (lambda text: text.replace('"operand_names": [', '"operand_names": ["x", '), "of the same"),
        (lambda text: text.replace('"math_fidelity"', '"fidelity"'), "fidelity"),
    ],
)
def test_what_is_no_artifact_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(change(manifest.read_text()))
    with pytest.raises(UsageError, match=message) as caught:
        read_folder(tmp_path)
    assert caught.value.diagnostics[0].code is codes.NOT_AN_ARTIFACT


TAMPERED: list[tuple[tuple[str | int, ...], Any]] = [
    (("core_range", "end", 0), "x"),
    (("core_range", "end", 0), True),
    (("core_range", "end"), [60000, 60000]),
    (("cb_configs", 0, "num_tiles"), 1.5),
    (("cb_configs", 0, "buffer_index"), 2**40),
    (("cb_configs", 1, "buffer_index"), -1),
    (("cb_configs", 1, "buffer_index"), EVERYTHING.buffers[0].index),
    (("kernels", 0, "tensor_indices"), [{}]),
    (("kernels", 0, "cpp_source"), None),
    (("kernels", 0, "kernel_config", "math_fidelity"), 4),
    (("kernels", 0, "kernel_config", "type"), "ReaderKernelConfig"),
    (("cb_configs", 0, "block_count"), 0),
    (("cb_configs", 0, "total_size"), 7),
    (("pyttl", "kernels", 0, "thread"), "reader"),
    (("pyttl", "buffers", 0, "unpack_to_dest_fp32"), "no"),
    (("pyttl", "buffers", 0, "name"), -1),
    (("pyttl", "buffers", 0, "span"), [1, 2, 3, 4, 5]),
    (("pyttl", "semaphores"), [{"id": "a", "initial_value": 0}]),
    (("operand_metadata", "shapes", 0), ["wide", 64]),
]


TAMPERED_BY_HAND: list[tuple[tuple[str | int, ...], Any]] = [
    (("pyttl", "buffers", 1, "shares"), 1),
    (("pyttl", "buffers", 1, "cores"), [[[0, 0], [99, 0]]]),
    (("pyttl", "kernels", 0, "own", "cores"), [[0, 0]]),
    (("pyttl", "kernels", 0, "own", "cores"), [[[0, 0], [99, 0]]]),
    (("pyttl", "kernels", 0, "own", "defines"), [["N", "2\n#include </etc/passwd>"]]),
    (("pyttl", "kernels", 0, "own", "defines"), [["N", "2 \\"]]),
    (("pyttl", "kernels", 0, "own", "named"), [["out", "5"]]),
    (("pyttl", "kernels", 0, "own", "noc"), -1),
    (("pyttl", "operand_addresses"), [0x1000, 0x2000]),
]


@pytest.mark.parametrize(("place", "value"), TAMPERED_BY_HAND, ids=str)
def test_a_wrong_part_of_a_program_by_hand_is_refused(place: tuple[Any, ...], value: Any) -> None:
    check_refused(BY_HAND, place, value)


def test_arguments_of_some_kernels_only() -> None:
    own = to_json(BY_HAND)["pyttl"]["kernels"][0]["own"]
    check_refused(EVERYTHING, ("pyttl", "kernels", 0, "own"), own)


@pytest.mark.parametrize(("place", "value"), TAMPERED, ids=str)
def test_a_part_of_another_type_is_refused(place: tuple[Any, ...], value: Any) -> None:
    check_refused(EVERYTHING, place, value)


def check_refused(compiled: CompiledOperation, place: tuple[Any, ...], value: Any) -> None:
    manifest = json.loads(json.dumps(to_json(compiled)))
    part = manifest
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    with pytest.raises(UsageError, match="its parts do not fit together") as caught:
        from_json(manifest)
    assert caught.value.diagnostics[0].code is codes.NOT_AN_ARTIFACT


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"TTL6003.*manifest\.json: No such file"):
        read_folder(tmp_path)


def test_a_missing_kernel_is_named(tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    (tmp_path / "kernels" / "write.cpp").unlink()
    with pytest.raises(UsageError, match=r"write\.cpp: No such file"):
        read_folder(tmp_path)


@pytest.mark.parametrize("file", ["manifest.json", "kernels/write.cpp"])
def test_a_file_that_is_no_text_is_refused(file: str, tmp_path: Path) -> None:
    write_folder(EVERYTHING, tmp_path)
    (tmp_path / file).write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UsageError, match="TTL6004"):
        read_folder(tmp_path)


def test_a_manifest_that_is_damaged_at_random_is_refused_or_read() -> None:
    generator = random.Random(16)
    text = json.dumps(to_json(EVERYTHING))
    values = (None, -1, 2**40, 0.5, "x", [], {}, True, [[0]])
    read = 0
    for _ in range(2000):
        manifest = json.loads(text)
        place = manifest
        while True:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            key = generator.choice(keys)
            if not isinstance(place[key], (dict, list)) or not place[key]:
                break
            place = place[key]
        if isinstance(place, dict) and generator.random() < 0.2:
            del place[key]
        else:
            place[key] = generator.choice(values)
        try:
            from_json(manifest)
            read += 1
        except UsageError as error:
            assert error.diagnostics[0].code is codes.NOT_AN_ARTIFACT
    assert read < 1500


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match="TTL6003"):
        write_folder(EVERYTHING, tmp_path / "taken")


def test_span_of_a_line_is_that_of_the_last_entry_before_it() -> None:
    found = [COMPUTE.span_of(line) for line in (0, 1, 6, 7, 99)]
    assert found == [None, SPAN, SPAN, replace(SPAN, line=4), replace(SPAN, line=4)]


def changed(path: str, value: object) -> dict[str, object]:
    """The manifest of EVERYTHING with one value replaced, or added."""
    manifest = json.loads(json.dumps(to_json(EVERYTHING)))
    *outer, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place = manifest
    for key in outer:
        place = place[key]
    place[last] = value
    return manifest


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("format_version", 1.0, "format_version is 1.0"),
        ("kernels.1.tensor_indices", [99], "`write` uses tensors [99] of 2"),
        ("kernels.1.tensor_indices", [-1], "kernels[1].tensor_indices[0] = -1"),
        ("pipe_sram_scratch_bytes", -1, "pipe_sram_scratch_bytes = -1"),
        ("core_range.end", [1000000, 1000000], "core_range has more than 65536 cores"),
        ("core_range.end", [99, 2], "core (99, 2) is not in the"),
        ("cb_configs.0.block_count", 0, "cb_configs[0].block_count is 0"),
        ("operand_metadata.shapes.0.1", -32, "operand_metadata.shapes[0][1] = -32"),
        ("operand_metadata.mesh_shape.0", 2, "operand_metadata.mesh_shape[0] is 2"),
        ("num_tensors", 7, "num_tensors is 7, and by the rest 2"),
        ("more", 1, "more is not known here"),
        ("pyttl.kernels.0.more", 1, "pyttl.kernels[0].more is not known here"),
        ("pyttl.device_api", "../../../tmp", "pyttl.device_api = '../../../tmp' is not one of"),
        ("pyttl.kernels.1.marks.0.kind", "x", "pyttl.kernels[1].marks[0].kind = 'x' is not one of"),
        ("pyttl.kernels.1.marks.0.place", "0\n#", "kernels[1].marks[0].place is not one line"),
        ("pyttl.kernels.1.runtime_args", [], "`write` has no arguments for some of the nodes"),
        ("pyttl.kernels.1.runtime_args.0.args", [1], "`write` has 2 arguments by name"),
        ("pyttl.kernels.1.runtime_args.0.core", [0, 0], "for other nodes than those of the grid"),
        ("pyttl.kernels.0.file", "/etc/passwd", "pyttl.kernels[0].file is '/etc/passwd'"),
        ("pyttl.pipes.0.last", [1, 1], "leaves the grid"),
    ],
)
def test_every_field_is_checked(path: str, value: object, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        from_json(changed(path, value))
    assert told in str(refused.value)
