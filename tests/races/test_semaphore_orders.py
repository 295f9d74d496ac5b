"""What waits for semaphores order, on every way to run; helps are applied literally."""

from __future__ import annotations

from random import Random

import pytest

from fuzz.engines import Outcome, check, run, with_tail
from ttl.diagnostics import Diagnostic

HEAD = """\
import ttl


@ttl.operation(grid={grid})
def operation(x, scratch, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    done = ttl.Semaphore(0)
    go = ttl.Semaphore(0)

    @ttl.datamovement()
    def move():
        n, _ = ttl.node(dims=2)

        def copied(source, destination):
            with dfb.reserve() as block:
                ttl.copy(source, block).wait()
            with dfb.wait() as block:
                ttl.copy(block, destination).wait()

"""
INPUTS = [((32, 160), "float32", -9, 9, 1)] * 3
ERROR = "error"
SIMULATED = (None, 1, 2, 3)


def program(body: str, grid: tuple[int, int] = (5, 1)) -> str:
    lines = [f"        {line}" for line in body.strip("\n").splitlines()]
    return with_tail(HEAD.format(grid=grid) + "\n".join(lines), INPUTS)


def outcomes(text: str) -> dict[str, Outcome]:
    """Of all ways to run but the check, which is compared by its errors."""
    found = {f"sim {seed}": run(text, "sim", seed) for seed in SIMULATED}
    return {**found, "host": run(text, "host", 1)}


def errors_of(text: str) -> list[tuple[str, tuple[str, ...]]]:
    errors = [each for each in checked(text) if each.severity.value == ERROR]
    return [(each.code.code, each.helps) for each in errors]


def checked(text: str) -> list[Diagnostic]:
    outcome, found = check(text)
    assert outcome.kind != "fault", outcome
    return found


def assert_race(text: str) -> tuple[str, ...]:
    """On each way; the helps of the check."""
    for name, outcome in outcomes(text).items():
        assert set(outcome.codes) == {"TTL5005"}, (name, outcome)
    errors = errors_of(text)
    assert {code for code, _ in errors} == {"TTL5005"}
    return errors[0][1]


def assert_right(text: str) -> None:
    """On each way; the check has no warning, which --strict would make an error."""
    assert not {each.code.code for each in checked(text)} & {"TTL5005", "TTL5001"}
    for name, outcome in outcomes(text).items():
        assert outcome.kind == "ended", (name, outcome)


# Four nodes write a tile each and increment; node 0 reads
GATHER = """
if n > 0:
    copied(x[0, n], scratch[0, n])
    done.get_remote((0, 0)).inc(1)
else:
    done.wait_ge({wanted})
    for i in range({first}, {last}):
        copied(scratch[0, i], y[0, i])
"""


@pytest.mark.parametrize("tiles", [(1, 5), (1, 2), (4, 5)])
@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_a_wait_for_some_orders_none_of_them(wanted: int, tiles: tuple[int, int]) -> None:
    """Whichever tiles are read: in another schedule their node has not signalled."""
    text = program(GATHER.format(wanted=wanted, first=tiles[0], last=tiles[1]))
    helps = assert_race(text)
    assert helps[0] == (
        f"`done.wait_ge({wanted})` is over after any {wanted} of its 4 increments: "
        "write `done.wait_ge(4)` to wait for all of them"
    )
    assert_right(text.replace(f"done.wait_ge({wanted})", "done.wait_ge(4)"))


def test_the_second_increment_of_one_kernel_follows_the_first() -> None:
    assert_right(
        program(
            """
if n == 1:
    copied(x[0, 0], scratch[0, 0])
    done.get_remote((0, 0)).inc(1)
    copied(x[0, 1], scratch[0, 1])
    done.get_remote((0, 0)).inc(1)
elif n == 0:
    done.wait_ge(1)
    copied(scratch[0, 0], y[0, 0])
    done.wait_ge(2)
    copied(scratch[0, 1], y[0, 1])
""",
            (2, 1),
        )
    )


