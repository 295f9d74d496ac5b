"""Estimate and show .ttnn files, for `ttl estimate` and `ttl view`."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from ttgraph.flatbuffer import Runtime, run_traced
from ttgraph.flatbuffer.shown import graph_values as shown_values
from ttgraph.times import graph_lines, graph_time, graph_values
from ttl.cli.estimate import check_chip, costs_of
from ttl.cli.pages import temporary_trace
from ttl.config import Config
from ttl.diagnostics import codes, usage_error
from ttl.studio.view import Shown, read_events
from ttl.studio.view.page import ShownOperation
from ttl.target import load

from .run_flatbuffer import random_inputs


def report_graph(options: argparse.Namespace) -> int:
    costs = None if options.costs is None else costs_of(options.costs)
    files = [options.file, *([options.against] if options.against else [])]
    found = []
    for file in files:
        runtime = Runtime.from_file(file)
        target = load(options.target or runtime.target.name)
        if target.name != runtime.target.name and runtime.has_kernels:
            message = f"the kernels in {file} are for {runtime.target.name}, not for {target.name}"
            raise usage_error(codes.WRONG_FILE, message, "export the graph for this chip")
        check_chip(options, costs, target.name)
        found.append(graph_time(runtime, Path(file).name, target, costs))
    if options.json:
        print(json.dumps([graph_values(each) for each in found], indent=1))
    else:
        print("\n".join(graph_lines(found[0], found[1] if len(found) > 1 else None)))
    return 0


def shown_flatbuffer(file: Path, config: Config | None) -> Shown:
    """With options its first program is run."""
    runtime = Runtime.from_file(file)
    program = runtime.programs[0]
    operations = [ShownOperation(each.name, compiled=each) for each in runtime.operations(0)]
    for each in operations:
        each.missing = "a .ttnn file: estimates are made of programs"
    shown = Shown(file.name, f"ttl view {file}", operations=operations)
    shown.graph = shown_values(program)
    if config is not None:
        with temporary_trace() as trace:
            traced = replace(config, trace=str(trace))
            run_traced(runtime, random_inputs(program, 0), traced)
            shown.events = read_events(trace)
    return shown
