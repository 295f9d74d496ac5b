"""A child of fork() finds free locks and an unchanged process, whatever threads were doing."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

import pytest

import ttl
from fuzz.forks import check_forks, program
from ttl.host.build import run_compiler
from ttl.host.toolchain import Compiler
from ttl.loading.forks import UNDIVIDED, ForkLock, WhileRunning, computed_once
from ttl.loading.recent import Recent
from ttl.sim.watchdog import Watchers
from ttl.source.functions import ReplacedCodes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def child_ends(work: Callable[[], object]) -> bool:
    """Whether a child of fork() returns from it within some seconds, with something true."""
    child = os.fork()
    if child == 0:
        threading.Timer(20, lambda: os._exit(2)).start()
        is_right = False
        try:
            is_right = bool(work())
        finally:
            os._exit(0 if is_right else 1)
    return os.waitpid(child, 0)[1] == 0


@contextmanager
def in_a_thread(manager: Callable[[], object]) -> Iterator[None]:
    """While another thread is inside."""
    inside, over = threading.Event(), threading.Event()

    def stay() -> None:
        with manager():  # type: ignore[attr-defined]
            inside.set()
            over.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_lock_that_another_thread_holds_is_free_in_a_child() -> None:
    lock = ForkLock()
    with in_a_thread(lock):
        assert child_ends(lambda: lock().acquire(timeout=1))
        assert not lock().acquire(blocking=False)


def test_who_forks_with_a_lock_gives_it_back_in_both() -> None:
    lock = ForkLock()

    def work() -> bool:
        with lock():
            return True

    child = -1
    with lock():
        child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    assert os.waitpid(child, 0)[1] == 0 and work()


def test_what_other_threads_have_changed_is_undone_in_a_child() -> None:
    state: list[str] = []

    def change() -> Callable[[], None]:
        state.append("changed")
        return state.clear

    changed = WhileRunning(change)
    with in_a_thread(changed):
        assert child_ends(lambda: not state)
        with changed():
            assert child_ends(lambda: state == ["changed"])
        assert state == ["changed"]
    assert not state


def test_a_function_has_its_own_code_again_in_a_child() -> None:
    codes = ReplacedCodes()
    function = FunctionType((lambda: 1).__code__, {})
    other = (lambda: 2).__code__

    @contextmanager
    def replaced() -> Iterator[None]:
        codes.enter(function, other)
        try:
            yield
        finally:
            codes.leave(function)

    with in_a_thread(replaced):
        assert function() == 2
        assert child_ends(lambda: function() == 1)
    assert function() == 1


def test_stores_and_watchers_are_free_in_a_child() -> None:
    recent: Recent[int] = Recent(3)
    watchers = Watchers()
    with in_a_thread(recent._lock), in_a_thread(watchers.lock):
        assert child_ends(lambda: recent.get("key", lambda: 5) == 5)
        assert child_ends(lambda: watchers.lock().acquire(timeout=1))


class Made:
    count = 0

    @computed_once
    def number(self) -> int:
        """What it is."""
        self.count += 1
        return self.count


def test_a_property_is_computed_once() -> None:
    made = Made()
    assert (made.number, made.number, Made().number) == (1, 1, 1)
    assert Made.number.__doc__ == "What it is."


def test_threads_that_ask_at_once_get_one_value() -> None:
    both = threading.Barrier(2, timeout=20)
    found: list[object] = []

    class Slow:
        @computed_once
        def value(self) -> object:
            both.wait()
            return object()

    slow = Slow()
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is slow.value


def test_a_fork_waits_for_a_step_that_it_must_not_cut() -> None:
    """As for a class of xDSL that another thread is defining."""
    begun, steps = threading.Event(), list[str]()

    def define() -> None:
        with UNDIVIDED:
            begun.set()
            steps.append("first half")
            time.sleep(0.2)
            steps.append("second half")

    thread = threading.Thread(target=define)
    thread.start()
    begun.wait()
    assert child_ends(lambda: len(steps) == 2)
    thread.join()


def test_a_build_does_not_wait_for_children_that_fork_during_it(tmp_path: Path) -> None:
    """A child has what its parent had open: with pipes to the compiler, the build would wait."""
    started, go_on = tmp_path / "started", tmp_path / "go on"
    script = f"touch '{started}'; while ! test -e '{go_on}'; do sleep 0.01; done"
    compiler = Compiler(("/bin/sh", "-c", script), "a shell")
    thread = threading.Thread(target=run_compiler, args=(compiler, (), tmp_path))
    thread.start()
    while not started.exists():
        time.sleep(0.01)
    child = os.fork()
    if child == 0:
        time.sleep(30)
        os._exit(0)
    go_on.touch()
    thread.join(timeout=20)
    has_ended = not thread.is_alive()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert has_ended


def test_nothing_of_ours_has_a_lock_that_children_inherit() -> None:
    """But the lock of ForkLock itself."""
    package = Path(ttl.__file__).parent
    for file in sorted((*package.rglob("*.py"), *(package.parent / "tt_torch").rglob("*.py"))):
        text = file.read_text()
        is_home = file.parts[-2:] == ("loading", "forks.py")
        assert "@cached_property" not in text, file
        assert is_home or not re.search(r"\b(R?Lock|Condition)\(\)", text), file


@pytest.mark.parametrize("backend", ["sim", "host"])
@pytest.mark.parametrize("wait", [0.0, 2.0])
def test_children_simulate_and_run_compiled_kernels(backend: str, wait: float) -> None:
    """Forked while threads run operations: also their first ones, which load what they need."""
    threads = [(backend, True), (backend, False), ("sim", True)]
    assert not check_forks(program(threads, 10, wait)).failure
