"""`launch.py`: an operation whose kernels do nothing, on 8x8 nodes: what a call costs by itself."""

from measure import WARM, peak_bytes, report, spent

import ttl

CALLS = 20  # after the first: one is too short for the clock


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


calls = [spent(empty)]
for _ in range(WARM):
    cpu, wall = spent(many_calls)
    calls.append((cpu / CALLS, wall / CALLS))
report(calls, peak_bytes(), error=0.0)
