"""Runs jobs on the workers of a Dask cluster.

Dask passes a lost worker's jobs to others, and gives up a job that has killed several workers. We
check that the scheduler still exists while no job finishes.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import UsageError, codes, usage_error

from .job import CRASHED, run_job
from .store import Result, version_of_pyttlang
from .store import version_of_pyttlang as own_version

CONNECT_SECONDS = 20
ASKED_EVERY_SECONDS = 2.0
if TYPE_CHECKING:
    from distributed import Client, Future

# Dask's exceptions for a lost scheduler. A TimeoutError is an OSError, too.
LOST_CONNECTION = (OSError, asyncio.CancelledError, concurrent.futures.CancelledError)
LOST = "the scheduler at {} was lost"
AGAIN = "start the same command again: what was finished is kept and is not done again"


@contextmanager
def cluster(address: str) -> Iterator[Client]:
    """Connect to the scheduler; raise UsageError unless its workers have this pyttlang version."""
    try:
        from distributed import Client
    except ImportError:
        from _pyttlang_installation import install_extra

        message = "--scheduler needs Dask, which is not installed"
        raise usage_error(codes.NO_CLUSTER, message, install_extra("cluster")) from None
    _silence_dask()
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        message = f"--scheduler {address}: {error}"
        help_text = "start one with `dask scheduler`, and name its address as it prints it"
        raise usage_error(codes.NO_CLUSTER, message, help_text) from None
    try:
        _check_workers(client, address)
        yield client
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.close(timeout=ASKED_EVERY_SECONDS)


def _silence_dask() -> None:
    """Silence Dask's log: we report errors, once."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith(("distributed", "tornado")):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _check_workers(client: Client, address: str) -> None:
    versions = client.run(version_of_pyttlang, on_error="return")
    if not versions:
        message = f"the scheduler at {address} has no workers"
        raise usage_error(codes.NO_CLUSTER, message, f"start some: dask worker {address}")
    for worker, version in sorted(versions.items()):
        if version != own_version():
            what = f" ({version})" if isinstance(version, BaseException) else ""
            message = f"worker {worker} does not have this version of pyttlang{what}"
            help_text = "install the same version in the environment of the workers"
            raise usage_error(codes.NO_CLUSTER, message, help_text)


def on_cluster(
    client: Client, jobs: Sequence[Any], call: Callable[[Any], Result] = run_job
) -> Iterator[tuple[int, Result]]:
    """Yield results as they arrive; raise UsageError if the scheduler is lost."""
    from distributed import wait

    address = client.scheduler.address
    numbers = {client.submit(call, job, pure=False): n for n, job in enumerate(jobs)}
    try:
        while numbers:
            try:
                with client.as_current():
                    done = wait(list(numbers), ASKED_EVERY_SECONDS, "FIRST_COMPLETED").done
            except TimeoutError:
                _ask(client, address)
                continue
            except LOST_CONNECTION as error:
                raise _make_lost(address) from error
            for future in done:
                yield numbers.pop(future), _result(future, address)
    finally:
        with suppress(Exception):
            client.cancel(list(numbers))


def _ask(client: Client, address: str) -> None:
    try:
        found = client.sync(client.scheduler.identity, callback_timeout=CONNECT_SECONDS)
    except LOST_CONNECTION as error:
        raise _make_lost(address) from error
    if client.status != "running" or found is None:
        raise _make_lost(address)


def _result(future: Future, address: str) -> Result:
    if future.status == "finished":
        result: Result = future.result()
        return result
    if future.status == "error":
        error = future.exception()
        return {CRASHED: f"{type(error).__name__}: {error}".splitlines()[0]}
    raise _make_lost(address)  # cancelled or lost, but not by us


def _make_lost(address: str) -> UsageError:
    return usage_error(codes.NO_CLUSTER, LOST.format(address), AGAIN)
