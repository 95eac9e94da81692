"""What failures cost: work that is done again, dumps, restores; see `docs/background/failures`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...engine.drive import Run
from ...engine.happenings import DOWN, STRIKE, WITHDRAW
from ...measures import formulas

if TYPE_CHECKING:
    from .schedule import Schedule


_HOUR = 3600.0
_JOULES_PER_KWH = 3.6e6
_ROUNDING = 1e-9


def rate_epochs(run: Run, domain: int | None = None) -> tuple[Floats, Floats]:
    """Epochs (s) and service rates of a run, or of a domain, the first at the first submit."""
    submit = run.jobs.submit
    first = submit[0] if len(submit) else 0.0
    if run.s.domains and domain is None:
        # All servers have rate 1, but for those in domains.
        return np.array([first]), np.array([run.initial_rate])
    times, rates, initial = run.rows("epoch_time"), run.rows("epoch_rate"), run.initial_rate
    if domain is not None:
        mine = run.rows("epoch_domain") == domain
        times, rates, initial = times[mine], rates[mine], run.domain_rates[domain]
    time, rate = np.concatenate([[first], times]), np.concatenate([[initial], rates])
    # Several changes at one instant: only the last one lasts.
    lasting = np.append(time[1:] > time[:-1], True)
    return time[lasting], rate[lasting]


def cut_at_checkpoints(pieces: NDArray[Any], epochs: Floats, rates: Floats) -> NDArray[Any]:
    """Return the parts of stretches of service that have to be done again.

    Parameters
    ----------
    pieces : all stretches of a run of jobs with checkpoints, as `SEGMENT` has them.
    epochs, rates : the service rate from each epoch (s) on.
    """
    parts: list[Any] = []
    pieces = pieces[_of_struck_jobs(pieces)]
    for life in _lives(pieces):
        last = pieces[life[-1]]
        if last["lost"] != 1:
            continue
        done = 0.0
        for row in life:
            piece = pieces[row].copy()
            amount = float(_amounts(piece))
            before = last["kept"] - done
            done += amount
            if before >= amount and row != life[-1]:
                continue
            if before > 0:
                later = _later(float(up_at(piece)), before * piece["slowness"], epochs, rates)
                piece["start"] = min(later, piece["stop"]) if before < amount else piece["stop"]
            parts.append(piece)
    made = np.zeros(len(parts), pieces.dtype)
    for i, piece in enumerate(parts):
        made[i] = piece
    return made


def _amounts(pieces: Any) -> Floats:
    """Work of the reference node in each stretch; the boot of its nodes is none."""
    worked = np.maximum(pieces["work"] - np.nan_to_num(pieces["boot"]), 0.0)
    amounts: Floats = worked / pieces["slowness"]
    return amounts


def up_at(pieces: Any) -> Floats:
    """Return when the nodes of each stretch were up (s): their boot is no work."""
    up = np.maximum(pieces["start"], np.nan_to_num(pieces["up"]))
    begun: Floats = np.minimum(up, pieces["stop"])
    return begun


def _of_struck_jobs(pieces: NDArray[Any]) -> NDArray[np.bool_]:
    """Which stretches are of jobs that failures stopped, and that came back."""
    struck: NDArray[np.bool_] = np.isin(pieces["job"], pieces["job"][pieces["lost"] == 1])
    return struck


def _lives(pieces: NDArray[Any]) -> list[list[int]]:
    """Stretches of each job from when it came into the queue to when it left service, by rows."""
    open_lives: dict[int, list[int]] = {}
    lives: list[list[int]] = []
    for row in range(len(pieces)):
        job = int(pieces["job"][row])
        if job not in open_lives:
            open_lives[job] = []
            lives.append(open_lives[job])
        open_lives[job].append(row)
        if pieces["lost"][row] == 1:
            del open_lives[job]
    return lives


def _later(time: float, work: float, epochs: Floats, rates: Floats) -> float:
    """When so much work is done that begins then (s)."""
    at = max(int(np.searchsorted(epochs, time, side="right")) - 1, 0)
    while at + 1 < len(epochs) and (epochs[at + 1] - time) * rates[at] < work:
        work -= (epochs[at + 1] - time) * rates[at]
        time = float(epochs[at + 1])
        at += 1
    return float(time + work / rates[at])


class _Spent(NamedTuple):
    """Processor time of dumps and restores (processor s)."""

    dumps: float
    restores: float


def costs_of_failures(schedule: Schedule) -> dict[str, Any] | None:
    """Return what failures cost, ready for a summary; None where none were given."""
    prepared = schedule.prepared
    options, external = prepared.options, prepared.external
    drawn = external is not None and external.beside is not None
    given = drawn and options.failures is not None
    if not (given or options.checkpoint is not None):
        return None
    run, cluster = schedule.run, prepared.cluster
    first = float(run.jobs.submit[0]) if len(run.jobs.submit) else 0.0
    span = max(schedule.last - first, 0.0) if len(run.jobs.submit) else 0.0
    _, start, stop = schedule.energy.worked
    held = _held(schedule)
    area = formulas.product_sum(held, stop - start)
    lost = _lost_time(schedule)
    spent = _overheads(schedule)
    whole = cluster.procs * span
    down = external.absence.area(first, first + span) if external is not None else 0.0
    useful = area - float(np.dot(held, lost)) - spent.dumps - spent.restores
    costs: dict[str, Any] = {
        "given": "none" if options.failures is None else str(options.failures),
        "checkpoint": "none" if options.checkpoint is None else str(options.checkpoint),
        "failures": _number_of(schedule, first, first + span),
        "struck": int(_killed_by_failures(schedule).sum()) + _restarts(schedule),
        "done_core_hours": area / _HOUR,
        "useful_core_hours": useful / _HOUR,
        "lost_core_hours": float(np.dot(held, lost)) / _HOUR,
        **(
            {}
            if options.checkpoint is None
            else {
                "dump_core_hours": spent.dumps / _HOUR,
                "restore_core_hours": spent.restores / _HOUR,
            }
        ),
        "goodput": useful / area if area > 0 else float("nan"),
        "availability": 1 - down / whole if whole > 0 else float("nan"),
    }
    if len(run.jobs.submit):
        share = _shares(lost, stop - start)
        costs["lost_kwh"] = float(np.dot(schedule.energy.spent, share)) / _JOULES_PER_KWH
    return costs


def lost_share(schedule: Schedule) -> Floats:
    """Return the share of each stretch of service that came to nothing."""
    _, start, stop = schedule.energy.worked
    return _shares(_lost_time(schedule), stop - start)


def _shares(lost: Floats, lapse: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Floats = np.where(lapse > 0, lost / lapse, 0.0)
    return share


def _held(schedule: Schedule) -> NDArray[Any]:
    """Processors of each stretch of service."""
    from .energy import stretches_held

    return stretches_held(schedule.run) if schedule.in_pieces else schedule.held


def _restarts(schedule: Schedule) -> int:
    return 0 if schedule.after is None else int(schedule.after.restarts.sum())


def _number_of(schedule: Schedule, begin: float, end: float) -> int:
    """Failures of nodes, of counted processors or of some node of a job, during the run."""
    external = schedule.prepared.external
    if external is None:
        return 0
    failed = (external.kind == DOWN) | (external.kind == STRIKE)
    return int(np.count_nonzero(failed & (external.time >= begin) & (external.time <= end)))


def _killed_by_failures(schedule: Schedule) -> NDArray[np.bool_]:
    """Accepted jobs that a failure has killed, and no user."""
    after, external = schedule.after, schedule.prepared.external
    if after is None or external is None:
        return np.zeros(len(schedule.end), np.bool_)
    killed = after.killed.copy()
    withdrawn = external.kind == WITHDRAW
    number = np.cumsum(schedule.prepared.accepted) - 1
    for about, time in zip(external.about[withdrawn], external.time[withdrawn], strict=True):
        if schedule.prepared.accepted[about]:
            killed[number[about]] &= not time <= after.left[number[about]]
    return killed


def _lost_time(schedule: Schedule) -> Floats:
    """Of each stretch of service, the time that came to nothing (s)."""
    job, start, stop = schedule.energy.worked
    lost = np.zeros(len(job))
    after = schedule.after
    if after is None or not schedule.in_pieces:
        return lost
    mine = np.flatnonzero(np.isin(job, after.lost["job"]))
    place = {(int(job[i]), float(stop[i])): int(i) for i in mine}
    for piece in after.lost:
        i = place[int(piece["job"]), float(piece["stop"])]
        lost[i] = piece["stop"] - max(float(piece["start"]), float(start[i]))
    for_nothing = _killed_by_failures(schedule) | after.waiting
    whole = for_nothing[job]
    lost[whole] = (stop - start)[whole]
    return lost


def _overheads(schedule: Schedule) -> _Spent:
    """Dumps and restores; in proportion to the work of a life where its rate changed."""
    prepared, run = schedule.prepared, schedule.run
    rule = prepared.options.checkpoint
    if rule is None or prepared.every is None:
        return _Spent(0.0, 0.0)
    rate = prepared.options.reference_rate
    dump, restore = rule.dump * rate, rule.restore * rate
    if not schedule.in_pieces:
        held, service = schedule.held, schedule.service
        work = run.jobs.work
        plain = _without_dumps(work, prepared.every, dump)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(work > 0, (work - plain) / work, 0.0)
        return _Spent(float(np.dot(held, service * share)), 0.0)
    pieces = run.recording.segment[: run.s.segments]
    nothing = _killed_by_failures(schedule)
    if schedule.after is not None:
        nothing = nothing | schedule.after.waiting
    struck = _of_struck_jobs(pieces)
    cycles = prepared.every + dump
    dumps, restores = _dumps_of_others(pieces[~struck & ~nothing[pieces["job"]]], cycles, dump), 0.0
    pieces = pieces[struck]
    saved: dict[int, int] = {}
    for life in _lives(pieces):
        rows = pieces[life]
        job, last = int(rows["job"][0]), rows[-1]
        amount = float(np.sum(_amounts(rows)))
        if amount <= 0 or nothing[job]:
            continue
        cycle = cycles[job]
        at_first = restore if saved.get(job, 0) else 0.0
        kept = float(last["kept"]) if last["lost"] == 1 else amount
        finished = max(int((kept - at_first) / cycle + _ROUNDING), 0)
        saved[job] = saved.get(job, 0) + finished
        area = float(np.dot(rows["held"], rows["stop"] - up_at(rows)))
        dumps += area * finished * dump / amount
        restores += area * min(at_first, kept) / amount
    return _Spent(dumps, restores)


def _dumps_of_others(pieces: NDArray[Any], cycles: Floats, dump: float) -> float:
    """Processor time of the dumps of jobs that no failure stopped (processor s)."""
    count = len(cycles)
    amount = np.bincount(pieces["job"], _amounts(pieces), count)
    area = np.bincount(pieces["job"], pieces["held"] * (pieces["stop"] - up_at(pieces)), count)
    ran = amount > 0
    finished = np.floor(amount[ran] / cycles[ran] + _ROUNDING)
    return float(np.sum(area[ran] * finished * dump / amount[ran]))


def _without_dumps(work: Floats, every: Floats, dump: float) -> Floats:
    """The work of jobs that have dumps in it: each cycle but the last has one."""
    cycle = every + dump
    finished = np.floor(work / cycle)
    finished -= finished * cycle > work
    return work - finished * dump
