"""The recursion of [rumyantsev2018, eqs. (1)-(8)], with ties drained in instants (errata 10).

The sets are recomputed from their definitions at every event, in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from .model import (
    Control,
    Discipline,
    Event,
    Exact,
    Job,
    Outcome,
    Row,
    Segment,
    State,
    exact,
    ratio,
)


def simulate(
    jobs: Sequence[Job],
    servers: int,
    discipline: Discipline,
    control: Control,
    coins: Sequence[float] = (),
    passes: str = "instant",
) -> Outcome:
    """Run all jobs to their end.

    Parameters
    ----------
    jobs
        In the order of submit; the position in the sequence is the label.
    servers
        Number of servers c; every width is in 1..c.
    discipline, control
        Who runs, and how fast.
    coins
        Uniforms, one for each arrival or departure in the order of events.
    passes
        "instant": completions, then arrivals, then the switch timer, then one pass.
        "event": a pass after every single event, arrivals before completions.
    """
    if passes not in ("instant", "event"):
        raise ValueError(f"passes must be 'instant' or 'event', not {passes!r}")
    exact_jobs = [Job(exact(j.submit), exact(j.work), j.procs, exact(j.plan)) for j in jobs]
    if any(a.submit > b.submit for a, b in pairwise(exact_jobs)):
        raise ValueError("jobs must be in the order of submit")
    if any(not 1 <= job.procs <= servers for job in exact_jobs):
        raise ValueError("every width must be in 1..servers")
    run = _Run(exact_jobs, servers, discipline, control, coins)
    step = run.instant if passes == "instant" else run.events
    while run.state.arrivals < len(exact_jobs) or run.state.present:
        step(run.advance())
    return run.outcome()


class _Run:
    def __init__(
        self,
        jobs: Sequence[Job],
        servers: int,
        discipline: Discipline,
        control: Control,
        coins: Sequence[float],
    ) -> None:
        origin = jobs[0].submit if jobs else 0
        self.state = State(jobs, servers, control.initial, origin, control.initial * origin)
        self.discipline = discipline
        self.control = control
        self.coins = iter(coins)
        self.start: dict[int, Exact] = {}
        self.end: dict[int, Exact] = {}
        self.resumed: dict[int, Exact] = {}
        self.segments: list[Segment] = []
        self.trajectory: list[Row] = []

    def advance(self) -> bool:
        """Move to the next epoch, eq. (2), with eq. (4); say whether the switch timer is due."""
        state = self.state
        epochs: list[Exact] = []
        if state.arrivals < len(state.jobs):
            epochs.append(state.jobs[state.arrivals].submit)
        if state.running:
            least = min(state.remaining[j] for j in state.running)
            epochs.append(state.now + ratio(least, state.rate))
        wake = self.discipline.wake(state)
        if wake is not None:
            epochs.append(state.now + ratio(wake - state.clock, state.rate))
        switch = self._switch_epoch()
        if switch is not None:
            epochs.append(switch)
        epochs += self._other_epochs()
        if not epochs:
            raise RuntimeError(f"customers {state.present} wait and nothing will ever happen")
        epoch = min(epochs)
        work = state.rate * (epoch - state.now)
        for j in state.running:
            state.remaining[j] -= work
        state.clock += work
        state.now = epoch
        return switch == epoch

    def _other_epochs(self) -> list[Exact]:
        """When else something happens: nothing does here."""
        return []

    def _switch_epoch(self) -> Exact | None:
        """Time at which W falls to the control's level: its slope is R |script M| (errata 2)."""
        state = self.state
        level = self.control.level(state.rate)
        if level is None or not state.running or state.workload <= level:
            return None
        return state.now + ratio(state.workload - level, state.rate * len(state.running))

    def instant(self, switch_due: bool) -> None:
        """Drain everything due now, then one pass."""
        for j in self._complete():
            self._depart(j)
        while self._arrival_due():
            self._arrive()
        if switch_due:
            self._switch()
        self._pass()

    def events(self, switch_due: bool) -> None:
        """One pass after each single event."""
        rows = len(self.trajectory)
        while self._arrival_due():
            self._arrive()
            self._pass()
        while complete := self._complete():
            self._depart(complete[0])
            self._pass()
        if switch_due:
            self._switch()
            self._pass()
        if len(self.trajectory) == rows:  # the discipline's own timer
            self._pass()

    def _complete(self) -> list[int]:
        # All of them reach zero at the same point of the work clock: the label decides.
        return sorted(j for j in self.state.running if self.state.remaining[j] == 0)

    def _arrival_due(self) -> bool:
        state = self.state
        return state.arrivals < len(state.jobs) and state.jobs[state.arrivals].submit == state.now

    def _depart(self, j: int) -> None:
        """Departure of j, eqs. (3) and (8)."""
        state = self.state
        before = len(state.present)
        state.ended_early |= state.clock < state.started[j] + state.jobs[j].plan
        state.present.remove(j)
        state.departed.append(j)
        self._stop(j)
        self.end[j] = state.now
        self._tell("D", before, next(self.coins, None))

    def _arrive(self) -> None:
        """Arrival of the next label, eqs. (3) and (4)."""
        state = self.state
        j = state.arrivals
        before = len(state.present)
        state.arrivals += 1
        state.present.append(j)
        state.arrived.append(j)
        state.remaining[j] = state.jobs[j].work
        self._tell("A", before, next(self.coins, None))

    def _switch(self) -> None:
        self._tell("S", len(self.state.present), None)

    def _tell(self, kind: str, before: int, coin: float | None) -> None:
        """Rate after the event, eq. (5) or its replacement in sec. III."""
        state = self.state
        event = Event(kind, before, len(state.present), state.workload, state.rate, coin)
        state.rate = self.control.rate(event)

    def _stop(self, j: int) -> None:
        self.state.running.remove(j)
        self.segments.append(Segment(j, self.resumed.pop(j), self.state.now))

    def _serve(self, j: int) -> None:
        state = self.state
        state.running.append(j)
        state.started[j] = state.clock
        self.resumed[j] = state.now
        self.start.setdefault(j, state.now)

    def _pass(self) -> None:
        """Replace the running set, eq. (1), and note first starts, eq. (6)."""
        state = self.state
        selected = self.discipline.select(state)
        for j in [j for j in state.running if j not in selected or j in state.moved]:
            self._stop(j)
        for j in selected:
            if j not in state.running:
                self._serve(j)
        state.moved = []
        assert state.busy <= state.servers
        state.arrived, state.departed, state.ended_early = [], [], False
        self.trajectory.append(
            Row(
                time=state.now,
                rate=state.rate,
                present=len(state.present),
                queued=len(state.waiting),
                busy=state.busy,
                running=len(state.running),
                workload=state.workload,
            )
        )

    def outcome(self) -> Outcome:
        labels = range(len(self.state.jobs))
        promises = self.state.first_promises
        return Outcome(
            start=[Fraction(self.start[j]) for j in labels],
            end=[Fraction(self.end[j]) for j in labels],
            segments=sorted(self.segments),
            trajectory=self.trajectory,
            promises=[Fraction(promises[j][0]) if j in promises else None for j in labels],
        )
