"""Queueing disciplines: from the state to the set of jobs in service."""

from __future__ import annotations

from .model import Discipline, Exact, State
from .orders import Score
from .profile import Hold, earliest_start, fits, later, planned_end, running_holds


def ordered(
    score: Score,
    backfill: str = "none",
    reservations: float = 1,
    backfill_score: Score | None = None,
) -> Discipline:
    """Non-preemptive service in the order of `score`, smaller first, ties by label.

    `backfill` is "none", "first-fit", "easy" (with so many `reservations`, math.inf for all,
    and the candidates in the order of `backfill_score`) or "conservative".
    """

    def select(state: State) -> list[int]:
        order = _sorted(state, state.waiting, score)
        if backfill == "none":
            starts = _in_order(state, order)
        elif backfill == "first-fit":
            starts = _first_fit(state, order)
        elif backfill == "conservative":
            starts = _conservative(state, order)
        elif backfill == "easy":
            second = _sorted(state, order, backfill_score or score)
            if reservations == 1:
                starts = _easy(state, order, second)
            else:
                starts = reserving(state, order, second, reservations)
        else:
            raise ValueError(f"unknown backfill {backfill!r}")
        return state.running + starts

    return Discipline(select, _next_promise if backfill == "conservative" else lambda state: None)


def preempt(score: Score) -> Discipline:
    """Preemptive-resume service of the longest prefix of all present, in the order of `score`.

    The latest label first is the LCFS of [rumyantsev2018, sec. III-B].
    """
    return Discipline(lambda state: _prefix(state, _sorted(state, state.present, score)))


def longest_remaining() -> Discipline:
    """LPF [rumyantsev2018, sec. III-B; errata 6]: at departures, the largest remaining plan."""
    return Discipline(lambda state: _by_remaining(state, largest=True))


def shortest_remaining() -> Discipline:
    """SPF: as LPF, the smallest remaining plan first."""
    return Discipline(lambda state: _by_remaining(state, largest=False))


def _sorted(state: State, labels: list[int], score: Score) -> list[int]:
    return sorted(labels, key=lambda j: (score(state.rated(j), j, state.now), j))


def _prefix(state: State, order: list[int]) -> list[int]:
    """The longest prefix that fits into what is there, eq. (1)."""
    chosen: list[int] = []
    for j in order:
        if sum(state.jobs[i].procs for i in [*chosen, j]) > state.there:
            break
        chosen.append(j)
    return chosen


def _in_order(state: State, order: list[int]) -> list[int]:
    starts: list[int] = []
    free = state.servers - state.busy
    for j in order:
        if state.jobs[j].procs > free:
            break
        starts.append(j)
        free -= state.jobs[j].procs
    return starts


def _first_fit(state: State, order: list[int]) -> list[int]:
    starts: list[int] = []
    free = state.servers - state.busy
    for j in order:
        if state.jobs[j].procs <= free:
            starts.append(j)
            free -= state.jobs[j].procs
    return starts


def _easy(state: State, order: list[int], second: list[int]) -> list[int]:
    """EASY with the usual second condition [rumyantsev2018, sec. III-B; errata 5]."""
    starts = _in_order(state, order)
    if len(starts) == len(order):
        return starts
    head = order[len(starts)]
    now = (state.clock, 0)
    free = state.servers - state.busy - sum(state.jobs[j].procs for j in starts)
    # A head started just now with plan 0 is overdue at once.
    ends = [(planned_end(state, j), state.jobs[j].procs) for j in state.running]
    ends += [(_end_if_started(state, j), state.jobs[j].procs) for j in starts]

    def free_by(instant: tuple[Exact, int]) -> int:
        return free + sum(procs for end, procs in ends if end <= instant)

    shadow = min(end for end, _ in ends if free_by(end) >= state.jobs[head].procs)
    extra = free_by(shadow) - state.jobs[head].procs
    for j in second:
        if j in starts or j == head:
            continue
        job = state.jobs[j]
        in_time = later(now, job.plan) <= shadow
        if job.procs <= free and (in_time or job.procs <= extra):
            starts.append(j)
            free -= job.procs
            if not in_time:
                extra -= job.procs
    return starts


def reserving(state: State, order: list[int], second: list[int], most: float) -> list[int]:
    """EASY with up to `most` reservations, which are forgotten after the pass."""
    now = (state.clock, 0)
    holds = running_holds(state)
    starts: list[int] = []
    reserved: list[int] = []

    def start_if_fits(j: int) -> bool:
        job = state.jobs[j]
        if not fits(now, job.plan, job.procs, state.servers, holds):
            return False
        starts.append(j)
        holds.append(Hold(now, _end_if_started(state, j), job.procs))
        return True

    for j in order:
        if len(reserved) >= most:
            break
        if not start_if_fits(j):
            job = state.jobs[j]
            begin = earliest_start(now, job.plan, job.procs, state.servers, holds)
            holds.append(Hold(begin, later(begin, job.plan), job.procs))
            reserved.append(j)
    for j in second:
        if j not in starts and j not in reserved:
            start_if_fits(j)
    return starts


def _end_if_started(state: State, j: int) -> tuple[Exact, int]:
    return max((state.clock + state.jobs[j].plan, 0), (state.clock, 1))


def _conservative(state: State, order: list[int]) -> list[int]:
    """Everyone holds a promise; promises persist and are compressed after early ends."""
    now = (state.clock, 0)
    running = running_holds(state)
    promises = state.promises

    def promise(j: int) -> None:
        others = [
            Hold(begin, later(begin, state.jobs[i].plan), state.jobs[i].procs)
            for i, begin in promises.items()
        ]
        job = state.jobs[j]
        begin = earliest_start(now, job.plan, job.procs, state.servers, running + others)
        promises[j] = begin
        state.first_promises.setdefault(j, begin)

    overdue = state.overdue
    if overdue or state.was_overdue:
        promises.clear()
    elif state.ended_early:
        for j in [j for j in order if j in promises]:
            del promises[j]
            promise(j)
    state.was_overdue = overdue
    for j in [j for j in order if j not in promises]:
        promise(j)

    starts: list[int] = []
    free = state.servers - state.busy
    for j in order:
        if promises[j] <= now and state.jobs[j].procs <= free:
            starts.append(j)
            free -= state.jobs[j].procs
            del promises[j]
    return starts


def _next_promise(state: State) -> Exact | None:
    """The next point of the work clock at which a promise falls due."""
    ahead = [begin for begin in state.promises.values() if begin > (state.clock, 0)]
    if not ahead or state.overdue:
        return None
    work, infinitesimal = min(ahead)
    assert infinitesimal == 0, "a promise beside an overdue job outlived it"
    return work


def _by_remaining(state: State, largest: bool) -> list[int]:
    if not state.selects:
        return _admitted(state)
    sign = -1 if largest else 1

    def remaining_plan(j: int) -> Exact:
        job = state.jobs[j]
        return job.plan - (job.work - state.remaining[j])

    return _prefix(state, sorted(state.present, key=lambda j: (sign * remaining_plan(j), j)))


def _admitted(state: State) -> list[int]:
    """Between departures an arrival enters if it fits and nobody waits before it."""
    chosen = list(state.running)
    for j in state.arrived:
        queue = [i for i in state.present if i < j and i not in chosen]
        busy = sum(state.jobs[i].procs for i in chosen)
        if not queue and busy + state.jobs[j].procs <= state.there:
            chosen.append(j)
    return chosen
