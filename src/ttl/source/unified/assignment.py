"""Assign a thread to each unit of a unified body.

rule FIXED    units that compute, move data or acquire blocks, and their dependents, have one thread
rule TOGETHER units that share a block, a transfer or a number read from a block are on one thread,
              and so are those that acquire blocks at one end of a buffer
rule SIDES    copies into buffers are on data movement 0, copies out of them on data movement 1
rule PIPES    sends and receives through one net are on different threads; small ones may break
SIDES
rule ORDERED  a semaphore is signaled by the thread of the data movement before it, and awaited by
              the thread of the data movement after it; a wait before a signal goes with the signal
rule TENSORS  units that touch one tile of a tensor in no other order are on one thread
rule BALANCE  units without a side go to the thread that moves fewer bytes, or to data movement 0
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ttl.diagnostics import Diagnostic, Label, UsageError

from .problems import (
    MIXED_STATEMENT,
    NEEDED_ELSEWHERE,
    NO_THREAD,
    NO_USERS,
    NOT_ON_ONE_THREAD,
    PIPE_ENDS,
    PUBLISHED_AND_RESERVED,
    SKIPPED_ELSEWHERE,
    TWO_ENDS,
    TWO_THREADS,
)
from .things import Side
from .units import MOVEMENT, Effect, Site, Thread, Unit, in_text

Unordered = Callable[["Assignment"], Sequence[tuple[Unit, Unit]]]
Group = list[Unit]


@dataclass(slots=True)
class Assignment:
    """The threads of units that run on one thread only."""

    units: Sequence[Unit]
    threads: dict[Unit, Thread] = field(default_factory=dict)


def assign(units: Sequence[Unit], unordered: Unordered) -> Assignment:
    """Assign threads; raise UsageError with every unit that has none, or two.
    `unordered` returns the statements that an assignment would let touch a tensor in any order."""
    _refuse(_mixed(unit) for unit in units if len(unit.effects) > 1)
    _refuse(_blocks_without_one(units))
    groups = _groups(units)
    _refuse(each for group in groups.all() for each in _wrong_group(group))
    _order_semaphores(units, groups)
    found = _with_threads(units, groups)
    while pairs := unordered(found):  # rule TENSORS
        for one, other in pairs:
            groups.join(one, other)
        try:
            found = _with_threads(units, groups)
        except UsageError:
            one, other = pairs[0]
            raise NOT_ON_ONE_THREAD.error(one, Label(other.span, "and here")) from None
    return found


def _mixed(unit: Unit) -> Diagnostic:
    compute, move = unit.effects[Effect.COMPUTE], unit.effects[Effect.MOVE]
    is_apart = compute is not unit.node and compute is not move
    labels = [Label(unit.frame.span(compute), "this computes")] if is_apart else []
    return MIXED_STATEMENT.at((unit.frame, move), *labels)


def _refuse(wrong: Iterable[Diagnostic]) -> None:
    if found := [*wrong]:
        raise UsageError(*found)


def _with_threads(units: Sequence[Unit], groups: Groups) -> Assignment:
    found, moving = Assignment(units), []
    for group in groups.all():
        effects = {effect for unit in group for effect in unit.effects}
        if Effect.COMPUTE in effects:
            found.threads |= dict.fromkeys(group, Thread.COMPUTE)
        if Effect.MOVE in effects:
            moving.append(Moving(group))
    for part, thread in _sides(moving).items():
        found.threads |= dict.fromkeys(part.units, thread)
    return found


def _blocks_without_one(units: Sequence[Unit]) -> Iterator[Diagnostic]:
    """Yield errors for blocks whose users are on two threads, or that have no users."""
    for site in sorted({s for unit in units for s in unit.acquires}, key=lambda each: each.span):
        users = [unit for unit in units if unit.effect and site in unit.blocks]
        effects = {unit.effect for unit in users}
        if len(effects) > 1:
            labels = [Label(unit.span, f"used on {_title(unit)}") for unit in users]
            yield TWO_THREADS.at(site, *labels, buffer=site.buffer_name)
        elif not users:
            yield NO_USERS.at(site, buffer=site.buffer_name)


# Groups -------------------------------------------------------------------------------------------


class Groups:
    """A partition that gets coarser step by step; members keep their order."""

    def __init__(self, members: Iterable[Unit]):
        self._groups: dict[Unit, Group] = {member: [member] for member in members}

    def join(self, one: Unit, other: Unit) -> None:
        """Join two groups; do nothing if a unit is in no group."""
        first, second = self._groups.get(one), self._groups.get(other)
        if first is not None and second is not None and first is not second:
            first += second
            self._groups |= dict.fromkeys(second, first)

    def all(self) -> list[Group]:
        found: dict[int, Group] = {}
        for member, group in self._groups.items():
            found.setdefault(id(group), []).append(member)
        return [*found.values()]


def _groups(units: Sequence[Unit]) -> Groups:  # rules FIXED, TOGETHER
    fixed = find_fixed_units(units)
    groups = Groups(unit for unit in units if unit in fixed)
    ends: dict[Hashable, Unit] = {}
    whole = _indexed(units)
    for unit in units:
        others = [*unit.depends, *unit.controls(), *(find_jumped_over(unit, units))]
        for key, end in unit.ends:
            if key is not None:
                others.append(ends.setdefault((_whole_key(key, whole), end), unit))
        for other in others:
            groups.join(unit, other)
    return groups


def _indexed(units: Iterable[Unit]) -> set[Hashable]:
    """Return the lists of buffers that have an unknown index: it may mean any buffer."""
    keys = {key for unit in units for key, _ in unit.ends if isinstance(key, tuple)}
    return {key[0] for key in keys if key[1] is None}


def _whole_key(key: Hashable, whole: set[Hashable]) -> Hashable:
    return key[0] if isinstance(key, tuple) and key[0] in whole else key


def find_fixed_units(units: Sequence[Unit]) -> set[Unit]:
    fixed: set[Unit] = set()
    more = {unit for unit in units if not unit.is_shared}
    while more:
        fixed |= more
        rest = (unit for unit in units if unit not in fixed)
        more = {u for u in rest if not fixed.isdisjoint((*u.depends, *u.controls()))}
    return fixed


def find_jumped_over(jump: Unit, units: Iterable[Unit]) -> Iterable[Unit]:
    """Yield units that a `break`, `continue` or `return` skips in its loop or frame."""
    loop = jump.loop()
    for unit in units if jump.is_jump else ():
        if unit.frame is jump.frame if loop is None else loop in unit.controls():
            yield unit


# Groups without a thread --------------------------------------------------------------------------


def _wrong_group(group: Group) -> list[Diagnostic]:
    effects = {effect for unit in group for effect in unit.effects}
    if len(effects) == 1:
        return []
    if not effects:  # it asks for a block, or releases one that nobody acquires
        return [NO_THREAD.at(group[0])]
    return [*_ends_on_two(group)] or [_on_two(group)]


def _ends_on_two(group: Group) -> Iterator[Diagnostic]:
    by_end: dict[Hashable, list[tuple[Site, str]]] = defaultdict(list)
    whole = _indexed(group)
    for site in sorted({s for u in group for s in u.acquires}, key=lambda s: s.unit.span):
        for effect in {u.effect for u in group if u.effect and site in u.blocks}:
            by_end[_whole_key(site.buffer, whole), site.end].append((site, effect.value))
    for (first, title), *others in by_end.values():
        acquired = "reserved" if first.end is Side.RESERVE else "waited for"
        labels = [Label(s.span, f"{acquired} on {where}") for s, where in others if where != title]
        if labels:
            facts = {"buffer": first.buffer_name, "acquired": acquired, "thread": title}
            problem = PUBLISHED_AND_RESERVED if first.unit.publishes else TWO_ENDS
            yield problem.at(first, *labels[:3], **facts)


def _on_two(group: Group) -> Diagnostic:
    """Explain why units of a group are on two threads, with the plainest reason first."""
    reasons: list[tuple[Unit, Unit, Unit | None]] = [
        (unit, source, None) for unit in group for source in _sources(unit)
    ]
    for jump in (unit for unit in group if unit.is_jump):
        skipped = [*find_jumped_over(jump, group)]
        reasons += [(unit, source, jump) for source in _sources(jump) for unit in skipped]
    for is_reason in (_are_apart, _are_linked):
        for unit, source, by_jump in reasons:
            if source in group and is_reason(unit, source):
                return _needed(unit, source, by_jump)
    return _needed(*(next(u for u in group if effect in u.effects) for effect in Effect))


def _are_apart(unit: Unit, source: Unit) -> bool:
    return None not in (unit.effect, source.effect) and unit.effect is not source.effect


def _are_linked(unit: Unit, source: Unit) -> bool:
    """Has the source no thread of its own, such as a question whether a block is there?"""
    return bool(unit.effect) and not source.effects and not source.acquires


def _needed(unit: Unit, source: Unit, jump: Unit | None = None) -> Diagnostic:
    """Make the error for a value of `source` that only its own thread knows."""
    other = Effect.MOVE if unit.effect is Effect.COMPUTE else Effect.COMPUTE
    problem = NEEDED_ELSEWHERE if jump is None else SKIPPED_ELSEWHERE
    skips = [] if jump is None else [Label(jump.span, "this may skip it")]
    made = Label(source.span, f"made on {other.value}")
    return problem.at(unit, *skips, made, thread=_title(unit), other=other.value)


def _title(unit: Unit) -> str:
    return unit.effect.value if unit.effect else ""


def _sources(unit: Unit) -> list[Unit]:
    """List the units it depends on, by values and by the conditions around it."""
    seen: set[Unit] = set()
    waiting = [*unit.depends, *unit.controls()]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += each.depends
    return in_text(seen)


# Data movement ------------------------------------------------------------------------------------


def _order_semaphores(units: Sequence[Unit], groups: Groups) -> None:  # rule ORDERED
    before: Unit | None = None
    run: list[Unit] = []
    for unit in (*units, None):
        if unit is not None and (unit.awaits or unit.signals):
            run.append(unit)
        elif unit is None or Effect.MOVE in unit.effects:
            last = max((place for place, each in enumerate(run) if each.signals), default=-1)
            for place, each in enumerate(run):
                anchor = (before or unit) if place <= last else (unit or before)
                groups.join(each, anchor or run[0])
            before, run = unit, []


@dataclass(slots=True, eq=False)
class Moving:
    """A group of units that moves data."""

    units: Group

    @property
    def weight(self) -> int:
        return sum(unit.weight for unit in self.units)

    @property
    def side(self) -> Thread | None:  # rule SIDES
        ends = {end for unit in self.units for _, end in unit.ends}
        if len(ends) != 1:
            return None
        return Thread.READ if Side.RESERVE in ends else Thread.WRITE


Threads = dict[Moving, Thread]
RECEIVES = "this receives"


def _sides(groups: Sequence[Moving]) -> Threads:
    """Return a thread for each group."""
    apart = _apart(groups)
    linked: list[tuple[Threads, Threads]] = []  # the two ways for groups linked by pipes
    for group in groups:
        if not any(group in ways[0] for ways in linked):
            linked.append(_two_ways(group, apart))
    chosen: Threads = {}
    for one, other in sorted(linked, key=lambda each: not any(group.side for group in each[0])):
        chosen |= other if _cost(other, chosen) < _cost(one, chosen) else one
    return {group: chosen[group] for group in groups}


def _cost(way: Threads, chosen: Threads) -> tuple[bool, int, int]:
    wrong = [group for group, thread in way.items() if group.side not in (None, thread)]
    load = dict.fromkeys(MOVEMENT, 0)
    for group, thread in (chosen | way).items():
        load[thread] += group.weight
    return bool(wrong), sum(group.weight for group in wrong), max(load.values())  # rule BALANCE


def _apart(groups: Sequence[Moving]) -> dict[Moving, set[Moving]]:  # rule PIPES
    apart: dict[Moving, set[Moving]] = defaultdict(set)
    ends = [(group, unit) for group in groups for unit in group.units]
    receives = [(group, unit) for group, unit in ends if unit.receives]
    for one, send in (each for each in ends if each[1].sends):
        for other, receive in receives:
            if one is other and (nets := send.sends & receive.receives):
                shared = sorted(send.blocks & receive.blocks, key=lambda site: site.unit.span)
                name = min(send.net_names[net] for net in nets)
                blocks = [Label(site.span, "the block") for site in shared[:1]]
                raise PIPE_ENDS.error(send, Label(receive.span, RECEIVES), *blocks, net=name)
            if send.sends & receive.receives:
                apart[one].add(other)
                apart[other].add(one)
    return apart


def _two_ways(first: Moving, apart: dict[Moving, set[Moving]]) -> tuple[Threads, Threads]:
    """Return the two ways to assign linked groups; UsageError if two threads are not enough."""
    found = {first: Thread.READ}
    waiting = [first]
    while waiting:
        group = waiting.pop()
        for other in sorted(apart[group], key=lambda each: each.units[0].span):
            if other not in found:
                found[other] = _other(found[group])
                waiting.append(other)
            elif found[other] is found[group]:
                received = Label(other.units[0].span, RECEIVES)
                raise PIPE_ENDS.error(group.units[0], received, net="several nets")
    return found, {group: _other(thread) for group, thread in found.items()}


def _other(thread: Thread) -> Thread:
    return Thread.WRITE if thread is Thread.READ else Thread.READ
