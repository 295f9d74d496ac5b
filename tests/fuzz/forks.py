"""Programs that fork while their threads run operations: every child runs some itself, and ends."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from fuzz.judging import Verdict

LONGEST_SECONDS = 400

PROGRAM = '''\
"""Threads that run operations: on which backend, and whether they use the same ones again."""
import faulthandler
import os
import threading
import time

import numpy as np
import ttnn

import ttl
from ttl.config import process_variables

THREADS = {threads}
CHILDREN = {children}
WAIT_SECONDS = {wait}
CHILD_SECONDS = 60


def plain(k):
    @ttl.operation(grid=(1, 2))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + k)

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[ttl.node(dims=1), 0], x_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[ttl.node(dims=1), 0]).wait()

    return operation


def left_out(k):
    @ttl.operation(grid=(1, 2))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            y_dfb.reserve().store(x_dfb.wait() + k)

        @ttl.datamovement()
        def read():
            ttl.copy(x[ttl.node(dims=1), 0], x_dfb.reserve())

        @ttl.datamovement()
        def write():
            ttl.copy(y_dfb.wait(), y[ttl.node(dims=1), 0])

    return operation


def run(operation, k):
    device = ttnn.open_device(device_id=0)
    x = ttl.from_numpy(np.full((64, 32), 2, np.float32), device=device)
    y = ttl.from_numpy(np.zeros((64, 32), np.float32), device=device)
    operation(x, y)
    found = ttl.to_numpy(y)
    assert (found == 2 + k).all(), (found, k)


def in_thread(backend, reuses):
    with process_variables({{"TTL_BACKEND": backend}}):
        kept = [(make(k), k) for make in (plain, left_out) for k in (1, 2)]
        number = 0
        while True:
            number += 1
            run(*(kept[number % 4] if reuses else (plain(number % 50), number % 50)))


def in_child(number):
    faulthandler.dump_traceback_later(CHILD_SECONDS, exit=True)
    for backend in ("sim", "host"):
        with process_variables({{"TTL_BACKEND": backend}}):
            for make in (plain, left_out):
                run(make(number % 8), number % 8)


for each in THREADS:
    threading.Thread(target=in_thread, args=each, daemon=True).start()
time.sleep(WAIT_SECONDS)
ended = 0
for number in range(CHILDREN):
    time.sleep(0.02 * (number % 3))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            in_child(number)
            status = 0
        finally:
            os._exit(status)
    ended += os.waitpid(child, 0)[1] == 0
print(f"{{ended}} children ended", flush=True)
os._exit(0 if ended == CHILDREN else 1)
'''


def program(threads: list[tuple[str, bool]], children: int, wait: float) -> str:
    return PROGRAM.format(threads=threads, children=children, wait=wait)


def forking_program(seed: int) -> str:
    random = Random(seed)
    count = random.choice((1, 2, 3))
    threads = [(random.choice(("sim", "sim", "host")), random.random() < 0.7) for _ in range(count)]
    return program(threads, random.choice((2, 3, 5)), random.choice((0.0, 0.05, 0.3, 1.0, 2.5)))


def check_forks(text: str) -> Verdict:
    """It is run as a program: no children can be forked of a process with other cases in it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(text, encoding="utf-8")
        command = [sys.executable, "-P", str(file)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Verdict("forks: the program does not end", "failed")
    if done.returncode or any(each in done.stderr for each in ("Traceback", "Exception", "TTL9")):
        return Verdict(f"forks: {done.stdout.strip()}: {done.stderr[-800:]}", "failed")
    return Verdict("", "ended")
