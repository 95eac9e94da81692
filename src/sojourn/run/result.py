"""What a run gives back: jobs, trajectory, summary, and where they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._html import html_table, sparkline
from ..arrays import Floats
from ..cluster.power import assumed_watts
from ..engine.drive import Run
from ..errors import OptionError, plural
from ..jobs.arrivals import arrivals_of, start_later
from ..measures import formulas, registry
from .build.deferring import series_name
from .build.machine import REASONS
from .decisions import Decisions
from .options import Prepared
from .outcome.aftermath import STATUS, UNACCEPTED
from .outcome.schedule import Schedule
from .outcome.summary import summarise

if TYPE_CHECKING:
    import pandas as pd

    from ..jobs import Jobs
    from ..report.figures.of_run import RunPlots


CATEGORIES = {"status": STATUS, "reason": REASONS}
"""Words that columns of every job table stand for."""

WHO = ("user", "account", "partition", "queue", "qos")
"""Columns of names, which a job table has where its log knows them."""

REQUESTED = ("nodes", "cores_per_node", "gpus", "memory_per_node")
"""Columns of what a job asks for besides processors, which a job table has likewise; and so has it
further counts of the log, such as those of another resource."""


class Result:
    """The outcome of one run: its tables, its measures, its pictures.

    Attributes
    ----------
    cluster : the machine.
    policy : the scheduling policy.
    control : the control of the service rate.
    options : the other options of the run.
    cleaning : the report of what cleaning changed.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(100, 64, load=0.7, seed=1, estimates="tsafrir")
    >>> result = sojourn.simulate(jobs, 64, "easy")
    >>> result
    <Result of 100 jobs on 64 processors, easy>
    >>> result.jobs[["job", "submit", "start", "wait", "procs"]].head(2)
       job  submit  start  wait  procs
    0    1   260.0  260.0   0.0      8
    1    2   627.0  627.0   0.0      4
    >>> result.summary["utilisation"] < 1
    True
    """

    def __init__(self, prepared: Prepared, run: Run) -> None:
        self._prepared = prepared
        self._run = run
        self.cluster = prepared.cluster
        self.policy = prepared.policy
        self.control = prepared.control
        self.options = prepared.options
        self.cleaning = prepared.jobs.report
        if prepared.is_outlived(float(run.s.now)):
            raise OptionError(
                f"failures: the run goes on to {run.s.now:g} s, but its failures end before; give "
                "a larger mtbf, or checkpoint",
                key="failures.mtbf",
            )
        self._schedule = Schedule(prepared, run)
        self._schedule.check()

    def __repr__(self) -> str:
        return (
            f"<Result of {plural(len(self._prepared.jobs), 'job')} on "
            f"{plural(self.cluster.procs, 'processor')}, "
            f"{self.policy}>"
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [("jobs", len(self))]
        for measure in registry.in_table("compare"):
            value = measure.of(self.summary)
            known = value == value or not measure.needs
            if known and (self.states_energy or not measure.rests_on_watts):
                money = self.summary["energy"].get("currency", "") if measure.name == "cost" else ""
                rows.append((measure.label, f"{measure.text(value)} {money}".rstrip()))
        title = f"{self.policy} on {plural(self.cluster.procs, 'processor')}"
        assumed = assumed_watts(self.summary) if self.states_energy else ""
        note = f"energy: {assumed}" if assumed else ""
        return html_table(title, (), rows, note) + self._waits_over_time()

    def _waits_over_time(self) -> str:
        """A line of mean waits, by when jobs were submitted."""
        submit = self._schedule.submit
        wait = self.start - submit
        started = np.isfinite(wait)
        submit, wait = submit[started], wait[started]
        if len(submit) < 2 or not submit.max() > submit.min():
            return ""
        count, edges = np.histogram(submit, bins=min(48, len(submit)))
        total, _ = np.histogram(submit, bins=edges, weights=wait)
        means = total / np.maximum(count, 1)
        text = registry.get("wait_mean").text
        title = (
            f"mean wait by submit, every {text(edges[1] - edges[0])}; at most {text(means.max())}"
        )
        return sparkline(means.tolist(), title)

    @property
    def plot(self) -> RunPlots:
        """Pictures of the run: ``plot()``, ``plot.gantt()``, ``plot.queue()`` and so on."""
        from ..report.figures.of_run import RunPlots

        return RunPlots(self)

    def __len__(self) -> int:
        """Return the number of jobs, accepted or not."""
        return len(self._prepared.jobs)

    @property
    def submit(self) -> Floats:
        """Submit of each accepted job, in their order, in seconds."""
        return self._schedule.submit

    @property
    def start(self) -> Floats:
        """Start of each accepted job, in the order in which they came (s); nan if it never ran.

        A job that was requeued has the start of its last attempt. Of nodes that sleep it starts
        when all that it was given are up.
        """
        return self._schedule.start

    @property
    def end(self) -> Floats:
        """End of each accepted job, in the order in which they came (s); nan if it never ran."""
        return self._schedule.end

    @property
    def promises(self) -> Floats:
        """First reserved start of each accepted job under conservative backfilling, as work (s)."""
        return self._run.promises

    @property
    def states_energy(self) -> bool:
        """Whether tables and pictures have energy: watts were given, or it was asked for.

        A price, a carbon intensity or a service rate that is controlled ask for it; of watts that
        nobody gave it is stated only then.
        """
        asked = self.options.price is not None or self.options.carbon is not None
        return asked or not self._prepared.control.is_constant or not self.cluster.power_model

    @property
    def power_steps(self) -> tuple[Floats, Floats]:
        """Instants (s) and the watts of the whole cluster from each on, to the last end."""
        return self._schedule.energy.steps

    @property
    def held_for(self) -> str:
        """What jobs are held for, or would be: ``carbon`` or ``price``."""
        options = self.options
        return series_name(options.defer_by, options.carbon, options.price)

    def series_steps(self, what: str = "carbon") -> tuple[Floats, Floats]:
        """Instants (s) and what a kWh emits (g of CO2) or costs from each on, over the run.

        Parameters
        ----------
        what : ``carbon`` or ``price``, which must have been given.
        """
        energy = self._schedule.energy
        if what not in ("carbon", "price"):
            raise OptionError(f"series '{what}': choose carbon or price")
        given = energy.carbon if what == "carbon" else energy.price
        if given is None:
            raise OptionError(f"the run has no {what}; simulate with {what}=")
        return energy.series_steps(given)

    @property
    def in_pieces(self) -> bool:
        """Whether jobs may have been stopped by the policy, or by plan, and gone on later."""
        return self.policy.preemptive or self._prepared.suspends

    @property
    def caps(self) -> dict[str, tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]:
        """Of each cap: instants (s) and the watts of its nodes from each on; the same of the cap.

        The cap of the whole cluster is called ``cluster``.
        """
        caps = self._schedule.caps
        return {} if caps is None else caps.steps_by_name()

    @property
    def slowness(self) -> Floats:
        """How many times longer than recorded each accepted job ran [gomez2012, eq. 2]."""
        return self._schedule.slowness

    def allocation_columns(self) -> dict[str, NDArray[Any]]:
        """The whole schedule: job, node (its place in the cluster), procs, start and end (s)."""
        numbers = self._prepared.jobs.job[self._prepared.accepted]
        schedule = self._schedule
        schedule.allocation  # noqa: B018  (raises where processors were only counted)
        job, start, stop = schedule.stretches
        return schedule.energy.given.columns(numbers[job], start, stop)

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """The whole schedule: which job had how many processors of which node, and when."""
        import pandas as pd

        columns: dict[str, Any] = self.allocation_columns()
        names = pd.Index([node.name for node in self.cluster.nodes])
        columns["node"] = pd.Categorical.from_codes(columns["node"], categories=names)
        return pd.DataFrame(columns, copy=False)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row per node: model, procs, speed, share of its time busy, and its `ledger` (J)."""
        import pandas as pd

        self._schedule.allocation  # noqa: B018  (raises where processors were only counted)
        columns = self._schedule.energy.node_columns()
        if self.states_energy:
            columns |= self._schedule.ledger.by_node()
        return pd.DataFrame(columns)

    @cached_property
    def node_states(self) -> pd.DataFrame:
        """One row per stretch in which a node was not on: node, state, begin and end (s), watts."""
        import pandas as pd

        states = self._schedule.states
        if states is None:
            raise OptionError("no node of this run sleeps; give sleep='idle:600', for example")
        return pd.DataFrame(states.columns())

    @cached_property
    def nodes_by_state(self) -> pd.DataFrame:
        """How many nodes are in which state over time, in a run whose nodes sleep.

        Columns: ``time`` (s), and ``busy``, ``idle``, ``entering``, ``sleep``, ``leaving`` and
        ``failed``, which hold from then on.
        """
        import pandas as pd

        self.node_states  # noqa: B018  (raises where no node sleeps)
        states, energy = self._schedule.states, self._schedule.energy
        assert states is not None
        first = float(self._schedule.epochs[0][0])
        return pd.DataFrame(states.over_time(energy.worked, energy.given, first))

    @cached_property
    def resources(self) -> pd.DataFrame:
        """One row per resource of the nodes: what was used, stranded, free and down.

        Columns: ``capacity``; ``jobs`` that held some; resource-seconds ``used``, ``stranded``
        (nobody can use it, because another resource of its node is used up), ``free`` and ``down``;
        and their shares of the capacity, ``used_share`` and so on.
        """
        import pandas as pd

        rows = {
            name: {
                **{key: value for key, value in row.items() if key != "share"},
                **{f"{state}_share": value for state, value in row["share"].items()},
            }
            for name, row in self._schedule.resources.as_dict().items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("resource")

    @property
    def fragmentation(self) -> pd.DataFrame:
        """What is used, stranded, free and down of each resource of the nodes, over time.

        Columns: ``time`` (s), and ``cores_used``, ``cores_stranded``, ``cores_free``,
        ``cores_down`` and so on for every resource, which hold from then on.
        """
        return self._schedule.resources.over_time

    @cached_property
    def decisions(self) -> Decisions:
        """Every decision of the scheduler and its reason (needs ``decisions=True``)."""
        if not self.options.decisions:
            raise OptionError("decisions were not kept; simulate with decisions=True")
        return Decisions(self._prepared, self._run)

    def job_columns(self, first: int = 0, last: int | None = None) -> dict[str, NDArray[Any]]:
        """Columns of the job table for the rows `first` to `last`.

        Columns that are in `categories` are places there; -1 is what is not known.

        Made anew on each call, so that a long table can be written piece by piece.
        """
        log, accepted, schedule = self._prepared.jobs, self._prepared.accepted, self._schedule
        mine = accepted[first:last]
        everybody = bool(mine.all())
        skipped = int(np.count_nonzero(accepted[:first]))
        at = slice(skipped, skipped + int(np.count_nonzero(mine)))

        def spread(values: Floats) -> Floats:
            if everybody:
                return values
            column = np.full(len(mine), np.nan)
            column[mine] = values
            return column

        def spread_codes(codes: NDArray[np.int8]) -> NDArray[np.int8]:
            column = np.full(len(mine), -1, dtype=np.int8)
            column[mine] = codes
            return column

        submit, start, end = schedule.submit[at], schedule.start[at], schedule.end[at]
        service, sojourn = schedule.service[at], end - submit
        status = np.full(len(mine), STATUS.index(UNACCEPTED), dtype=np.int8)
        status[mine] = schedule.status[at]
        columns = {
            "job": log.job[first:last],
            "submit": log.submit[first:last],
            "start": spread(start),
            "end": spread(end),
            "wait": spread(start - submit),
            "service": spread(service),
            "sojourn": spread(sojourn),
            "slowdown": spread(formulas.slowdown(sojourn, service)),
            "bounded_slowdown": spread(formulas.bounded_slowdown(sojourn, service)),
            "procs": log.procs[first:last],
            "estimate": log.estimate[first:last],
            **({"energy": spread(schedule.energy.jobs[at])} if self.states_energy else {}),
            **{name: spread(column[at]) for name, column in schedule.energy.job_costs.items()},
            "status": status,
            "reason": self._prepared.reason[first:last],
            **{name: spread_codes(codes[at]) for name, (codes, _) in self._run.remarks.items()},
            **{name: codes[first:last] for name, (codes, _) in self._who.items()},
        }
        if log.has_labels:
            columns["label"] = log.label[first:last]
        if schedule.after is not None and self._prepared.external is not None:
            columns["restarts"] = spread(schedule.after.restarts[at].astype(np.float64))
            if self.states_energy:
                columns["lost_energy"] = spread(schedule.ledger.lost_of_jobs[at])
        if self._prepared.deferred is not None:
            columns["deferred"] = self._prepared.deferred.held[first:last]
        if self._begin is not None:
            columns["begin"] = self._begin[first:last]
        for name, known in self._requested.items():
            columns.setdefault(name, known[first:last])
        if self.cluster.is_named:
            columns["nodes"] = spread(np.diff(schedule.allocation.first)[at].astype(np.float64))
            columns["slowness"] = spread(schedule.slowness[at])
            columns["peas_energy"] = spread(schedule.energy.peas[at])
        return columns

    @cached_property
    def _who(self) -> dict[str, tuple[NDArray[np.int32], list[str]]]:
        """The columns of names that the log knows: places, and the names."""
        log = self._prepared.jobs
        coded = {name: log.coded(name) for name in WHO if name in log.names}
        return {name: (codes, names) for name, (codes, names) in coded.items() if names}

    @cached_property
    def _begin(self) -> Floats | None:
        """When jobs asked to begin, where later than their submit (s), else nan; None: nobody."""
        log = self._prepared.jobs
        later = start_later(log)
        return np.where(later, arrivals_of(log), np.nan) if later.any() else None

    @cached_property
    def _requested(self) -> dict[str, Floats]:
        """What the log knows that jobs ask for; nan where it is not known."""
        log = self._prepared.jobs
        counts = [name for name in log.further if log[name].dtype.kind == "i"]
        wanted = [name for name in (*REQUESTED, *counts) if name in log.names]
        return {
            name: np.where(log[name] >= 0, log[name], np.nan)
            for name in wanted
            if name not in log.named and (log[name] > 0).any()
        }

    @property
    def categories(self) -> dict[str, Sequence[str]]:
        """Words that the numbers of `job_columns` stand for, by column."""
        words = {name: said for name, (_, said) in self._run.remarks.items()}
        return {**CATEGORIES, **words, **{name: names for name, (_, names) in self._who.items()}}

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """The job table, one row per job: submit, start, end, wait (s), energy (J) and so on.

        The columns are those of `docs/reference/jobs`.
        """
        import pandas as pd

        columns: dict[str, Any] = self.job_columns()
        for name, words in self.categories.items():
            columns[name] = pd.Categorical.from_codes(columns[name], categories=pd.Index(words))
        return pd.DataFrame(columns, copy=False)

    def as_log(self) -> Jobs:
        """The log with the simulated waits (s; -1 if it never ran) and times in service in it."""
        log, accepted = self._prepared.jobs, self._prepared.accepted
        wait, runtime = np.full(len(log), -1.0), log.runtime.copy()
        ended = self._schedule.ended
        ran = np.flatnonzero(accepted)[ended]
        wait[ran] = (self.start - self._schedule.submit)[ended]
        runtime[ran] = self._schedule.service[ended]
        return log.replace(wait=wait, runtime=runtime)

    @property
    def instants(self) -> int:
        """Rows of the trajectory."""
        return len(self._run.rows("time"))

    def trajectory_columns(
        self, first: int = 0, last: int | None = None
    ) -> dict[str, NDArray[Any]]:
        """Columns of the trajectory for the rows `first` to `last`, as `job_columns`."""
        if not self.options.record:
            raise OptionError("the trajectory was not recorded; simulate with record=True")
        names = ("time", "rate", "present", "queued", "busy", "running", "workload")
        columns = {name: self._run.rows(name)[first:last] for name in names}
        if self.states_energy:
            time, rate, busy = (columns[name] for name in ("time", "rate", "busy"))
            columns["power"] = self._schedule.power(time, rate, busy)
        if self._schedule.domains is not None:
            columns |= self._schedule.domains.columns_at(columns["time"])
        if self.cluster.is_named and len(self.end):
            columns |= self._schedule.resources.columns_at(columns["time"])
        return columns

    @cached_property
    def trajectory(self) -> pd.DataFrame:
        """The trajectory: the state after each scheduling instant, until the next.

        Columns: ``time`` (s), ``rate``, jobs ``present`` and ``queued``, processors ``busy``, jobs
        ``running``, ``workload`` (s) and, where energy is stated, ``power`` (W); of domains
        ``rate_NAME``. It needs ``record=True``.
        """
        import pandas as pd

        return pd.DataFrame(self.trajectory_columns(), copy=False)

    @cached_property
    def segments(self) -> pd.DataFrame:
        """Stretches of service, several where a job was preempted: its number, start, end (s)."""
        import pandas as pd

        job, start, stop = self._schedule.stretches
        numbers = self._prepared.jobs.job[self._prepared.accepted]
        return pd.DataFrame({"job": numbers[job], "start": start, "end": stop})

    @cached_property
    def rates(self) -> pd.DataFrame:
        """Epochs of the service rate: time (s) and the rate from then on.

        Where domains have rates of their own, ``domain`` says whose it is.
        """
        import pandas as pd

        domains = self._schedule.domains
        if domains is not None:
            return pd.concat(
                pd.DataFrame({"domain": name, "time": time, "rate": rate})
                for name, (time, rate) in zip(domains.control.names, domains.epochs, strict=True)
            ).reset_index(drop=True)
        time, rate = self._schedule.epochs
        return pd.DataFrame({"time": time, "rate": rate})

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The measures of the run as plain numbers, ready for JSON (see `docs/reference/summary`).

        Times are in seconds, energies in joules, shares from 0 to 1.

        Examples
        --------
        >>> import sojourn
        >>> result = sojourn.simulate(sojourn.lublin(100, 64, load=0.7, seed=1), 64)
        >>> list(result.summary["wait"])
        ['mean', 'median', 'p90', 'p95', 'p99', 'max']
        """
        # Measures of users may be computed from ours: these are there first.
        self.__dict__["summary"] = made = summarise(self._schedule)
        try:
            registry.add_computed(self, made)
        except BaseException:
            del self.__dict__["summary"]
            raise
        return made

    def after_warmup(self, jobs: int) -> Result:
        """Return the same run, whose measures over jobs leave out its first jobs.

        Parameters
        ----------
        jobs : how many jobs are left out, in the order in which they came.
        """
        options = self.options.changed(warmup=jobs)
        return Result(replace(self._prepared, options=options), self._run)

    def by(self, what: str) -> pd.DataFrame:
        """Measures per class of jobs.

        One row per class, by its name: jobs, share of the processor time, mean, median and p95
        wait (s), mean bounded slowdown, energy (J), and where these are given its cost and its
        carbon dioxide (g).

        Parameters
        ----------
        what : ``user``, ``group``, ``account``, ``queue``, ``partition``, ``qos``, ``width`` (by
            powers of two) or ``status``.

        Examples
        --------
        >>> import sojourn
        >>> result = sojourn.simulate(sojourn.lublin(100, 64, load=0.7, seed=1), 64)
        >>> result.by("width")["jobs"].to_dict()
        {'1': 27, '2': 14, '3-4': 21, '5-8': 19, '9-16': 5, '17-32': 11, '33-64': 3}
        """
        from .classes import measure_classes

        return measure_classes(self.jobs, self._prepared.jobs, what)

    def ledger(self, by: str = "node") -> pd.DataFrame:
        """Where the energy went, by cause; all rows together are the bill of the run.

        Columns (J): ``busy_energy``, of which ``lost_energy`` was for nothing where jobs can fail;
        ``idle_energy``; ``entering_energy``, ``sleep_energy``, ``leaving_energy`` and
        ``failed_energy`` where nodes sleep, or draw power while they are down; ``energy``, the sum;
        and where these are given ``cost`` and ``carbon`` (g).

        Parameters
        ----------
        by : ``node``; ``partition``: nodes that are in the same partitions are a row; ``rack``;
            ``job``; or a class of jobs, as for `by`. Jobs and their classes have a last row, of
            what was drawn for no job.

        Examples
        --------
        >>> import sojourn
        >>> jobs = sojourn.lublin(100, 64, load=0.7, seed=1)
        >>> result = sojourn.simulate(jobs, sojourn.parse_cluster("8 x X5670"))
        >>> list(result.ledger("width").index)[-3:]
        ['17-32', '33-64', '(no job)']
        """
        from .classes import class_codes
        from .outcome.ledger import ledger_table

        if not self.states_energy:
            raise OptionError(
                "ledger: the run states no energy; give the cluster watts, or a price or carbon"
            )
        classes = None
        if by not in ("node", "rack", "job"):
            classes = class_codes(self.jobs, self._prepared.jobs, by)
        table: pd.DataFrame = ledger_table(self._schedule, by, classes)
        return table