def test_what_all_choices_have_in_common_is_ordered() -> None:
    """Node 1 lets nodes 2 and 3 go, and node 0 waits for either: node 1 has written."""
    assert_right(
        program(
            """
if n == 1:
    copied(x[0, 0], scratch[0, 0])
    go.get_remote_multicast((slice(2, 4), 0)).set(1)
elif n > 1:
    go.wait_ge(1)
    done.get_remote((0, 0)).inc(1)
else:
    done.wait_ge(1)
    copied(scratch[0, 0], y[0, 0])
""",
            (4, 1),
        )
    )


# Every node writes its tile, and reads its neighbour's after a barrier; one for every round
COUNTED = """
for i in range(3):
    copied(x[0, n], scratch[0, n])
    for each in range({nodes}):
        done.get_remote((each, 0)).inc(1)
    done.wait_ge({nodes} * 2 * i + {first})
    copied(scratch[0, (n + 1) % {nodes}], y[0, n])
    for each in range({nodes}):
        done.get_remote((each, 0)).inc(1)
    done.wait_ge({nodes} * 2 * (i + 1))
"""


def test_a_barrier_of_all_that_is_counted_on_orders_every_round() -> None:
    assert_right(program(COUNTED.format(nodes=3, first=3), (3, 1)))


def test_a_barrier_that_counts_one_too_few_orders_nothing() -> None:
    text = program(COUNTED.format(nodes=3, first=2), (3, 1))
    for name, outcome in outcomes(text).items():
        if name != "host":
            assert outcome.codes == ("TTL5005",), (name, outcome)


RESET = """
for i in range(3):
    if n > 0:
        copied(x[0, n], scratch[0, n])
        done.get_remote((0, 0)).inc(1)
        go.wait_eq(1)
        go.set(0)
    else:
        done.{wait}
        done.set(0)
        for k in range(1, 5):
            copied(scratch[0, k], y[0, k])
        go.get_remote_multicast((slice(1, 5), 0)).set(1)
"""


def test_a_semaphore_that_is_reset_orders_every_round() -> None:
    assert_right(program(RESET.format(wait="wait_eq(4)")))


def test_a_reset_that_does_not_wait_for_all_is_a_race() -> None:
    assert_race(program(RESET.format(wait="wait_ge(3)")))


# A set and another change

SET_AGAINST_INC = """
if n == 0:
    done.get_remote((1, 0)).inc(1)
else:
    done.set(0)
    done.wait_ge(1)
"""


def test_a_set_and_an_increment_in_no_order() -> None:
    text = program(SET_AGAINST_INC, (2, 1))
    (help_text,) = assert_race(text)
    assert help_text.startswith("leave this set() out, with ttl.Semaphore(initial=...)")
    without = text.replace("            done.set(0)\n", "")
    assert without != text
    assert_right(without.replace("done = ttl.Semaphore(0)", "done = ttl.Semaphore(initial=0)"))


def test_a_set_after_the_increment_that_it_waits_for() -> None:
    assert_right(
        program(
            """
if n == 0:
    done.get_remote((1, 0)).inc(1)
else:
    done.wait_ge(1)
    done.set(0)
""",
            (2, 1),
        )
    )


def test_two_sets_in_no_order() -> None:
    text = program(
        """
if n == 2:
    done.wait_ge(1)
else:
    done.get_remote((2, 0)).set(n + 1)
""",
        (3, 1),
    )
    assert_race(text)
    assert_right(text.replace("set(n + 1)", "set(1)"))


def test_nobody_waits_for_what_is_set_in_no_order() -> None:
    assert_right(
        program(
            """
if n == 0:
    done.get_remote((1, 0)).inc(1)
else:
    done.set(0)
""",
            (2, 1),
        )
    )


