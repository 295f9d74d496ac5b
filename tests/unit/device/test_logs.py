"""What tt-metal's logs say of a run. The texts are written by hand after its formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ttl.artifact import Buffer, CompiledOperation, Kernel, ThreadKind
from ttl.device.logs import GrowingLog
from ttl.device.printed import printed_lines, prints
from ttl.device.profile import ProfilerLog, record_zones
from ttl.device.watcher import find_standing, unread_buffers
from ttl.diagnostics import Span
from ttl.trace import EventKind, Recorder
from ttl.trace.events import events_in

WRITE = """void kernel_main() {
  { DeviceZoneScopedN("ttl_all");
    cb_wait_front(0, 1);
  }
}
"""
COMPUTE = """void kernel_main() {
  DPRINT("x\\n");
  { DeviceZoneScopedN("ttl_all"); }
}
"""
SPAN = Span("program.py", 7, 1, 7, 9)
OPERATION = CompiledOperation(
    name="moved",
    target="wormhole_b0",
    device_api="0.81",
    kernels=(
        Kernel("compute", ThreadKind.COMPUTE, COMPUTE, signposts=(("ttl_all", "all"),)),
        Kernel(
            "write",
            ThreadKind.WRITER,
            WRITE,
            source_map=((2, SPAN),),
            signposts=(("ttl_all", "all of it"),),
        ),
    ),
    buffers=(Buffer("a_dfb", 3, "BFloat16", 1, 2),),
    operands=(),
    core_range=((0, 0), (1, 0)),
)


def test_lines_are_given_once_and_whole(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path / "log")
    assert log.lines() == []
    log.file.write_text("one\ntw")
    assert log.lines() == ["one"]
    with log.file.open("a") as out:
        out.write("o\nthree\n")
    assert log.settled_lines() == ["two", "three"]
    assert log.lines() == []


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("0:1-0:BR: 3 of 4", "(1, 0) write: 3 of 4"),
        ("0:(1,0):BR: 3 of 4", "(1, 0) write: 3 of 4"),
        ("0:(x=1,y=0):TR1: a: b", "(1, 0) compute: a: b"),
        ("0:0-0:TR2:  indented", "(0, 0) compute:  indented"),
        ("0:0-0:BR: ", "(0, 0) write: "),
        ("0:0-0:NC: nobody's", "0:0-0:NC: nobody's"),  # there is no reader
        ("0:0-5:BR: elsewhere", "0:0-5:BR: elsewhere"),
        ("a text of its own", "a text of its own"),
    ],
)
def test_prints_have_their_node_and_kernel(line: str, shown: str) -> None:
    assert list(printed_lines(OPERATION, [line])) == [shown]


def test_prints_of_a_mesh_have_their_device() -> None:
    lines = ["4:0-0:BR: x", "6:0-0:BR: x"]
    shown = list(printed_lines(OPERATION, lines, is_mesh=True))
    assert shown == ["device 4 (0, 0) write: x", "device 6 (0, 0) write: x"]


def test_who_prints() -> None:
    assert prints(OPERATION)
    assert not prints(replace(OPERATION, kernels=OPERATION.kernels[1:]))


# Profiler -----------------------------------------------------------------------------------------

HEAD = [
    "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64",
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, "
    "run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data",
]


def row(core: str, processor: str, cycles: int, zone: str, kind: str, run: int = 5, chip: int = 0):  # type: ignore[no-untyped-def]
    return f"{chip},{core},{processor},12,{cycles},0,{run},,,{zone},ZONE_{kind},2,k.cpp,"


def rows_of(core: str, first: int, chip: int = 0) -> list[str]:
    return [
        row(core, "BRISC", first - 9, "BRISC-FW", "START", chip=chip),
        row(core, "BRISC", first + 10, "BRISC-KERNEL", "START", chip=chip),
        row(core, "BRISC", first + 20, "ttl_all", "START", chip=chip),
        row(core, "BRISC", first + 30, "ttl_all", "END", chip=chip),
        row(core, "BRISC", first + 40, "BRISC-KERNEL", "END", chip=chip),
        row(core, "TRISC_0", first, "TRISC-KERNEL", "START", chip=chip),
        row(core, "TRISC_0", first + 5, "ttl_all", "START", chip=chip),
        row(core, "TRISC_0", first + 6, "ttl_all", "END", chip=chip),
        row(core, "TRISC_0", first + 12, "TRISC-KERNEL", "END", chip=chip),
        row(core, "TRISC_1", first + 2, "TRISC-KERNEL", "START", chip=chip),
        row(core, "TRISC_1", first + 7, "ttl_all", "START", chip=chip),
        row(core, "TRISC_1", first + 8, "ttl_all", "END", chip=chip),
        row(core, "TRISC_1", first + 50, "TRISC-KERNEL", "END", chip=chip),
    ]


def events(recorder: Recorder) -> list[tuple[object, ...]]:
    """Kind, node, kernel, subject, cycles and line."""
    return [
        (kind.value, *recorder.tracks[track], subject, value, line)
        for kind, track, subject, value, _, line, _ in events_in(recorder.raw)
    ]


def test_zones_are_events_of_kernels_and_signposts() -> None:
    """Cores 1 and 3 of the chip: the column between them is harvested, or ttnn's own."""
    earlier = [row("7,7", "BRISC", 1, "BRISC-KERNEL", "START", run=4)]
    lines = [*HEAD, *earlier, *rows_of("3,1", 1000), *rows_of("1,1", 1100)]
    recorder = Recorder()
    assert record_zones(OPERATION, ProfilerLog().zones(lines), recorder)
    found = events(recorder)
    assert [event for event in found if event[1] == (1, 0)] == [
        ("kernel_start", (1, 0), "compute", "", 0, 0),
        ("signpost_begin", (1, 0), "compute", "all", 7, 0),
        ("signpost_end", (1, 0), "compute", "all", 8, 0),
        ("kernel_start", (1, 0), "write", "", 10, 0),
        ("signpost_begin", (1, 0), "write", "all of it", 20, 7),
        ("signpost_end", (1, 0), "write", "all of it", 30, 7),
        ("kernel_end", (1, 0), "write", "", 40, 0),
        ("kernel_end", (1, 0), "compute", "", 50, 0),
    ]
    assert [event[0] for event in found if event[1] == (0, 0)] == [
        event[0] for event in found if event[1] == (1, 0)
    ]
    assert min(event[4] for event in found if event[1] == (0, 0)) == 100


