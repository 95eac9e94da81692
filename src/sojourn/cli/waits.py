"""``sojourn waits``: who waited, as a log has recorded it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import OptionError
from . import _completion
from ._options import CLEANING, READING, AsJson, Chosen, option, takes
from ._results import print_json

if TYPE_CHECKING:
    import pandas as pd

_PRINTED = 20
_RESULTS = "Results"


@takes("log", READING, CLEANING)
def waits(
    chosen: Chosen,
    *,
    by: Annotated[
        str | None,
        option(
            "CLASS,...",
            "A table each: partition, queue, account, qos, user, group, width. Default: all "
            "that the log knows.",
            autocompletion=_completion.class_lists,
        ),
    ] = None,
    target: Annotated[
        str, option("LENGTH", "The longest wait that is good enough, such as 1h.")
    ] = "1h",
    sort: Annotated[
        str,
        option(
            "COLUMN",
            "Largest first: hours_waited, wait_share, mean_wait, median_wait, p95_wait, "
            "over_target, jobs, processor_hours, share; or name.",
        ),
    ] = "hours_waited",
    top: Annotated[
        int | None,
        option("N", "Only the first N of each table; default: 20 printed, all in files.", min=1),
    ] = None,
    json: AsJson = False,
    out: Annotated[
        Path | None, option("FILE.csv", "Write the tables as CSV too.", _RESULTS)
    ] = None,
    plot: Annotated[
        Path | None,
        option(
            "FILE.png",
            "Draw the distribution of waits of each class; .png, .svg or .pdf.",
            _RESULTS,
        ),
    ] = None,
) -> None:
    """Show who waited how long, by the waits that a log has recorded.

    One table per class: waits, the share of jobs that waited longer than the target, hours used and
    hours waited; and where most of the waiting is.

    Example: sojourn waits sacct.txt --by partition,account --target 2h
    """
    limit = _seconds(target)
    _check_files(out, plot)
    scenario = chosen.scenario
    jobs = scenario.raw_log()
    jobs = scenario.cleaned(jobs, jobs.max_procs)

    from ..jobs.classes import known_classes, listed_classes
    from ..jobs.recorded import bottleneck, has_recorded_wait
    from ..jobs.recorded import waits as measure
    from ..run.classes import class_rows

    names = known_classes(jobs) if by is None else listed_classes(by)
    tables = {
        name: measure(jobs, name, target=limit, sort=name if sort == "name" else sort)
        for name in names
    }
    words = {name: bottleneck(table) for name, table in tables.items()}
    whole = {name: len(table) for name, table in tables.items()}
    kept = {name: table if top is None else table.head(top) for name, table in tables.items()}
    if plot is not None:
        _draw(jobs, names, plot)
    rows = {name: class_rows(table) for name, table in kept.items()}
    if out is not None:
        from ..run.folder import write_rows

        write_rows(out, [{"by": name, **row} for name, part in rows.items() for row in part])
    counted = int(has_recorded_wait(jobs).sum())
    numbers = {
        "jobs": counted,
        "without_wait": len(jobs) - counted,
        "target": limit,
        "tables": rows,
        "bottleneck": words,
        "cleaning": jobs.report.as_dict(),
    }
    if json:
        print_json(numbers)
        return
    _show(numbers, {name: table.head(top or _PRINTED) for name, table in kept.items()}, whole)
    for path in (out, plot):
        if path is not None:
            print(f"\n{path} written")


def _seconds(text: str) -> float:
    from ..capacity.targets import parse_length

    try:
        return parse_length(text)
    except ValueError as error:
        raise OptionError(f"--target {error}") from None


def _check_files(out: Path | None, plot: Path | None) -> None:
    """Raise OptionError for what could not be written, before a long log is read."""
    if out is not None and out.suffix.lower() != ".csv":
        raise OptionError(f"--out {out}: the tables are CSV; name it FILE.csv")
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise OptionError(f"--plot {plot}: pictures are .png, .svg or .pdf; change the suffix")
    for flag, path in (("--out", out), ("--plot", plot)):
        if path is not None and path.is_dir():
            raise OptionError(f"{flag} {path}: is a folder; name a file")
        if path is not None and not path.parent.is_dir():
            raise OptionError(f"{flag} {path}: there is no folder {path.parent}; make it first")


def _draw(jobs: Any, chosen: list[str], path: Path) -> None:
    from ..jobs.recorded import waits_of_classes
    from ..report import class_waits, save

    save(class_waits({name: waits_of_classes(jobs, name) for name in chosen}), path)


def _show(numbers: dict[str, Any], tables: dict[str, pd.DataFrame], whole: dict[str, int]) -> None:
    from ..report.text import Terminal, as_number, new_table, show_report

    def hours(seconds: float) -> str:
        return as_number(seconds / 3600)

    show_report(numbers["cleaning"])
    console = Terminal()
    missing = numbers["without_wait"]
    left = f"; {missing:,} without a recorded wait are left out" if missing else ""
    who = "job" if numbers["jobs"] == 1 else "jobs"
    console.print(f"recorded waits of {numbers['jobs']:,} {who}{left}")
    over = f"over\n{as_number(numbers['target'] / 3600)} h"
    for by, table in tables.items():
        console.print()
        shown = new_table(
            f"{by}\n", "\njobs", "processor-\nhours", "mean\nwait h", "median\nwait h",
            "95 %\nwait h", over, "hours\nwaited", "of all\nwaiting",
        )  # fmt: skip
        for name, row in table.iterrows():
            shown.add_row(
                str(name),
                f"{int(row['jobs']):,}",
                as_number(row["processor_hours"]),
                *(hours(row[f"{which}_wait"]) for which in ("mean", "median", "p95")),
                f"{100 * row['over_target']:.1f} %",
                as_number(row["hours_waited"]),
                f"{100 * row['wait_share']:.1f} %",
            )
        console.print(shown)
        rest = whole[by] - len(table)
        if rest:
            console.note(f"and {rest:,} more; --top {whole[by]} shows all")
        if numbers["bottleneck"][by]:
            console.print(numbers["bottleneck"][by], style="bold", soft_wrap=True)
