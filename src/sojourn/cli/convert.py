"""``sojourn convert``: a log in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import plural
from ._options import READING, Chosen, takes


@takes(
    *("log", "rules", "procs", READING),
    log=typer.Argument(
        metavar="IN", help="Log to read: .swf, .csv, .parquet [.gz, .xz], or accounting."
    ),
)
def convert(
    chosen: Chosen,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Log to write; the suffix decides.")],
    *,
    clean: Annotated[
        bool, typer.Option("--clean", help="Apply the standard cleaning rules, or --rules.")
    ] = False,
) -> None:
    """Read a log and write it in another format, cleaned if wanted.

    Example: sojourn convert jobs.csv jobs.swf.gz --columns submit=t,runtime=s,procs=n --clean
    """
    from ..jobs import write_log
    from ..jobs.formats.swf import columns_beyond_swf
    from ..report.text import show_report

    scenario = chosen.scenario
    jobs = scenario.raw_log()
    if clean or scenario.keys.workload.rules is not None:
        jobs = scenario.cleaned(jobs, scenario.keys.cluster.procs or jobs.max_procs)
    write_log(jobs, out)
    show_report(jobs.report.as_dict())
    print(f"{plural(len(jobs), 'job')} written to {out}")
    if ".csv" in out.suffixes and jobs.header.get("UnixStartTime"):
        print("CSV has no header: the date of second 0 is lost; write .parquet or .swf to keep it")
    lost = columns_beyond_swf(jobs) if ".swf" in out.suffixes else []
    if lost:
        print(f"SWF has no field for {', '.join(lost)}: write .parquet or .csv to keep them")
