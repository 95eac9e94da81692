"""How many processors keep waits within a target: theory first, then the log itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import checks
from ..errors import OptionError, plural
from ..jobs import Jobs
from ..jobs.arrivals import grown
from ..policy import Policy, Score, parse_policy
from ..policy.slurm import SlurmPolicy
from ..run.options import Prepared
from ..run.simulate import prepare, simulate
from ..theory.estimate import Estimate
from ..theory.stability import smallest_stable
from .demand import LARGEST, Demand, demand_of
from .saturation import default_jobs, log_backlog
from .search import Expected, Search, Size, whole
from .stable import least_processors
from .targets import Target, parse_targets
from .weeks import Week, by_week, resampled

_MOST = 1e7
"""Processors that may be busy."""
_REPLICATIONS = 4
"""Batches of the saturated runs: they only show where to look first."""


@dataclass(frozen=True)
class Plan:
    """How many processors a log needs.

    Parameters
    ----------
    procs : the smallest size from which on every size tried meets the targets; None if the
        search was interrupted before there was one.
    today : processors of the machine today.
    growth : how many times as dense arrivals are as in the log.
    policy, targets : what was asked for.
    step : sizes are multiples of it, at least of 0.2 % where there are many.
    demand : what the grown log asks for.
    least_exponential : the smallest machine that keeps up, by rho < 1 [rumyantsev2014, eq. 3].
    least_simulated : the same by working off a backlog of the log's own jobs under the policy;
        None under Slurm, whose loops would take too long with such a queue.
    first_guess : where the theory of waits would have put the answer.
    sizes : every machine that was tried, in order.
    theory : what the theory of waits expects of sizes in that range.
    intervals : of the measures at the answer, by resampling weeks.
    weeks : how the targets held week by week at the answer.
    interrupted : whether the search was cut short.
    recorded : recorded waits of the log beside those simulated on the machine of today, without
        growth, as a summary has them; None where the log knows none, or that machine cannot keep
        up.
    not_modelled : what of Slurm's configuration has no effect here, and what was assumed.
    """

    procs: int | None
    today: int
    growth: float
    policy: str
    targets: tuple[Target, ...]
    step: int
    demand: Demand
    least_exponential: int
    least_simulated: int | None
    first_guess: int
    sizes: tuple[Size, ...]
    theory: Expected
    intervals: tuple[Estimate, ...] = ()
    weeks: tuple[Week, ...] = ()
    interrupted: bool = False
    recorded: dict[str, Any] | None = None
    not_modelled: tuple[str, ...] = ()

    @property
    def chosen(self) -> Size | None:
        """The run at the answer."""
        return next((size for size in self.sizes if size.procs == self.procs), None)

    @property
    def also(self) -> tuple[int, ...]:
        """Sizes below the answer that met the targets although a larger one did not."""
        below = (size for size in self.sizes if self.procs is None or size.procs < self.procs)
        return tuple(size.procs for size in below if size.met)

    @property
    def weeks_met(self) -> float:
        """Share of the weeks with jobs in which every target held; nan without any."""
        return float(np.mean([week.met for week in self.weeks])) if self.weeks else float("nan")

    @property
    def bounded_by_widest(self) -> bool:
        """Whether only the widest job keeps the machine from being smaller."""
        return self.procs == whole(self.demand.widest, self.step)

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""
        wanted = " and ".join(map(str, self.targets))
        if self.procs is None:
            return f"interrupted before a size that meets {wanted} was found"
        more = self.procs - self.today
        change = f"{abs(more):,} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
        answer = (
            f"{plural(self.procs, 'processor')} would meet {wanted} under {self.policy}, as "
            f"simulated: {change} today"
        )
        return f"{answer} (interrupted: fewer might do)" if self.interrupted else answer

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON; times in s."""
        return {
            "procs": self.procs,
            "today": self.today,
            "growth": self.growth,
            "policy": self.policy,
            "targets": [asdict(target) for target in self.targets],
            "step": self.step,
            "jobs": self.demand.jobs,
            "arrival_rate": self.demand.arrival_rate,
            "busy_processors": self.demand.busy,
            "widest": self.demand.widest,
            "bounded_by_widest": self.bounded_by_widest,
            "least_exponential": self.least_exponential,
            "least_simulated": self.least_simulated,
            "first_guess": self.first_guess,
            "sizes": [asdict(size) for size in self.sizes],
            "theory": asdict(self.theory),
            "also": list(self.also),
            "intervals": [asdict(interval) for interval in self.intervals],
            "weeks_met": self.weeks_met,
            "weeks": [asdict(week) for week in self.weeks],
            "interrupted": self.interrupted,
            "recorded": self.recorded,
            "verdict": self.verdict,
        }


