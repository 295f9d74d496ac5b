"""`launch.py`: an operation whose kernels do nothing, on 8x8 nodes: what a call costs by itself."""

from measure import REPEATS, cpu_seconds, peak_bytes, report

import ttl

CALLS = 20  # in a repeat: one call is too short for the clock


@ttl.operation(grid=(8, 8))
def empty():
    @ttl.compute()
    def compute():
        pass

    @ttl.datamovement()
    def read():
        pass

    @ttl.datamovement()
    def write():
        pass


def many_calls():
    for _ in range(CALLS):
        empty()


seconds = [cpu_seconds(many_calls) / CALLS for _ in range(REPEATS)]
report(seconds, peak_bytes(), error=0.0)
