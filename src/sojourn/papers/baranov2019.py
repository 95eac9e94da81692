"""Table I of [baranov2019]: how far a resource manager on virtual nodes is from itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError
from .registry import Reproduced, Request, Row, reproduction

if TYPE_CHECKING:
    from ..adequacy import Adequacy, JobStream
    from ..adequacy.virtual import Job, StreamRun

PRINTED = {
    50: (0.0, 0),
    100: (12.0, 4),
    250: (11.4, 13),
    500: (12.0, 20),
    750: (11.6, 28),
    1000: (11.2, 35),
}
"""By number of jobs, P (s) and the number of different jobs of [baranov2019, table I]."""

JOBS, NODES, LOAD = 1000, 16, 0.8
SHORTEST, LONGEST = 60.0, 1200.0
"""Seconds that jobs run, uniform in their logarithm."""

WITHIN = 1.0
"""Waits that differ by no more (s) count as equal: Slurm's own clock has whole seconds."""

_SEED = 2019
_MOST_OVERESTIMATED = 3.0


def stream(jobs: int) -> list[Job]:
    """Draw a stream; the paper's, made from the statistics of MVS-10P OP, is not published."""
    from ..adequacy.virtual import Job

    rng = np.random.default_rng(_SEED)
    run = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST), jobs)).round(1)
    nodes = np.exp(rng.uniform(0.0, np.log(0.6 * NODES), jobs)).round().astype(np.int64)
    gaps = rng.exponential(1.0, jobs)
    gaps *= np.sum(run * nodes) / (NODES * LOAD * gaps.sum())
    submit = np.floor(np.cumsum(gaps) - gaps[0])
    limit = np.ceil(run * rng.uniform(1.0, _MOST_OVERESTIMATED, jobs) / 60).astype(np.int64)
    columns = (submit, nodes, run, limit)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [Job(k, *row) for k, row in enumerate(rows, 1)]


@reproduction(
    "baranov2019-table1",
    "P between two repetitions of one stream on virtual nodes, by number of jobs",
    jobs=JOBS,
)
def table1(request: Request) -> Reproduced:
    """P (2) and the number of different jobs over the first jobs of the stream."""
    from ..adequacy import compare_streams
    from ..adequacy.virtual import check_plan, run_stream

    if request.jobs < 2:
        raise OptionError(f"--jobs {request.jobs}: give at least 2")
    jobs = stream(request.jobs)
    check_plan(jobs, NODES, request.mode, "none")
    runs = [run_stream(jobs, NODES, mode=request.mode, progress=request.progress) for _ in range(2)]
    first, second = map(_as_stream, runs)
    distance = compare_streams(first, second, within=WITHIN, submit_tolerance=WITHIN, nodes=NODES)
    rows = [_row(prefix.n, prefix.P, prefix.different) for prefix in distance.prefixes]
    return Reproduced(rows, _says(distance, runs), table=_table(rows))


def _as_stream(run: StreamRun) -> JobStream:
    from ..adequacy import JobStream

    columns = {name: [row[name] for row in run.rows] for name in run.rows[0]}
    limit = 60.0 * np.asarray(columns["limit_min"])
    times = (columns[name] for name in ("submit", "start", "end"))
    return JobStream.of(*times, label=columns["id"], nodes=columns["nodes"], limit=limit)


def _row(n: int, P: float, different: int) -> Row:
    printed = PRINTED.get(n, ("", ""))
    return {
        "jobs": n,
        "P": P,
        "different": different,
        "P_printed": printed[0],
        "different_printed": printed[1],
    }


def _says(distance: Adequacy, runs: list[StreamRun]) -> str:
    first = runs[0]
    span, seconds = first.span / 86400, sum(run.seconds for run in runs)
    return (
        f"Slurm {first.slurm} with its default cycles on {NODES} virtual nodes, {first.mode} time: "
        f"two repetitions of {distance.n:,} jobs over {span:.2f} days in {seconds:,.0f} s\n"
        f"P_ideal = {distance.P:.1f} s, {100 * distance.relative:.2g} % of the mean residence "
        f"time; half of its square comes from {distance.half:,} jobs, the median difference is "
        f"{distance.median_abs:.2f} s"
    )


def _table(rows: list[Row]) -> str:
    """Ours and the paper's, which is of SUPPZ and another stream."""
    lines = [f"{'number':>8}{'P':>12}{'different':>11}{'printed: P':>14}{'different':>11}"]
    for row in rows:
        line = f"{row['jobs']:>8}{row['P']:>12.2f}{row['different']:>11}"
        if row["P_printed"] != "":
            line += f"{row['P_printed']:>14.1f}{row['different_printed']:>11}"
        lines.append(line)
    return "\n".join(lines)
