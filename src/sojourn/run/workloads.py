"""The jobs of a scenario: a log, blocks of it drawn anew, or a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..errors import LogError, OptionError
from ..jobs import EventStream, ExternalEvents, Jobs, clean
from ..jobs.clean import chosen_rules, cleaned
from ..jobs.estimates import apply_estimates
from ..jobs.log import CLEANED, format_of, machine_size, read_jobs, simulated
from .build.events import before_cleaning, load_events
from .inputs import Stamp, stamp_of
from .keys import OF_LOGS, WorkloadKeys

READ_BY = {"log", "events", *OF_LOGS} - {"resample"}
"""Keys by which a log is read and cleaned; all others come after that."""
_BLOCKS = 1 << 20


def is_random(keys: WorkloadKeys) -> bool:
    """Whether another seed makes other jobs."""
    drawn = keys.estimates not in (None, "exact") and isinstance(keys.estimates, str)
    return keys.model is not None or keys.resample is not None or drawn


def make_workload(keys: WorkloadKeys, log: Jobs | None, procs: int | None, seed: int) -> Jobs:
    """Return the jobs of a scenario.

    Parameters
    ----------
    keys : what is asked for.
    log : as from `read_workload`; None for a model.
    procs : processors of the machine, for a model.
    seed : of the model, or of the blocks that are drawn.
    """
    if log is None:
        jobs = _drawn(keys, procs, seed)
    else:
        jobs = log
        if keys.resample is not None:
            from ..jobs.models.resample import resample_blocks

            _check_events(keys)
            jobs = resample_blocks(jobs, by=keys.resample, seed=_stream(seed))
        if keys.estimates is not None:
            jobs = apply_estimates(jobs, keys.estimates, seed=seed)
    if keys.growth != 1.0:
        from ..jobs.arrivals import grown

        jobs = grown(jobs, keys.growth)
    return jobs


def _stream(seed: int) -> int:
    """A seed for blocks: the coins of a control are drawn from the seed itself."""
    drawn = np.random.SeedSequence(seed, spawn_key=(_BLOCKS,)).generate_state(1, np.uint64)
    return int(drawn[0] >> np.uint64(1))


def read_workload(keys: WorkloadKeys, procs: int | None, *, whole: bool = False) -> Jobs:
    """Return the log of a scenario, cleaned.

    Parameters
    ----------
    keys : what is asked for, with a path that leads there.
    procs : processors of the machine; None: those of the log.
    whole : keep all of its columns, not only those that a run looks at.
    """
    size = procs if "too-wide" in (keys.rules or ()) else None
    stamps = (stamp_of(keys.log or ""), stamp_of(keys.events or ""))
    if keys.resample is not None:
        _check_events(keys)
    return _cleaned_log(_Asked(reading(keys), keys), size, stamps, whole)


def reading(keys: WorkloadKeys) -> str:
    """Return how a log is read, as text that is the same where that is the same."""
    return repr(keys.model_dump(include=READ_BY))


def _check_events(keys: WorkloadKeys) -> None:
    """Raise OptionError for events of jobs that are drawn anew."""
    events = read_external_events(keys)
    if events is not None and _names_jobs(events):
        raise OptionError(
            f"{keys.events}: events of jobs, of which workload.resample makes others; leave "
            "either of them out",
            path=keys.events or "",
        )


def read_external_events(keys: WorkloadKeys) -> ExternalEvents | EventStream | None:
    """Return the external events of a scenario, if it has any."""
    if keys.events is None:
        return None
    return _events(keys.events, stamp_of(keys.events), keys.timezone, keys.wait_from)


@lru_cache(maxsize=2)
def _events(
    path: str, stamp: Stamp, timezone: str | None, wait_from: str | None
) -> ExternalEvents | EventStream:
    return load_events(path, timezone=timezone, wait_from=wait_from)


def _names_jobs(events: ExternalEvents | EventStream) -> bool:
    return isinstance(events, EventStream) or any(row.job is not None for row in events.rows)


@dataclass(frozen=True)
class _Asked:
    """What is asked of a log, and the keys that say it."""

    text: str
    keys: WorkloadKeys = field(compare=False)


# Replications of a study draw their blocks from one log, which is read once in a process.
@lru_cache(maxsize=2)
def _cleaned_log(
    asked: _Asked, procs: int | None, stamps: tuple[Stamp, Stamp], whole: bool
) -> Jobs:
    keys = asked.keys
    events = read_external_events(keys)
    only = None if whole or events is not None else CLEANED
    jobs = read_raw(keys, only)
    if events is not None:
        jobs = before_cleaning(jobs, events)
    left = clean_log(keys, jobs, procs)
    return left if whole else simulated(left, copy=only is None)


def read_raw(keys: WorkloadKeys, only: Sequence[str] | None = None) -> Jobs:
    """Return the part of a log that is asked for, as it stands there.

    Parameters
    ----------
    keys : what is asked for, with a path that leads there.
    only : columns that are needed; default: all.
    """
    columns = keys.columns
    log = Path(keys.log or "")
    is_told = keys.format is not None or ".swf" in log.suffixes
    if isinstance(columns, list) and not is_told and format_of(log) != "sacct":
        raise OptionError(
            f"'{','.join(columns)}': write NAME=COLUMN,NAME=COLUMN, or give workload.format sacct "
            "for the output of sacct -n",
            key="workload.columns",
        )
    jobs = read_jobs(
        log,
        keys.format,
        columns=columns,
        strict=keys.strict,
        width=keys.width,
        only=only,
        delimiter=keys.delimiter,
        timezone=keys.timezone,
        wait_from=keys.wait_from,
        partition_column=keys.partition_column,
    )
    return _sliced(jobs, keys)


def clean_log(
    keys: WorkloadKeys, jobs: Jobs, procs: int | None, size_key: str = "cluster.procs"
) -> Jobs:
    """Return the jobs of a log after cleaning.

    Parameters
    ----------
    keys : what is asked for.
    jobs : as from `read_raw`.
    procs : processors of the machine; None: those that the log tells.
    size_key : what gives them, for messages.
    """
    rules = chosen_rules(keys.rules, keep_zero=keys.keep_zero)
    size = machine_size(jobs, procs, size_key) if "too-wide" in rules else None
    return cleaned(jobs, size, rules, strict=keys.strict)


def _sliced(jobs: Jobs, keys: WorkloadKeys) -> Jobs:
    """The part of a log that is asked for, as if there were no more in it."""
    kept = jobs
    if keys.since is not None:
        kept = kept[kept.submit >= keys.since]
    if keys.until is not None:
        kept = kept[kept.submit < keys.until]
    if keys.first is not None:
        kept = kept[: keys.first]
    if len(kept) == len(jobs):
        return jobs
    if not len(kept):
        raise LogError(jobs.source, "no job is in that part of the log; check since and until")
    return kept.replace(report=replace(jobs.report, read=len(kept), kept=len(kept)))


def _drawn(keys: WorkloadKeys, procs: int | None, seed: int) -> Jobs:
    from ..jobs.models import generate
    from ..jobs.models.lublin import lublin
    from ..jobs.models.stream import interarrival_for, parse_time, parse_width

    size = keys.procs or procs
    if size is None:
        raise OptionError(f"workload.model = '{keys.model}': for how many? give cluster.procs")
    estimates = keys.estimates or "exact"
    if keys.model == "lublin":
        jobs = lublin(
            keys.jobs, size, load=keys.load, seed=seed, parameters=keys.type, estimates=estimates
        )
    else:
        work, widths = parse_time(keys.work), parse_width(keys.widths, size)
        mean = None if keys.load is None else interarrival_for(keys.load, work, widths, size)
        gaps = parse_time(keys.interarrival, mean=mean)
        jobs = generate(keys.jobs, gaps, work, widths, seed=seed, servers=size)
        if estimates != "exact":
            jobs = apply_estimates(jobs, estimates, seed=seed)
    return clean(jobs, procs=procs or size)