def plan(
    jobs: Jobs,
    *,
    growth: float = 1.0,
    target: str | Target | Sequence[str | Target] = "p95=1h",
    policy: str | Policy | Score = "easy",
    procs: int | None = None,
    step: int = 1,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Plan:
    """Find the smallest machine on which the waits of a log meet a target.

    Parameters
    ----------
    jobs : the log, cleaned.
    growth : arrivals are so many times as dense: times between submits are divided by it.
    target : one or several such as ``"p95=1h"``, ``"mean=30m"``; all must hold, over all jobs.
    policy : the discipline, as for `simulate`.
    procs : processors today; default: those of the log. Under Slurm the default is its own
        machine, and sizes have more or fewer nodes of each kind; else each processor is a node.
    step : whole nodes: sizes are multiples of it; on a machine of Slurm's at least its largest.
    seed : of the saturated runs and of the resampling.
    progress : called with (jobs simulated, about how many there will be).
    **options : of `simulate`, such as estimates and over_limit.

    Notes
    -----
    The theory of FCFS says where to look; every size is then confirmed by simulating the grown
    log. Waits need not fall with every processor that is added: a few sizes below the answer are
    tried as well, and those that meet the target by chance are listed, not taken. Arrivals that are
    denser shorten the day along with the gaps; runtimes and widths stay. A machine narrower than
    the widest job is not considered. When interrupted, what is known so far is returned.
    """
    factor = checks.positive(growth, "growth")
    targets = parse_targets(target)
    scheduling = parse_policy(policy)
    unit = checks.servers(step, "step", LARGEST)
    of_site, remarks = False, tuple[str, ...]()
    if isinstance(scheduling, SlurmPolicy):
        _, prepared = prepare(jobs, procs, scheduling, clean=(), **options)
        remarks = prepared.remarks
    if procs is None and isinstance(scheduling, SlurmPolicy):
        of_site = True
        procs, jobs = scheduling.cluster.procs, _that_fit(jobs, prepared)
        unit = max(unit, *(node.cpus for node in scheduling.conf.nodes))
    today = checks.servers(jobs.max_procs if procs is None else procs, "procs", LARGEST)
    jobs = jobs.sorted()
    over_limit = options.get("over_limit", "kill")
    busy = factor * demand_of(jobs, over_limit).busy
    if busy > _MOST:
        raise OptionError(
            f"growth = {factor:g}: the log would keep {busy:.3g} processors busy, of at most "
            f"{_MOST:.3g}; give less"
        )
    dense = grown(jobs, factor)
    asked = demand_of(dense, over_limit)
    least = None
    if not isinstance(scheduling, SlurmPolicy):
        count = default_jobs(scheduling, asked.busy / asked.mean_width)
        backlog = log_backlog(jobs, count, _REPLICATIONS, seed, over_limit)
        least = least_processors(backlog, asked, scheduling, **options)
    search = Search(dense, targets, scheduling, unit, asked, options, progress, of_site=of_site)
    guess = search.guess()
    cut_short = False
    try:
        search.around(max(guess, whole(least or 0, search.step)), today)
    except KeyboardInterrupt:
        cut_short = True
    answer = search.answer
    wait = search.waits.get(answer) if answer is not None else None
    return Plan(
        procs=answer,
        today=today,
        growth=factor,
        policy=str(scheduling),
        targets=targets,
        step=search.step,
        demand=asked,
        least_exponential=smallest_stable(asked.arrival_rate, asked.mean_service, asked.p),
        least_simulated=least,
        first_guess=guess,
        sizes=search.sizes,
        theory=search.theory(),
        weeks=() if wait is None else by_week(jobs.submit, wait, targets),
        intervals=() if wait is None else resampled(jobs.submit, wait, targets, seed=seed),
        interrupted=cut_short,
        recorded=None
        if cut_short
        else _recorded(jobs, None if of_site else today, scheduling, options),
        not_modelled=remarks,
    )


def _that_fit(jobs: Jobs, prepared: Prepared) -> Jobs:
    """Return the jobs that the machine of today does not refuse: no other size would take them."""
    fits = prepared.jobs.job[prepared.accepted]
    if not fits.size:
        raise OptionError("no job fits on the machine of the slurm.conf; check it")
    return jobs[np.isin(jobs.job, fits)]


def _recorded(
    jobs: Jobs, today: int | None, policy: Policy, options: dict[str, Any]
) -> dict[str, Any] | None:
    """Recorded waits of the log beside those that the machine of today would give."""
    busy = demand_of(jobs, options.get("over_limit", "kill")).busy
    if not (jobs.wait >= 0).any() or (today is not None and today <= busy):
        return None
    try:
        summary = simulate(jobs, today, policy, clean=(), **options).summary
    except KeyboardInterrupt:  # The answer is known, and is worth more than this.
        return None
    recorded: dict[str, Any] | None = summary.get("recorded")
    return recorded