def test_a_set_that_waits_for_the_other_change_first() -> None:
    text = program(
        """
if n == 0:
    done.get_remote((1, 0)).inc(1)
else:
    done.set(5)
    done.wait_ge(5)
""",
        (2, 1),
    )
    (help_text,) = assert_race(text)
    assert help_text.endswith("or let its kernel wait for the other change first")
    assert_right(applied(text, "done.set(5)", "done.wait_ge(1); done.set(5)"))


def applied(text: str, wrong: str, right: str) -> str:
    """The program with what a help says to write."""
    assert text.count(wrong) == 1
    return text.replace(wrong, right)


# A wait for one value, and a change that passes over it

PASSED_OVER = {
    "increments": """
if n > 0:
    done.get_remote((0, 0)).inc(1)
else:
    done.wait_eq(1)
""",
    "a greater value": """
if n == 1:
    done.get_remote((0, 0)).set(1)
    done.get_remote((0, 0)).set(2)
elif n == 0:
    done.wait_eq(1)
""",
}


@pytest.mark.parametrize("name", PASSED_OVER)
def test_a_wait_for_at_least_the_value_that_is_passed_over(name: str) -> None:
    text = program(PASSED_OVER[name], (3, 1))
    (help_text,) = set(assert_race(text))
    assert help_text == "wait for at least that value: write `done.wait_ge(1)`"
    assert_right(applied(text, "done.wait_eq(1)", "done.wait_ge(1)"))


@pytest.mark.parametrize("wait", ["wait_eq", "wait_ge"])
def test_a_smaller_value_is_set_when_the_wait_is_over(wait: str) -> None:
    text = program(
        f"""
if n == 1:
    done.get_remote((0, 0)).set(1)
    done.get_remote((0, 0)).set(0)
else:
    done.{wait}(1)
""",
        (2, 1),
    )
    (help_text,) = set(assert_race(text))
    assert help_text == "let the kernel that sets `done` wait first until this wait is over"
    over = applied(text, f"done.{wait}(1)", f"done.{wait}(1); go.get_remote((1, 0)).inc(1)")
    set_again = "done.get_remote((0, 0)).set(0)"
    assert_right(applied(over, set_again, f"go.wait_ge(1); {set_again}"))


# What the check knows of the order of reads and writes


def orders_of(text: str) -> set[str]:
    codes = {each.code.code for each in checked(text)}
    return codes & {"TTL5005", "TTL5006"}


@pytest.mark.parametrize("nodes", [2, 5])
def test_a_barrier_is_proven_to_order_the_nodes(nodes: int) -> None:
    text = program(
        f"""
copied(x[0, n], scratch[0, n])
done.get_remote((0, 0)).inc(1)
if n == 0:
    done.wait_ge({nodes})
    go.get_remote_multicast().set(1)
go.wait_ge(1)
copied(scratch[0, (n + 1) % {nodes}], y[0, n])
""",
        (nodes, 1),
    )
    assert orders_of(text) == set()
    assert_right(text)


def test_an_order_of_single_rounds_is_a_note() -> None:
    """Each round is ordered, and not all reads after all writes: a run with --strict knows."""
    text = program(COUNTED.format(nodes=3, first=3), (3, 1))
    (found,) = (each for each in checked(text) if each.code.code == "TTL5006")
    assert found.severity.value == "note"
    assert "tile (0, 1) of `scratch` in order" in found.message
    assert found.primary is not None and found.secondary
    assert found.helps == ("follow the order in a run: ttl run --strict FILE",)


SIGNALLED = """
if n == 0:
    with dfb.reserve() as block:
        ttl.copy(x[0, 0], block).wait()
    with dfb.wait() as block:
        written = ttl.copy(block, scratch[0, 0])
        {first}
        {second}
else:
    done.wait_ge(1)
    copied(scratch[0, 0], y[0, 0])
"""


