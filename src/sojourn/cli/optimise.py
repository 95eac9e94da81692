"""``sojourn optimise``: the best trade-offs of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import OptionError, plural
from . import _study as st
from ._options import AsJson, option
from ._results import print_json

if TYPE_CHECKING:
    from ..study import Front

_SEARCH = "Search"


def optimise(
    scenario: st.ScenarioFile,
    *,
    vary: Annotated[
        list[str],
        option(
            "KEY=LOW:HIGH|a,b,c",
            "Range of a key, with :log for equal ratios, or values to choose from; may be "
            "repeated.",
        ),
    ],
    minimise: Annotated[str, option("M1,M2", "Measures to make small, such as wait_mean.")] = "",
    maximise: Annotated[str, option("M1,M2", "Measures to make large, such as utilisation.")] = "",
    replications: Annotated[
        int | None,
        option(
            "N", "Runs of each point; default: 5, or 1 where nothing is random.", _SEARCH, min=1
        ),
    ] = None,
    confirm: Annotated[
        int | None,
        option(
            "N",
            "Runs of each point found, with random numbers that the search has not seen; "
            "the front is reported from these. Default: as many as --replications.",
            _SEARCH,
            min=0,
        ),
    ] = None,
    noisy: Annotated[
        bool,
        typer.Option(
            "--noisy",
            help="Begin with a quarter of the replications, and add to points on the front.",
            rich_help_panel=_SEARCH,
        ),
    ] = False,
    population: Annotated[int, option("N", "Points of a generation.", _SEARCH)] = 32,
    generations: Annotated[int, option("N", "Generations.", _SEARCH)] = 25,
    reference: Annotated[
        str | None,
        option(
            "X1,X2",
            "Reference of the hypervolume, one value for each measure; default: the worst of "
            "the first generation.",
            _SEARCH,
        ),
    ] = None,
    seed: st.StudySeed = None,
    out: st.StudyFolder = None,
    workers: st.Workers = None,
    dask: st.DaskAddress = None,
    json: AsJson = False,
) -> None:
    """Search for the best trade-offs between measures: the Pareto front, with intervals.

    Runs go to DIR/runs as those of a sweep do, the front to DIR/front.json. The same command
    continues a search that was stopped; one with more generations goes on from where it ended.

    Example: sojourn optimise s.toml --vary control.k=0:3e6 --minimise wait_mean,energy_kwh
    """
    from ..run.folder import provenance
    from ..study import optimise as search
    from ..study import read_scenario

    given = {
        "scenario": str(scenario), "vary": vary, "minimise": minimise, "maximise": maximise,
        "replications": replications, "confirm": confirm, "noisy": noisy,
        "population": population, "generations": generations, "reference": reference, "seed": seed,
    }  # fmt: skip
    with st.study_progress() as report:
        front = search(
            scenario,
            vary,
            minimise,
            dask,
            maximise=maximise,
            out=out,
            seed=seed,
            population=population,
            generations=generations,
            replications=replications,
            confirm=confirm,
            noisy=noisy,
            reference=_numbers(reference),
            workers=workers,
            progress=report.update,
            origin=provenance("optimise", given),
        )
    if front.points:
        searched = read_scenario(scenario)
        remarks = st.remarks_of(searched, front.points[0].values)
        if json:
            print_json({**front.as_dict(), **remarks})
        else:
            st.show_not_acted_on(remarks)
            _show(front, st.currency_of(searched, front.keys))
            st.show_watts(remarks, [objective.measure for objective in front.objectives])
    if front.interrupted:
        st.end_interrupted(front.done, front.runs, out)


def _numbers(text: str | None) -> list[float] | None:
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(f"--reference {text}: write numbers, as 3600,1e4") from None


def _show(front: Front, currency: str) -> None:
    from ..report.text import Terminal, as_number, new_table

    console = Terminal()
    names = [objective.measure for objective in front.objectives]
    heads = (st.heading_of(name, currency=currency) for name in names)
    table = new_table(*front.keys, *heads, "on the front")
    for point in front.points:
        cells = (st.as_interval(name, point.objectives[name]) for name in names)
        table.add_row(*st.as_values(point.values), *cells, f"{100 * point.share:.0f} %")
    console.whole(table)
    volume = front.hypervolume
    assert volume is not None
    corner = ", ".join(as_number(value) for value in front.reference)
    ends = ""
    if volume.half_width >= 0:
        ends = f" (95 % interval {as_number(volume.low)} to {as_number(volume.high)})"
    note = f"mean ± half of its 95 % interval over {plural(volume.n, 'replication')}; "
    console.print(
        f"\n{note if volume.n > 1 else ''}hypervolume {as_number(volume.estimate)}{ends} "
        f"up to {corner} (what the front covers, in the product of the units; more is better)\n"
        f"{plural(front.evaluated, 'point')} in {plural(front.runs, 'run')}",
        soft_wrap=True,
    )
    unaccepted = ((point.values, point.unaccepted) for point in front.points)
    st.warn_unaccepted(unaccepted, chosen=True)
    if front.folder is not None:
        kept = front.done - front.new
        known = f", {kept:,} of them known before" if kept else ""
        console.print(f"front.json, runs{known} in {front.folder}", soft_wrap=True)
