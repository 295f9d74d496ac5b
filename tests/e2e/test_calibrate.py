"""`ttl calibrate`: the operations run, and a log of the profiler becomes costs."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from ttl.cli import main
from ttl.device.profile import ProfilerLog
from ttl.studio.calibration import PROGRAM
from ttl.studio.calibration.measured import Measured, calibrate_costs
from ttl.target.costs import Case, load_costs, read_costs

HEAD = [
    "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 900, Max Compute Cores: 64",
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, "
    "run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data",
]
# A chip: latency, cycles of a call, bytes a cycle; what a tile takes.
LATENCY, ISSUE, RATE, ZONE = 400, 30, 25.0, 18
TILE = {"exp": 500, "abs": 100, "LoFi": 60, "HiFi4": 70}


def zone(
    processor: str, run: int, name: str, start: int, cycles: int, core: str = "1, 1"
) -> list[str]:
    def row(time: int, phase: str) -> str:
        return f"0, {core}, {processor}, 7, {time}, 0, {run}, , , {name}, ZONE_{phase}, 12, k.cpp, "

    return [row(start, "START"), row(start + cycles, "END")]


def sample() -> list[str]:
    """What the operations of ttl calibrate would leave on a chip with these costs."""
    lines = list(HEAD)
    for run in range(3):
        jitter = run  # the second repeat is the typical one
        for size in (576, 2048, 4096):
            for count in (1, 16, 64):
                cycles = LATENCY + ZONE + round(count * max(ISSUE, size / RATE)) + jitter
                lines += zone("NCRISC", run, f"dram_read_{size}_{count}", 1000, cycles)
        for kind, tile in TILE.items():
            for count in (4, 8) if kind in ("exp", "abs") else (16, 32):
                for processor in ("TRISC_0", "TRISC_1", "TRISC_2"):
                    lines += zone(processor, run, f"{kind}_2048_{count}", 50, 40 + count * tile)
        for core in range(4):
            name, start = "grid_read_2048_32", 100 + 10 * core
            lines += zone("NCRISC", run, name, start, 3000 - 10 * core, f"{core + 1}, 1")
        lines += zone("NCRISC", run, "NCRISC-KERNEL", 0, 9000)
    return lines


def test_costs_are_those_of_the_chip_that_was_measured() -> None:
    log = ProfilerLog()
    zones = log.zones(sample())
    assert log.clock_mhz == 900
    made, names = calibrate_costs(load_costs("wormhole_b0"), zones, log.clock_mhz)
    costs = read_costs(made, Case.TYPICAL)
    assert costs["clock_ghz"] == 0.9
    assert costs["noc.dram_read.issue_cycles"] == pytest.approx(ISSUE, abs=0.1)
    assert costs["noc.dram_read.bytes_per_cycle"] == pytest.approx(RATE, rel=0.01)
    assert costs["noc.dram_read.latency_cycles"] == pytest.approx(LATENCY, abs=2)
    assert costs["dram.all_nodes_read_bytes_per_cycle"] == pytest.approx(4 * 32 * 2048 / 3000, 0.01)
    assert costs["compute.matmul_overhead_cycles"] == TILE["HiFi4"] - 64
    assert costs["compute.unpack_bytes_per_cycle"] == pytest.approx(2048 / TILE["LoFi"], abs=0.01)
    assert costs["compute.pack_call_cycles"] == TILE["abs"] - 2048 / 64
    assert next(row.cycles for row in costs.calls if row.pattern == "exp_tile") == TILE["exp"]
    assert "noc.dram_write.issue_cycles" not in names
    known = read_costs(load_costs("wormhole_b0"), Case.TYPICAL)
    assert costs["noc.dram_write.issue_cycles"] == known["noc.dram_write.issue_cycles"]


def test_nested_and_unfinished_zones_are_left_out() -> None:
    lines = [*HEAD, *zone("NCRISC", 0, "dram_read_2048_1", 10, 100)[:1]]
    assert Measured(ProfilerLog().zones(lines)).regions == {}


def test_a_log_becomes_a_file_that_estimates_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, costs = tmp_path / "profile_log_device.csv", tmp_path / "costs.json"
    log.write_text("\n".join(sample()) + "\n")
    assert main(["calibrate", "--log", str(log), "-o", str(costs)]) == 0
    assert "noc.dram_read.latency_cycles" in capsys.readouterr().out
    program = Path(__file__).parents[2] / "benchmarks/estimate/programs/stream.py"
    given = ["read", "4", "bfloat16"]
    assert main(["estimate", "--json", "--costs", str(costs), str(program), *given]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["clock_ghz"] == 0.9


@pytest.mark.parametrize("first", [0, 1])  # with the line of the clock, and without
def test_another_log_is_refused(
    first: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("\n".join([*HEAD, *zone("NCRISC", 0, "NCRISC-KERNEL", 0, 9000)][first:]))
    out = str(tmp_path / "costs.json")
    assert main(["calibrate", "--log", str(log), "-o", out]) == 1
    assert "has no zones of ttl calibrate" in capsys.readouterr().err
    assert main(["calibrate", "--log", str(tmp_path / "none"), "-o", out]) == 1
    assert "error[TTL6003]" in capsys.readouterr().err


@pytest.mark.parametrize("backend", [(), ("--host",)])
def test_the_operations_run(
    backend: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.jsonl"
    command = ["run", *backend, "--trace", str(trace), "--trace-events", "signpost", str(PROGRAM)]
    assert main([*command, "1", "short"]) == 0
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    names = {record["subject"] for record in records}
    assert {"dram_read_576_1", "l1_write_4096_16", "abs_2048_8", "HiFi4_2048_32"} <= names
    assert {"grid_read_2048_32", "grid_write_2048_32"} <= names


def test_without_a_device_it_is_told_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "-o", str(tmp_path / "costs.json")]) == 1
    assert "error[TTL" in capsys.readouterr().err
    assert not (tmp_path / "costs.json").exists()


def test_on_a_device_the_program_runs_and_its_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device that leaves the sample where tt-metal would have its log."""
    ran: list[object] = []

    def run_program(file: str, arguments: list[str], variables: dict[str, str]) -> int:
        ran.append((Path(file), arguments, variables["TTL_BACKEND"]))
        log = Path(os.environ["TT_METAL_PROFILER_DIR"], ".logs/profile_log_device.csv")
        log.parent.mkdir(parents=True)
        log.write_text("\n".join(sample()) + "\n")
        return 0

    monkeypatch.setenv("TT_METAL_PROFILER_DIR", str(tmp_path / "profiler"))
    monkeypatch.setattr("ttl.cli.device_run.device_run", lambda driver, traces: nullcontext())
    monkeypatch.setattr("ttl.cli.program.run_program", run_program)
    file = tmp_path / "costs.json"
    assert main(["calibrate", "--repeats", "3", "-o", str(file)]) == 0
    assert ran == [(PROGRAM, ["3"], "device")]
    assert json.loads(file.read_text())["clock_ghz"]["value"] == [0.9, 0.9, 0.9]
