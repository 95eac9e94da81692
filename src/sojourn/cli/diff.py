"""``sojourn diff``: two configurations, clusters or scenarios on one log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError, plural
from . import _completion
from ._options import CLEANING, READING, AsJson, Chosen, option, takes
from ._results import print_json
from ._run import progress

if TYPE_CHECKING:
    from ..report.text import Terminal
    from ..study.changes import Change
    from ..study.difference import Difference

_PRINTED = 10
_RESULTS = "Results"


@takes(
    *("log", "watts_busy", "watts_idle", READING, CLEANING),
    log=option("LOG", "The log whose jobs run on both.", flag="--log"),
)
def diff(
    chosen: Chosen,
    *,
    a: Annotated[
        Path,
        typer.Argument(metavar="A", help="A slurm.conf, a description of nodes, or a scenario."),
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one, which A is compared with.")],
    policy: Annotated[str, option("NAME", "Of nodes, which have no policy of their own.")] = "easy",
    by: Annotated[
        str | None,
        option(
            "CLASS,...",
            "Who gains and who loses: partition, account, user, width, queue, qos, group. "
            "Default: the first four, as far as the log knows them.",
            autocompletion=_completion.class_lists,
        ),
    ] = None,
    draws: Annotated[
        int, option("N", "Logs drawn from blocks of this one, for the intervals; 2 or more.")
    ] = 20,
    block: Annotated[
        str | None,
        option("BLOCK", "What is drawn: user, day, week or jobs. Default: what suits the log."),
    ] = None,
    seed: Annotated[int, option("N", "Of the draws.")] = 0,
    json: AsJson = False,
    out: Annotated[
        Path | None, option("DIR", "Folder for all numbers: diff.json, diff.csv.", _RESULTS)
    ] = None,
    report: Annotated[
        Path | None, option("FILE.html", "A page that opens in any browser.", _RESULTS)
    ] = None,
) -> None:
    """Compare two configurations, clusters or scenarios on one log: who gains, who loses, how sure.

    First how near A comes to what the log recorded, so that it is clear what a difference is worth.
    Then the lines that differ, and waits, slowdowns, utilisation and energy with 95 % intervals.

    Example: sojourn diff slurm.conf new/slurm.conf --log sacct.txt --report diff.html
    """
    from ..jobs.classes import listed_classes
    from ..run.building import make_power
    from ..run.folder import as_json, check_folder, staged, write_rows
    from ..study.difference import as_rows
    from ..study.difference import diff as compare

    if chosen.options.get("log") is None:
        raise OptionError("--log: is missing; give the log whose jobs run on both")
    scenario = chosen.scenario
    power = scenario.keys.power
    if out is not None:
        check_folder(out)
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"--report {report}: a report is a page of HTML; name it FILE.html")
    with progress("comparing") as step:
        difference = compare(
            a,
            b,
            scenario.raw_log(),
            policy=policy,
            power=make_power(power) if power.busy is not None or power.idle is not None else None,
            by=None if by is None else listed_classes(by),
            draws=draws,
            block=block,
            seed=seed,
            rules=scenario.rules,
            progress=step,
        )
    numbers = difference.as_dict()
    if out is not None:
        with staged(out) as place:
            place("diff.json").write_text(as_json(numbers) + "\n", encoding="utf-8")
            write_rows(place("diff.csv"), as_rows(difference))
    if report is not None:
        from ..report.page.difference import write_difference

        write_difference(difference, report)
    if json:
        print_json(numbers)
        return
    _show(difference)
    written = [f"diff.json and diff.csv in {out}"] if out is not None else []
    written += [f"{report}"] if report is not None else []
    if written:
        print(f"\nwritten: {', '.join(written)}")


def _show(difference: Difference) -> None:
    from ..report.text import Terminal, as_seconds, new_table

    console = Terminal()
    console.print(
        f"A is {difference.a}, B is {difference.b}; {plural(difference.jobs, 'job')} of "
        f"{difference.log}"
    )
    trust = difference.trust
    if trust is None:
        console.print("\nThe log recorded no starts: how near A comes to them is not known.")
    else:
        console.print(
            f"\nHow near A comes to the log ({plural(trust.jobs, 'job')} with recorded starts)"
        )
        facts = [
            ("mean wait", f"{as_seconds(trust.wait)}, recorded {as_seconds(trust.recorded)}"),
            ("P, log", f"{as_seconds(trust.P)}, root mean square difference of times in the "
             f"system; {100 * trust.relative:.1f} % of their mean"),
            ("within 60 s", f"{100 * trust.near:.1f} % of the jobs"),
        ]  # fmt: skip
        if trust.members > 1:
            facts.append(
                ("P, model", f"{as_seconds(trust.itself)} between runs of A that begin at other "
                 f"moments of its loops ({trust.members} runs, median)")
            )  # fmt: skip
        console.facts(facts)
    console.print("\nLines that differ" if difference.lines else "\nNo line differs.")
    for line in difference.lines:
        console.print(f"  {line.name}", style="bold")
        console.print(f"    A: {_line(line.a)}\n    B: {_line(line.b)}", soft_wrap=True)
    console.print(
        f"\nAll jobs; 95 % intervals from {plural(difference.draws, 'draw')} by {difference.block}"
    )
    table = new_table("measure", "A", "B", "B less A", "interval", "change", "")
    for change in difference.measures:
        table.add_row(change.what.title, *_cells(change))
    console.print(table)
    for by, rows in difference.classes.items():
        if rows:
            _show_classes(console, by, rows)
        if words := difference.left_in_words(by):
            console.print(words, style="dim", soft_wrap=True)
    console.print()
    for sentence in difference.in_words():
        console.print(sentence, soft_wrap=True)
    for sentence in difference.remarks():
        console.print(sentence, soft_wrap=True)
    if difference.not_modelled:
        print("\nnot modelled:")
        for what in difference.not_modelled:
            print(f"- {what}")


def _show_classes(console: Terminal, by: str, rows: Any) -> None:
    from ..report.text import new_table

    console.print(f"\nMean wait (s) by {by}")
    table = new_table(by, "jobs", "A", "B", "B less A", "interval", "change", "")
    for row in rows[:_PRINTED]:
        table.add_row(row.name, f"{row.jobs:,}", *_cells(row.wait))
    console.print(table)
    if len(rows) > _PRINTED:
        console.print(
            f"and {len(rows) - _PRINTED} more, with fewer jobs: --out, --json", style="dim"
        )


def _cells(change: Change) -> list[str]:
    from ..report.text import as_number

    a, b, estimate, low, high = map(as_number, change.shown)
    return [a, b, estimate, f"{low} to {high}", change.in_percent, change.verdict]


def _line(value: str | None) -> str:
    return "-" if value is None else value