def test_a_write_that_has_not_ended_is_not_in_order() -> None:
    signal, end = "done.get_remote((1, 0)).inc(1)", "written.wait()"
    assert_race(program(SIGNALLED.format(first=signal, second=end), (2, 1)))
    assert_right(program(SIGNALLED.format(first=end, second=signal), (2, 1)))


def random_orders(seed: int) -> str:
    """Steps of three nodes that can happen in the order in which they are drawn."""
    random = Random(seed)
    steps: dict[int, list[str]] = {node: ["pass"] for node in range(3)}
    counts: dict[tuple[str, int], int] = {}
    for _ in range(random.randint(5, 16)):
        node, kind = random.randrange(3), random.random()
        own = [each for each in counts if each[1] == node]
        if kind < 0.15:
            steps[node].append(f"copied(x[0, {node}], scratch[0, {node}])")
        elif kind < 0.4:
            steps[node].append(f"copied(scratch[0, {random.randrange(3)}], y[0, {node}])")
        elif kind < 0.7:
            name, target = random.choice(["done", "go"]), random.randrange(3)
            counts[name, target] = counts.get((name, target), 0) + 1
            steps[node].append(f"{name}.get_remote(({target}, 0)).inc(1)")
        elif own:
            cell = random.choice(own)
            wanted = random.choice([counts[cell], random.randint(1, counts[cell])])
            steps[node].append(f"{cell[0]}.wait_ge({wanted})")
    bodies = {node: "\n    ".join(lines) for node, lines in steps.items()}
    return program("\n".join(f"if n == {n}:\n    {body}" for n, body in bodies.items()), (3, 1))


@pytest.mark.parametrize("seed", range(40))
def test_what_the_check_knows_of_orders_is_so(seed: int) -> None:
    """Without loops it knows all: a race, or nothing to say."""
    text = random_orders(seed)
    is_race = "TTL5005" in run(text, "sim").codes
    assert orders_of(text) == ({"TTL5005"} if is_race else set())


# Changes that come after a wait

AFTER_THE_WAIT = {
    "the same set": """
if n == 0:
    done.wait_eq(1)
    done.set(1)
    copied(scratch[0, 0], y[0, 0])
else:
    copied(x[0, 0], scratch[0, 0])
    done.get_remote((0, 0)).set(1)
""",
    "increments": """
if n == 0:
    done.wait_ge(3)
    done.get_remote((0, 0)).inc(2)
    copied(scratch[0, 0], y[0, 0])
else:
    done.get_remote((0, 0)).inc(1)
    copied(x[0, 0], scratch[0, 0])
    done.get_remote((0, 0)).set(3)
""",
}


@pytest.mark.parametrize("name", AFTER_THE_WAIT)
def test_a_change_after_a_wait_has_not_ended_it(name: str) -> None:
    assert_right(program(AFTER_THE_WAIT[name], (2, 1)))


def test_a_wait_for_a_value_that_increments_pass_over_belongs_to_a_set() -> None:
    """1 and 2 are added, so 2 is only there when it is set."""
    assert_right(
        program(
            """
if n == 0:
    done.get_remote((0, 0)).inc(1)
    go.get_remote((1, 0)).inc(1)
    done.wait_eq(2)
    copied(scratch[0, 0], y[0, 0])
elif n == 1:
    done.get_remote((0, 0)).inc(2)
    go.wait_ge(1)
    copied(x[0, 0], scratch[0, 0])
    done.get_remote((0, 0)).set(0)
    done.get_remote((0, 0)).set(2)
""",
            (2, 1),
        )
    )


def test_an_increment_after_a_set_races_with_another_set_of_its_value() -> None:
    text = program(
        """
if n == 0:
    done.set(1)
    done.wait_ge(2)
else:
    done.get_remote((0, 0)).set(1)
    done.get_remote((0, 0)).inc(1)
""",
        (2, 1),
    )
    assert_race(text)
    assert_right(applied(text, "done.set(1)\n", "pass\n"))
