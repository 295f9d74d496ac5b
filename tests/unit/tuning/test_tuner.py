"""Which configuration is chosen, which are left out, and what is known from before."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ttl
import ttl.studio.tuning.trial
import ttl.studio.tuning.tuner
import tuned_operations
from timed_operations import zeros
from ttl.config import Config, chosen_options
from ttl.language.autotuned import TunedOperation
from ttl.studio.sweep import Store
from ttl.studio.tuning import TrialOutcome, Tuner, TuningResult
from ttl.studio.tuning.keys import surroundings, trial_key
from ttl.studio.tuning.report import html_section, write_report
from ttl.studio.tuning.trial import Trial
from ttl.testing import bench
from tuned_operations import captured, crossed, double, make_double


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "store"
    monkeypatch.setattr(ttl.studio.tuning.tuner, "store", lambda now: Store(folder))
    return folder


def tuned(configs: Any, made_of: Any = double, **options: Any) -> TunedOperation:
    return TunedOperation(ttl.autotune(configs, **options)(made_of))


def tune(operation: TunedOperation, **options: Any) -> TuningResult:
    return Tuner(jobs=1, **options).tune(operation, (zeros(32, 256), zeros(32, 256)), {})


CONFIGS = [
    ttl.Config(block=1, count=1, tiles=8),
    ttl.Config(block=2, count=2, tiles=8),
    ttl.Config(block=2, count=2, tiles=6),  # leaves a part of y as it was
    ttl.Config(block=2, count=400, tiles=8),
    ttl.Config(block=0, count=2, tiles=8),
]


def test_the_fastest_is_chosen_and_the_wrong_are_left_out_with_their_reasons() -> None:
    x, y = zeros(32, 256), zeros(32, 256)
    found = Tuner(jobs=1).tune(tuned(CONFIGS), (x, y), {})
    assert found.best == CONFIGS[1]
    assert [config for config, _ in found.ranked] == [CONFIGS[1], CONFIGS[0]]
    wrong, large, zero = (outcome for _, outcome in found.left_out)
    assert wrong.problem.startswith("wrong result: `y` differs") and not wrong.code
    assert "bytes of L1" in large.problem and large.code == "TTL4001"
    assert zero.problem and zero.code
    assert (ttl.to_numpy(y) == 0).all(), "nothing was computed on the tensors of the call"
    assert "left out" in str(found) and str(found).startswith("double(x=32x256, y=32x256")


def test_a_deadlock_is_a_reason() -> None:
    found = tune(tuned(ttl.Config(count=ttl.choice(1, 2)), crossed))
    assert found.best == ttl.Config(count=2)
    ((config, outcome),) = found.left_out
    assert config == ttl.Config(count=1) and outcome.code == "TTL5001"
    assert outcome.problem.startswith("deadlock: ")


def test_without_checks_a_wrong_one_may_win() -> None:
    found = tune(tuned(CONFIGS[1:3], check=False))
    assert found.best == CONFIGS[2] and not found.left_out


@pytest.mark.parametrize(("tiles", "found"), [(0, "it writes no tensor"), (4, "`y` differs")])
def test_a_first_one_that_leaves_tensors_unwritten_is_left_out(tiles: int, found: str) -> None:
    configs = [ttl.Config(block=2, count=2, tiles=each) for each in (tiles, 8)]
    tuning = tune(tuned(configs))
    assert tuning.best == configs[1]
    ((config, outcome),) = tuning.left_out
    assert config == configs[0] and found in outcome.problem and "the others" in outcome.problem


def test_what_the_factory_raises_is_a_reason() -> None:
    operation = TunedOperation(ttl.autotune(ttl.Config(block=ttl.choice(1, 5)))(make_double), (8,))
    found = tune(operation)
    assert found.best == ttl.Config(block=1)
    assert found.left_out[0][1].problem == "ValueError: five is right out"
    assert found.call.startswith("tiles=8, argument 0=32x256")


def test_a_second_start_knows_what_the_first_found(own_store: Path) -> None:
    first, again = tune(tuned(CONFIGS)), tune(tuned(CONFIGS))
    assert first.from_disk == 0 and again.from_disk >= 4
    assert again.ranked == first.ranked and again.left_out == first.left_out
    next(own_store.glob("*.json")).unlink()
    assert 3 <= tune(tuned(CONFIGS)).from_disk < again.from_disk
    assert tune(tuned(CONFIGS), anew=True).from_disk == 0


def test_results_for_other_elements_are_not_compared() -> None:
    def found(seed: int, *configs: ttl.Config) -> TuningResult:
        x = zeros(32, 256)
        x.storage.fill(np.random.default_rng(seed).random((32, 256), np.float32))
        return Tuner(jobs=1).tune(tuned(configs), (x, zeros(32, 256)), {})

    right, also_right, wrong = CONFIGS[:3]
    assert found(1, right).from_disk == 0
    more = found(2, right, also_right, wrong)
    assert [config for config, _ in more.left_out] == [wrong] and more.from_disk == 0
    assert found(3, right, also_right, wrong).from_disk == 3, "they fit each other"


def test_a_tensor_that_holds_the_result_already_hides_nothing() -> None:
    x, y = zeros(32, 256), zeros(32, 256)
    x.storage.fill(np.random.default_rng(1).random((32, 256), np.float32))
    double(x, y)
    configs = [CONFIGS[1], CONFIGS[2], ttl.Config(block=2, count=2, tiles=0)]
    found = Tuner(jobs=1).tune(tuned(configs), (x, y), {})
    assert [config for config, _ in found.left_out] == configs[1:]
    assert (ttl.to_numpy(y) == 2 * ttl.to_numpy(x)).all()


def test_a_global_that_was_changed_makes_another_call(monkeypatch: pytest.MonkeyPatch) -> None:
    tuner, operation = Tuner(jobs=1), tuned([ttl.Config(grid=(1, 1))], captured, check=False)
    arguments = (zeros(32, 256), zeros(32, 256)), {}
    one = tuner.tune(operation, *arguments)
    assert tuner.tune(operation, *arguments) is one
    monkeypatch.setattr(tuned_operations, "BLOCK", 4)
    assert tuner.tune(operation, *arguments).ranked[0][1].typical < one.ranked[0][1].typical


def test_a_call_of_the_same_key_is_tuned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []
    run = Trial.run

    def counted(trial: Trial) -> TrialOutcome:
        tried.append(trial.config)
        return run(trial)

    monkeypatch.setattr(Trial, "run", counted)
    tuner, operation = Tuner(jobs=1), tuned(CONFIGS[:2], key=["y"], check=False)
    large, small = zeros(32, 256), zeros(64, 256)
    one = tuner.tune(operation, (large, large), {})
    assert tuner.tune(operation, (small, large), {}) is one and len(tried) == 2
    assert tuner.tune(operation, (large, small), {}) is not one and len(tried) == 4


def test_the_key_of_a_trial_is_what_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, wide = zeros(32, 256), zeros(32, 256), zeros(32, 512)

    def key(operation: Any = double, values: Any = None, tensors: Any = (x, y), **more: Any) -> str:
        config = ttl.Config(**(values or {"block": 2}))
        trial = Trial(tuned([config], operation), config, tensors, {}, **more)
        return trial_key(trial, surroundings(trial.costs, Config.current()))

    known = key()
    assert known == key(tensors=(zeros(32, 256), zeros(32, 256))), "elements do not count"
    others = [key(values={"block": 1}), key(tensors=(wide, wide)), key(costs={"chip": "mine"})]
    with chosen_options(target="blackhole"):
        others.append(key())
    around = key(captured, {"BLOCK": 2})
    monkeypatch.setattr(tuned_operations, "TILES", 4)
    monkeypatch.setattr(tuned_operations, "body", lambda *args: None)
    others += [around, key(captured, {"BLOCK": 2}), key()]
    assert len({known, *others}) == 1 + len(others), "each of them is another one"


def test_bench_takes_what_a_call_would_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ttl.LAUNCH_HOOK, "tune", Tuner(jobs=1).tune)
    operation = ttl.autotune(CONFIGS[:2])(double)
    x, y = zeros(32, 256), zeros(32, 256)
    times = {bench(each, x, y).microseconds for each in (operation, operation.operation)}
    assert times == {bench(double, x, y, **CONFIGS[1]).microseconds}


def test_none_left_is_reported_with_the_reasons() -> None:
    found = tune(tuned(CONFIGS[3:4]))
    with pytest.raises(ttl.UsageError) as error:
        _ = found.best
    first = error.value.diagnostics[0]
    assert first.code.code == "TTL1032" and "bytes of L1" in first.notes[0]
    assert "the only configuration of `double`" in first.message


def test_on_a_device_copies_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Real(SimpleNamespace):
        dtype, shape = "real", (32, 256)

        def device(self) -> str:
            return "device"

    def launch(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        calls.append((args, kwargs))

    module = SimpleNamespace(
        clone=lambda tensor: Real(copy_of=tensor), synchronize_device=lambda device: None
    )
    for place in (ttl.studio.tuning.trial, ttl.testing):
        monkeypatch.setattr(place, "module_of", lambda tensor: module)
        monkeypatch.setattr(place, "find_dtype", lambda value: getattr(value, "dtype", None))
    monkeypatch.setattr(ttl.studio.tuning.trial, "to_numpy", lambda tensor: np.ones((2, 2)))
    monkeypatch.setattr(ttl.LAUNCH_HOOK, "launch", launch)
    monkeypatch.setattr(ttl.LAUNCH_HOOK, "bind", lambda *given: partial(launch, *given))
    tensor = Real()
    config = ttl.Config(block=2)
    outcome = Trial(tuned([config]), config, (tensor, tensor), {}).run()
    assert outcome.is_measured and 0 < outcome.best <= outcome.typical <= outcome.worst
    assert all(args[0].copy_of is tensor and kwargs == {"block": 2} for args, kwargs in calls)
    assert len(outcome.results) == 2 and not outcome.problem


# Reports ------------------------------------------------------------------------------------------

NOT_PLAIN = ttl.Config(name="<b>", block=2)


def tuning(count: int = 2) -> TuningResult:
    good = [
        (ttl.Config(name=str(n), block=n), TrialOutcome(n + 1, n + 2, n + 3)) for n in range(count)
    ]
    bad = (NOT_PLAIN, TrialOutcome(problem="a < b", code="TTL4001"))
    return TuningResult("double", "x=1", (*good, bad), 1.5, chip="wormhole_b0")


def test_a_section_of_html_has_the_table_and_the_plot() -> None:
    section = html_section([tuning()])
    assert section.startswith('<section class="ttl-tuning">') and section.count("<svg") == 1
    assert section.count("<tr") == 4 and '<tr class="best">' in section
    assert "&lt;b&gt;" in section and "[TTL4001] a &lt; b" in section
    assert "<html" not in section, "it is put into a page"


def test_a_report_is_a_page_and_plots(tmp_path: Path) -> None:
    written = write_report([tuning(), tuning(100)], tmp_path / "report")
    names = ["tuning.html", "double-1.svg", "double-1.png", "double-2.svg", "double-2.png"]
    assert [file.name for file in written] == names
    for file in written:
        content = file.read_bytes()
        if file.suffix == ".png":
            assert content.startswith(b"\x89PNG")
    assert b"60 slower ones are not shown" in written[3].read_bytes()


def test_without_pillow_there_is_no_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "PIL", None)
    written = write_report([tuning()], tmp_path)
    assert [file.suffix for file in written] == [".html", ".svg"]