def test_zones_of_a_kernel_from_elsewhere_keep_their_names() -> None:
    kernel = replace(OPERATION.kernels[1], signposts=())
    operation = replace(OPERATION, kernels=(kernel,), core_range=((0, 0), (0, 0)))
    recorder = Recorder()
    zones = ProfilerLog().zones([*HEAD, *rows_of("1,1", 10)])
    assert record_zones(operation, zones, recorder)
    named = {(event[3], event[5]) for event in events(recorder) if event[3]}
    assert named == {("ttl_all", 7)}


def test_rows_come_in_several_readings_and_only_the_last_run_counts() -> None:
    log, recorder = ProfilerLog(), Recorder()
    assert log.zones(HEAD) == []
    first = log.zones([*rows_of("1,1", 10), *rows_of("2,1", 10)])
    assert record_zones(OPERATION, first, recorder)
    last = [*rows_of("1,1", 500), *rows_of("2,1", 500)]
    later = [line.replace(",5,,,", ",6,,,") for line in last]
    again = Recorder()
    assert record_zones(OPERATION, [*first, *log.zones(later)], again)
    assert events(again) == events(recorder)


def test_each_device_of_a_mesh_has_its_call() -> None:
    lines = [*HEAD]
    for chip in (0, 1):
        lines += [*rows_of("1,1", 10, chip), *rows_of("2,1", 10, chip)]
    recorder = Recorder()
    assert record_zones(OPERATION, ProfilerLog().zones(lines), recorder)
    kinds = [event[0] for event in events(recorder)]
    half = len(kinds) // 2 - 1
    assert kinds[half : half + 2] == ["operation_end", "operation_start"]
    assert kinds[:half] == kinds[half + 2 :]


@pytest.mark.parametrize("lines", [[], HEAD, [*HEAD, *rows_of("1,1", 10)]])
def test_a_log_without_the_nodes_of_the_run(lines: list[str]) -> None:
    recorder = Recorder()
    assert not record_zones(OPERATION, ProfilerLog().zones(lines), recorder)
    assert recorder.size == 0


def test_the_columns_of_older_versions() -> None:
    head = (
        "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], "
        "stat value, Run ID, zone name, zone phase, source line, source file"
    )
    lines = [
        f"0,{x},1,BRISC,1,{cycles},0,3,BRISC-KERNEL,{phase},1,k.cpp"
        for x in (1, 2)
        for cycles, phase in ((5, "begin"), (9, "end"))
    ]
    operation = replace(OPERATION, kernels=OPERATION.kernels[1:])
    recorder = Recorder()
    assert record_zones(operation, ProfilerLog().zones(["ARCH: x", head, *lines]), recorder)
    assert [event[0] for event in events(recorder)].count(EventKind.KERNEL_START.value) == 2


# Watcher ------------------------------------------------------------------------------------------


def core(x: int, y: int, waypoints: str, buffers: str = "") -> str:
    place = f"Device 0 worker core(x={x:2},y={y:2}) virtual(x={18 + x},y={18 + y})"
    return f"{place}: {waypoints}  rmsg:D0G|BNT h_id:  7 smsg:DGGG {buffers}"


WATCHER = f"""At 0.000s starting
Legend:
\tW=wait (top of spin loop)
-----
Dump #1 at 2.000s
{core(0, 0, "  GW,   W,   W,   W,   W")}
k_ids:  0|  0|  0|  0|  0
Dump #1 completed at 2.010s
-----
Dump #2 at 4.000s
{core(0, 0, "CWFW,   W,   R,MWDW,   D", "cb[3](rcv 5!=ack 3)")}
k_ids:  4|  0|  5|  5|  5
{core(1, 0, "CWFW,   W,   R,MWDW,   D")}
k_ids:  4|  0|  5|  5|  5
{core(7, 7, " NSW,   W,   R,   R,   R")}
k_ids:  4|  0|  5|  5|  5
Device 0 acteth core(x= 0,y= 0) virtual(x=25,y=17): FOO  rmsg:H0G|e h_id:  0
k_id[  4]: write
Dump #2 completed at 4.010s
-----
Dump #3 at 6.000s
""".splitlines()


def test_where_kernels_stand() -> None:
    all_standing = find_standing(OPERATION, WATCHER)
    found = {(at.kernel.name, at.processor.role, at.waypoint): at for at in all_standing}
    assert set(found) == {
        ("write", "", "CWFW"),
        ("compute", "unpack", "R"),
        ("compute", "math", "MWDW"),
    }
    assert all(at.nodes == [(0, 0), (1, 0)] for at in found.values())
    assert unread_buffers(OPERATION, WATCHER) == ["`a_dfb` holds 2 pages"]
    assert find_standing(OPERATION, []) == []
