"""ttl calibrate"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from ttl.diagnostics import codes, reading, usage_error, writing
from ttl.target import CHOICES, TARGETS, load

from .chip import read_choice
from .program import natural

REPEATS = 5
DESCRIPTION = """\
Make the estimates of `ttl estimate` fit your chip.

Estimates add up costs, such as the latency of a read from DRAM or the cycles of an exp. Those that
come with pyttlang are from published measurements. This command runs small operations on a device,
reads their times from tt-metal's profiler, and writes the costs that follow from them to FILE.
Costs that it does not measure stay as they are.

It needs a device, the real ttnn, and a tt-metal built with the profiler (Tracy), which the ttnn of
PyPI is not. `ttl doctor` says what is missing."""
EPILOG = """\
example:
  ttl calibrate -o costs.json
  ttl estimate --costs costs.json program.py

docs/reference/estimate.md says what is measured, and how."""
NO_LOG = "use a tt-metal built with the profiler (Tracy): the wheel of PyPI has none"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument(
        "--target",
        type=read_choice,
        choices=CHOICES,
        metavar="NAME",
        default=TARGETS[0],
        help="the chip that is measured (default: %(default)s)",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="where to write the costs, as JSON"
    )
    parser.add_argument(
        "--repeats",
        type=natural,
        default=REPEATS,
        metavar="N",
        help="how often to run each operation (default: %(default)s); FILE has the "
        "best, the typical and the worst of its times",
    )
    parser.add_argument(
        "--log",
        metavar="CSV",
        help="do not use a device: take the times from this profile_log_device.csv, which the "
        "profiler wrote during an earlier `ttl calibrate`, perhaps on another machine",
    )


def run(options: argparse.Namespace) -> int:
    from ttl.device.profile import ProfilerLog
    from ttl.studio.calibration.measured import CLOCK, calibrate_costs
    from ttl.target.costs import Case, load_costs, read_costs

    if options.log:
        with reading(options.log):
            lines = Path(options.log).read_text(errors="replace").splitlines()
    else:
        lines = _measured_lines(options.repeats)

    chip, log = load(options.target).name, ProfilerLog()
    zones = log.zones(lines)
    costs, names = calibrate_costs(load_costs(chip), zones, log.clock_mhz)
    if set(names) <= {CLOCK}:  # it is in the first line of every log
        message = f"{options.log or 'the log of the profiler'} has no zones of ttl calibrate"
        raise usage_error(codes.WRONG_FILE, message, NO_LOG)
    for case in Case:
        read_costs(costs, case)
    with writing(options.output):
        Path(options.output).write_text(json.dumps(costs, indent=1) + "\n")
    print(f"{options.output}: {len(names)} costs of {chip} were measured")
    print("\n".join(f"  {name}" for name in names))
    return 0


def _measured_lines(repeats: int) -> list[str]:
    """Run the operations on the device and return the profiler's log."""
    from ttl.device.watch import profiler_log
    from ttl.studio.calibration import PROGRAM

    from .device_run import LIMIT_SECONDS, device_run
    from .process import program_driver
    from .program import run_program

    variables = {"TTL_BACKEND": "device", "TTL_DEVICE_TIMEOUT": str(LIMIT_SECONDS)}
    with device_run(program_driver(), traces=True):
        status = run_program(str(PROGRAM), [str(repeats)], variables)
        if status:
            raise SystemExit(status)
        file = profiler_log(os.environ)
        return file.read_text(errors="replace").splitlines() if file.exists() else []
