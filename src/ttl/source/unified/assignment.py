"""Which thread each unit of a unified body runs on.

rule FIXED    what computes, moves data or acquires blocks is on one thread, with what depends on it
rule TOGETHER units that share a block, a transfer or a number read from a block are on one thread,
              and so are those that acquire blocks at one end of a buffer
rule SIDES    copies into buffers are on data movement 0, copies out of them on data movement 1
rule PIPES    sends and receives through one net are on different threads; rule SIDES gives way, the
              fewer bytes the sooner
rule ORDERED  a semaphore is signalled by the thread of the data movement before it, and waited for
              by that of the data movement after it; a wait before a signal goes with the signal
rule TENSORS  what touches one tile of a tensor, and nothing else orders, is on one thread
rule BALANCE  what has no side goes where fewer bytes are moved; of equals to data movement 0
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from ttl.diagnostics import Diagnostic, UsageError

from .groups import Groups
from .problems import (
    mixed_statement,
    needed_elsewhere,
    no_thread,
    no_users,
    not_on_one_thread,
    pipe_ends,
    published_and_reserved,
    skipped_elsewhere,
    two_ends,
    two_threads,
)
from .things import End
from .units import MOVEMENT, Effect, Site, Thread, Unit

Weigh = Callable[[Unit], int]
Unordered = Callable[["Assignment"], Sequence[tuple[Unit, Unit]]]
CLASS_TITLES = {
    Effect.COMPUTE: "the compute thread",
    Effect.MOVE: "a data movement thread",
}


@dataclass(slots=True)
class Assignment:
    """The threads of the units that are on one each."""

    units: Sequence[Unit]
    threads: dict[Unit, Thread] = field(default_factory=dict)


def _nothing(assignment: Assignment) -> Sequence[tuple[Unit, Unit]]:
    return ()


def assign(units: Sequence[Unit], weigh: Weigh, unordered: Unordered = _nothing) -> Assignment:
    """UsageError with everything that has no thread, or two.

    `unordered` gives the statements that an assignment would let touch a tensor in any order.
    """
    wrong = [mixed_statement(unit) for unit in units if len(unit.effects) > 1]
    wrong += _blocks_without_one(units)
    if wrong:
        raise UsageError(*wrong)
    groups = _groups(units)
    wrong = [each for group in groups.all() for each in _wrong_group(group)]
    if wrong:
        raise UsageError(*wrong)
    _order_semaphores(units, groups)
    found = _with_threads(units, groups, weigh)
    while pairs := unordered(found):  # rule TENSORS
        for one, other in pairs:
            groups.join(one, other)
        try:
            found = _with_threads(units, groups, weigh)
        except UsageError:
            raise UsageError(not_on_one_thread(*pairs[0])) from None
    return found


def _with_threads(units: Sequence[Unit], groups: Groups[Unit], weigh: Weigh) -> Assignment:
    found = Assignment(units)
    for group in groups.all():
        if any(Effect.COMPUTE in unit.effects for unit in group):
            found.threads |= dict.fromkeys(group, Thread.COMPUTE)
    moving = [g for g in groups.all() if any(Effect.MOVE in unit.effects for unit in g)]
    for moved, thread in _sides(moving, weigh):
        found.threads |= dict.fromkeys(moved, thread)
    return found


def _blocks_without_one(units: Iterable[Unit]) -> list[Diagnostic]:
    """Blocks whose users are on two threads, or that have none."""
    users: dict[Site, list[tuple[Unit, str]]] = {s: [] for unit in units for s in unit.acquires}
    for unit in units:
        for site in unit.blocks:
            if (effect := unit.effect) is not None:
                users[site].append((unit, CLASS_TITLES[effect]))
    found = []
    for site, using in sorted(users.items(), key=lambda item: item[0].span):
        threads = {title for _, title in using}
        if len(threads) != 1:
            found.append(two_threads(site, using) if threads else no_users(site))
    return found


# Groups -------------------------------------------------------------------------------------------


def _groups(units: Sequence[Unit]) -> Groups[Unit]:  # rules FIXED, TOGETHER
    fixed = fixed_units(units)
    groups: Groups[Unit] = Groups(unit for unit in units if unit in fixed)
    ends: dict[Hashable, Unit] = {}
    whole = _indexed(units)
    for unit in groups:
        for other in (*unit.depends, *unit.controls()):
            if other in fixed:
                groups.join(unit, other)
        for key, end in unit.ends:
            if key is not None:
                groups.join(unit, ends.setdefault((_whole_key(key, whole), end), unit))
    for unit in units:
        if unit.is_jump and unit in fixed:
            for other in jumped_over(unit, units):
                if other in fixed:
                    groups.join(unit, other)
    return groups


def _indexed(units: Iterable[Unit]) -> set[Hashable]:
    """The lists of buffers of which some index is not known: any of them is meant."""
    keys = {key for unit in units for key, _ in unit.ends if isinstance(key, tuple)}
    return {key[0] for key in keys if key[1] is None}


def _whole_key(key: Hashable, whole: set[Hashable]) -> Hashable:
    return key[0] if isinstance(key, tuple) and key[0] in whole else key


def fixed_units(units: Sequence[Unit]) -> set[Unit]:
    fixed = {unit for unit in units if not unit.is_shared}
    is_growing = True
    while is_growing:
        more = {unit for unit in units if unit not in fixed and _follows(unit, fixed)}
        fixed |= more
        is_growing = bool(more)
    return fixed


def _follows(unit: Unit, fixed: set[Unit]) -> bool:
    return not fixed.isdisjoint((*unit.depends, *unit.controls()))


def jumped_over(jump: Unit, units: Iterable[Unit]) -> Iterable[Unit]:
    """What a `break`, `continue` or `return` may skip: the rest of its loop, or of its frame."""
    loop = jump.loop()
    if loop is None:
        return (unit for unit in units if unit.frame is jump.frame)
    return (unit for unit in units if loop in unit.controls())


# Groups that have no thread -----------------------------------------------------------------------


def _wrong_group(group: Sequence[Unit]) -> list[Diagnostic]:
    effects = {effect for unit in group for effect in unit.effects}
    if len(effects) == 1:
        return []
    if not effects:  # it asks whether a block could be acquired, or releases what nobody acquires
        return [no_thread(group[0])]
    return (
        _ends_on_two(group)
        or _published_on_two(group)
        or _values_on_two(group)
        or _skipped_on_two(group)
        or _linked_on_two(group)
    )


def _ends_on_two(group: Sequence[Unit]) -> list[Diagnostic]:
    by_end: dict[Hashable, list[tuple[Site, str]]] = defaultdict(list)
    whole = _indexed(group)
    for site in sorted({s for u in group for s in u.acquires}, key=lambda s: s.unit.span):
        used_by = {unit.effect for unit in group if site in unit.blocks} - {None}
        for effect in used_by:
            assert effect is not None
            by_end[_whole_key(site.buffer, whole), site.end].append((site, CLASS_TITLES[effect]))
    found = []
    for sites in by_end.values():
        (first, title), *others = sites
        different = [(site, where) for site, where in others if where != title]
        if different:
            found.append(two_ends(first, title, different[:3]))
    return found


def _published_on_two(group: Sequence[Unit]) -> list[Diagnostic]:
    """publish() stands on a data movement thread, and what a thread reserves is its own."""
    published = next((unit for unit in group if unit.publishes), None)
    sites = {site for unit in group for site in unit.acquires if site.end is End.RESERVE}
    first = min(sites, key=lambda site: site.unit.span, default=None)
    if published is None or first is None:
        return []
    return [published_and_reserved(published, first)]


def _values_on_two(group: Sequence[Unit]) -> list[Diagnostic]:
    for unit in group:
        effect = unit.effect
        for source in _sources(unit):
            other = source.effect
            if effect is not None and other is not None and other is not effect:
                return [
                    needed_elsewhere(unit, CLASS_TITLES[effect], source, CLASS_TITLES[other])
                ]
    return []


def _skipped_on_two(group: Sequence[Unit]) -> list[Diagnostic]:
    """A `break`, `continue` or `return` that one thread decides, over what another one does."""
    for jump in (unit for unit in group if unit.is_jump):
        for source in _sources(jump):
            its = source.effect
            for unit in jumped_over(jump, group):
                effect = unit.effect
                if effect is not None and its is not None and effect is not its:
                    its_title = CLASS_TITLES[its]
                    return [skipped_elsewhere(unit, CLASS_TITLES[effect], jump, source, its_title)]
    return []


def _linked_on_two(group: Sequence[Unit]) -> list[Diagnostic]:
    """Units of both threads that something without a thread of its own links, such as a question
    whether a block is there.
    """
    first = {effect: next(u for u in group if effect in u.effects) for effect in Effect}
    others = {Effect.COMPUTE: Effect.MOVE, Effect.MOVE: Effect.COMPUTE}
    links = {unit for unit in group if not unit.effects and not unit.acquires}
    for unit in group:
        for source in _sources(unit):
            if unit.effects and source in links:
                effect = next(iter(unit.effects))
                titles = CLASS_TITLES[effect], CLASS_TITLES[others[effect]]
                return [needed_elsewhere(unit, titles[0], source, titles[1])]
    one, other = first.values()
    return [needed_elsewhere(one, CLASS_TITLES[Effect.COMPUTE], other, CLASS_TITLES[Effect.MOVE])]


def _sources(unit: Unit) -> Iterable[Unit]:
    """What it depends on, by values and by the conditions around it."""
    seen: dict[Unit, None] = {}
    waiting = [*unit.depends, *unit.controls()]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen[each] = None
            waiting += each.depends
    return sorted(seen, key=lambda each: each.span)


# Data movement ------------------------------------------------------------------------------------


def _order_semaphores(units: Sequence[Unit], groups: Groups[Unit]) -> None:  # rule ORDERED
    before: Unit | None = None
    run: list[Unit] = []
    for unit in units:
        if unit.awaits or unit.signals:
            run.append(unit)
        elif Effect.MOVE in unit.effects:
            _place_run(run, before, unit, groups)
            before, run = unit, []
    _place_run(run, before, None, groups)


def _place_run(
    run: list[Unit], before: Unit | None, after: Unit | None, groups: Groups[Unit]
) -> None:
    last = max((place for place, unit in enumerate(run) if unit.signals), default=-1)
    for place, unit in enumerate(run):
        anchor = (before or after) if place <= last else (after or before)
        groups.join(unit, anchor or run[0])


def _sides(moving: Sequence[Sequence[Unit]], weigh: Weigh) -> list[tuple[Sequence[Unit], Thread]]:
    """A thread for each group, in the order of the text."""
    groups = [_Moving(group, weigh) for group in moving]
    apart = _apart(groups)
    linked = [_coloured(group, apart) for group in _firsts(groups, apart)]
    chosen: dict[_Moving, Thread] = {}
    for colours in sorted(linked, key=lambda each: not any(g.side for g in each)):
        first = _first_thread(colours, chosen)
        chosen |= {g: first if colour == 0 else _other(first) for g, colour in colours.items()}
    return [(group.units, chosen[group]) for group in groups]


@dataclass(slots=True, eq=False)
class _Moving:
    units: Sequence[Unit]
    weigh: Weigh

    @property
    def weight(self) -> int:
        return sum(map(self.weigh, self.units))

    @property
    def side(self) -> Thread | None:  # rule SIDES
        ends = {end for unit in self.units for _, end in unit.ends}
        if len(ends) != 1:
            return None
        return Thread.READ if End.RESERVE in ends else Thread.WRITE


def _other(thread: Thread) -> Thread:
    return Thread.WRITE if thread is Thread.READ else Thread.READ


def _first_thread(colours: dict[_Moving, int], chosen: dict[_Moving, Thread]) -> Thread:
    """Of the groups with colour 0. Bytes are asked for only where they decide."""
    against = {thread: _against(colours, thread) for thread in MOVEMENT}
    if bool(against[Thread.READ]) != bool(against[Thread.WRITE]):
        return min(MOVEMENT, key=lambda thread: len(against[thread]))
    cost = {thread: sum(group.weight for group in against[thread]) for thread in MOVEMENT}
    if cost[Thread.READ] != cost[Thread.WRITE]:
        return min(MOVEMENT, key=lambda thread: cost[thread])
    return min(MOVEMENT, key=lambda thread: _heavier(colours, chosen, thread))  # rule BALANCE


def _against(colours: dict[_Moving, int], first: Thread) -> list[_Moving]:
    """Those that would not be on their side."""
    return [
        group
        for group, colour in colours.items()
        if group.side not in (None, first if colour == 0 else _other(first))
    ]


def _heavier(
    colours: dict[_Moving, int], chosen: dict[_Moving, Thread], first: Thread
) -> int:
    """The bytes of the thread that then moves more."""
    load = dict.fromkeys(MOVEMENT, 0)
    for group, thread in chosen.items():
        load[thread] += group.weight
    for group, colour in colours.items():
        load[first if colour == 0 else _other(first)] += group.weight
    return max(load.values())


Apart = dict["_Moving", set["_Moving"]]


def _apart(groups: Sequence[_Moving]) -> Apart:  # rule PIPES
    sends: dict[Hashable, list[tuple[_Moving, Unit]]] = defaultdict(list)
    receives: dict[Hashable, list[tuple[_Moving, Unit]]] = defaultdict(list)
    for group in groups:
        for unit in group.units:
            for net in unit.sends:
                sends[net].append((group, unit))
            for net in unit.receives:
                receives[net].append((group, unit))
    apart: Apart = defaultdict(set)
    for net in sends.keys() & receives.keys():
        for one, send in sends[net]:
            for other, receive in receives[net]:
                if one is other:
                    raise UsageError(_one_block(net, send, receive))
                apart[one].add(other)
                apart[other].add(one)
    return apart


def _one_block(net: Hashable, send: Unit, receive: Unit) -> Diagnostic:
    shared = sorted(send.blocks & receive.blocks, key=lambda site: site.unit.span)
    return pipe_ends(send.net_names[net], send, receive, shared[0] if shared else None)


def _firsts(groups: Sequence[_Moving], apart: Apart) -> list[_Moving]:
    """One group of each set of those that pipes link."""
    seen: set[_Moving] = set()
    found = []
    for group in groups:
        if group not in seen:
            found.append(group)
            seen |= _coloured(group, apart).keys()
    return found


def _coloured(first: _Moving, apart: Apart) -> dict[_Moving, int]:
    """UsageError if two threads are not enough."""
    colours = {first: 0}
    waiting = [first]
    while waiting:
        group = waiting.pop()
        for other in sorted(apart[group], key=lambda each: each.units[0].span):
            if other not in colours:
                colours[other] = 1 - colours[group]
                waiting.append(other)
            elif colours[other] == colours[group]:
                units = group.units[0], other.units[0]
                raise UsageError(pipe_ends("several nets", *units, None))
    return colours
