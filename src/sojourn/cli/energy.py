"""``sojourn energy``: where the energy of a recorded run, or of a log, goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError, plural
from ._options import CLEANING, READING, AsJson, Chosen, option, takes
from ._results import as_file, hand_over, picture, print_json
from ._run import progress, say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..study.sleeping import SleepPoint, SleepSavings

_DRAWS = 10
_SLEEP = "What sleeping saves"
_IN_PYTHON = {
    "by = ": "--block ",
    "replications ": "--replications ",
    "seed = ": "--seed ",
    "sleep 'idle:0:": "--depth '",
    "sleep 'idle:0': ": "--cluster: ",
}
"""How messages of `sleep_savings` begin, and how those of the command."""


@takes(
    *("log", "cluster", "policy", "policy_file", "placement", "estimates", "over_limit"),
    *("boot_failure", "boot_repair", "price", "carbon", "starts", READING, CLEANING),
    log=typer.Argument(
        metavar="LOG|FOLDER",
        help="A log; or the folder of a recorded run, with Batsim's out_jobs.csv, "
        "out_pstate_changes.csv, out_schedule.csv, or with another prefix.",
    ),
    cluster=option(
        "FILE", "The nodes, with their watts and sleep states; of a recorded run its platform.xml."
    ),
)
def energy(
    chosen: Chosen,
    *,
    load: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Of a recorded run: load of every job on its nodes; default: what the recorded "
            "energy of each says.",
        ),
    ] = None,
    idle_times: Annotated[
        str | None,
        option(
            "TIME,...",
            "Idle times after which nodes go to sleep, such as 60,10m,2h. Default: ten, from 0 to "
            "4h.",
            _SLEEP,
        ),
    ] = None,
    depth: Annotated[
        str | None,
        option("NAME", "Sleep state of the nodes; default: the first of each.", _SLEEP),
    ] = None,
    replications: Annotated[
        int | None,
        option(
            "N",
            f"Logs drawn from blocks of this one, for the intervals; 2 or more. Default: {_DRAWS}.",
            _SLEEP,
        ),
    ] = None,
    block: Annotated[
        str | None,
        option(
            "BLOCK",
            "What is drawn: user, day, week or jobs. Default: what suits the log.",
            _SLEEP,
        ),
    ] = None,
    seed: Annotated[int | None, option("N", "Of the draws; default: 0.", _SLEEP)] = None,
    out: Annotated[
        Path | None, option("DIR", "Folder for energy.png, energy.json and energy.csv.", "Results")
    ] = None,
    json: AsJson = False,
) -> None:
    """Show where the energy goes, of a recorded run or of a log, and what sleeping would save.

    Of a log: busy and idle energy by kind of nodes, from which idle time on sleep pays, and what
    it saves and costs in waits at ten idle times, with 95 % intervals. Of a recorded run: jobs and
    changes of states are replayed at the watts of the platform, and compared with the record.

    Example: sojourn energy log.swf.gz --cluster nodes.toml --policy easy --out DIR
    """
    options = chosen.options
    if options.get("cluster") is None:
        raise OptionError("--cluster: is missing; give the file of the nodes and their watts")
    of_log = {
        "--idle-times": idle_times,
        "--depth": depth,
        "--replications": replications,
        "--block": block,
        "--seed": seed,
        "--out": out,
    }
    if Path(options["log"]).is_dir():
        given = next((flag for flag, value in of_log.items() if value is not None), None)
        if given is not None:
            raise OptionError(f"{given}: {options['log']} is a recorded run; it is for logs")
        _recorded(options, load, json)
        return
    if load is not None:
        raise OptionError(f"--load: {options['log']} is a log; it is for recorded runs")
    if str(options.get("policy")).partition(":")[0] == "slurm":
        raise OptionError(
            "--policy slurm: its nodes sleep as slurm.conf says; use sojourn compare with --policy "
            "slurm, --slurm-conf and --set slurm.SuspendTime=300,600,INFINITE"
        )
    from ..run.folder import check_folder, write_rows
    from ..study.sleeping import IDLE_TIMES, sleep_savings

    times = IDLE_TIMES if idle_times is None else _times(idle_times)
    if out is not None:
        check_folder(out)
    scenario = chosen.scenario
    scenario.check_parts()
    jobs = scenario.read_jobs(say)
    run_options = scenario.options(jobs)
    run_options.pop("sleep", None)
    with progress("letting nodes sleep", "runs") as step:
        try:
            savings = sleep_savings(
                jobs,
                scenario.cluster_for(jobs),
                scenario.policy,
                idle_times=times,
                depth=depth or "",
                draws=_DRAWS if replications is None else replications,
                block=block,
                draw_seed=seed or 0,
                progress=step,
                **run_options,
            )
        except OptionError as error:
            raise OptionError(_as_typed(str(error))) from None
    numbers = {"log": str(options["log"]), **savings.as_dict()}
    files = {
        "energy.png": picture(lambda: _drawn(savings)),
        "energy.json": as_file(numbers),
        "energy.csv": lambda path: write_rows(path, savings.rows()),
    }
    currency = scenario.currency
    hand_over(
        numbers,
        lambda: _show_savings(savings, numbers["log"], currency),
        files,
        json=json,
        out=out,
    )


def _as_typed(problem: str) -> str:
    """Return what is wrong with an argument of `sleep_savings` as the option says it."""
    for ours, theirs in _IN_PYTHON.items():
        if problem.startswith(ours):
            return theirs + problem.removeprefix(ours)
    return problem


def _times(text: str) -> list[float]:
    """Idle times (s) of a text such as ``60,10m,2h``, without those that are named twice."""
    from ..policy.sleep import after_idle

    times = []
    for part in text.split(","):
        try:
            times.append(after_idle(part.strip()).idle_time)
        except OptionError as error:
            raise OptionError(f"--idle-times: {str(error).removeprefix('sleep: ')}") from None
    return sorted(set(times))


def _drawn(savings: SleepSavings) -> Figure:
    from ..report import sleep_curve

    return sleep_curve(**savings.curve())


def _show_savings(savings: SleepSavings, log: str, currency: str) -> None:
    from ..report.text import Terminal, as_number, as_seconds, new_table

    console = Terminal()
    console.facts(
        [
            ("log", f"{log}: {plural(savings.jobs, 'job')}"),
            ("machine", f"{plural(savings.nodes, 'node')}, {savings.policy}"),
            ("no sleep", f"{as_number(savings.kwh)} kWh, mean wait {as_seconds(savings.wait)}"),
            *_in_short(savings),
        ]
    )
    console.print(
        "\nWhere the energy goes if no node sleeps; break-even: from which idle time on sleep saves"
    )
    depths = list(dict.fromkeys(name for kind in savings.kinds for name in kind.break_even))
    table = new_table(
        *("kind", "nodes", "busy\nkWh", "idle\nkWh", "idle, of\nall energy", "idle\nW"),
        *(f"{name}: break-even\nidle time s" for name in depths),
    )
    for kind in savings.kinds:
        table.add_row(
            kind.model,
            f"{kind.nodes:,}",
            as_number(kind.busy_kwh),
            as_number(kind.idle_kwh),
            f"{100 * kind.idle_kwh / savings.kwh:.1f} %" if savings.kwh else "-",
            as_number(kind.idle_watts),
            *(_break_even(kind.break_even, name) for name in depths),
        )
    console.print(table)
    console.print(
        f"\nSleeping after an idle time; savings and longer waits are means over {savings.draws} "
        f"replications\n(logs drawn by {savings.block}), with 95 % intervals of paired differences"
    )
    bills = [name for name in ("cost", "carbon") if getattr(savings.points[0], name) is not None]
    titles = {"cost": f"{f'cost {currency}'.rstrip()}\nsaved", "carbon": "CO2 kg\nsaved"}
    table = new_table(
        *("idle\ntime", "kWh", "mean\nwait s", "boots"),
        *(titles[name] for name in bills),
        *("energy\nsaved", "95 %\ninterval", "longer\nwait s", "95 %\ninterval", ""),
    )
    for place, point in enumerate(savings.points):
        saved, added = point.saved, point.added
        table.add_row(
            _length(point.idle_time),
            as_number(point.energy.b),
            as_number(point.wait.b),
            f"{point.boots:,}",
            *(as_number(-getattr(point, name).difference.estimate) for name in bills),
            f"{100 * saved.estimate:.1f} %",
            f"{100 * saved.low:.1f} to {100 * saved.high:.1f}",
            f"{added.estimate:+,.1f}",
            f"{added.low:+,.0f} to {added.high:+,.0f}",
            "knee" if place == savings.knee else "",
        )
    console.print(table)
    console.note(
        "kWh, mean wait and boots: on the log itself, whose waits depend on chance\n"
        "knee: the idle time farthest above the line from never to the largest saving, both axes\n"
        "scaled to 1; a shorter one saves more, but each kWh costs more waiting than before"
    )


def _in_short(savings: SleepSavings) -> list[tuple[str, str]]:
    """Return what sleeping saves and costs in a sentence each: at the knee, and at most."""
    most = max(savings.points, key=lambda point: point.saved.estimate)
    if most.saved.low <= 0:
        return [("at most", "no idle time saves energy for sure")]
    rows = [("at most", _in_words(most))]
    if savings.knee is not None and savings.points[savings.knee] is not most:
        rows.insert(0, ("knee", _in_words(savings.points[savings.knee])))
    return rows


def _in_words(point: SleepPoint) -> str:
    saved, added = point.saved, point.added
    waits = f"{added.estimate:+,.0f} s of mean wait ({added.low:+,.0f} to {added.high:+,.0f})"
    if added.low <= 0 <= added.high:
        waits = f"no sure change of the mean wait ({added.low:+,.0f} to {added.high:+,.0f} s)"
    return (
        f"sleep after {_length(point.idle_time)}: {100 * saved.estimate:.1f} % of the energy saved "
        f"({100 * saved.low:.1f} to {100 * saved.high:.1f}), {waits}"
    )


def _break_even(known: dict[str, float], name: str) -> str:
    from math import isfinite

    from ..report.text import as_number

    if name not in known:
        return "-"
    return as_number(known[name]) if isfinite(known[name]) else "never"


def _length(seconds: float) -> str:
    """An idle time as people type it: ``10m``, ``2h``."""
    for size, unit in ((3600.0, "h"), (60.0, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def _recorded(options: Any, load: float | None, json: bool) -> None:
    """Replay a recorded run of Batsim."""
    from ..adequacy import read_batsim_energy
    from ..measures.cost import Clock, parse_carbon, parse_price
    from ..measures.energy import KINDS

    run, cluster = Path(options["log"]), Path(options["cluster"])
    price, carbon = options["price"], options["carbon"]
    clock = Clock.of(start=options["starts"])
    tariff = None if price is None else parse_price(price, clock)
    intensity = None if carbon is None else parse_carbon(carbon, clock)
    replayed = read_batsim_energy(run, cluster, load=load)
    ledger = replayed.ledger
    costs = None if tariff is None else ledger.cost(tariff, clock).tolist()
    grams = None if intensity is None else ledger.emissions(intensity).tolist()
    states = [
        {
            "state": kind,
            "node_seconds": float(ledger.seconds[:, at].sum()),
            "joules": float(ledger.joules[:, at].sum()),
            **({} if costs is None else {"cost": costs[at]}),
            **({} if grams is None else {"carbon_kg": grams[at] / 1000}),
        }
        for at, kind in enumerate(KINDS)
    ]
    recorded = replayed.recorded.get("consumed_joules")
    times = {
        name: {"seconds": seconds, "recorded_seconds": replayed.recorded[name]}
        for name, seconds in replayed.times().items()
        if name in replayed.recorded
    }
    facts = {
        "run": str(run),
        "nodes": len(ledger.joules),
        "joules": ledger.energy,
        "recorded_joules": recorded,
        "difference": None if not recorded else ledger.energy / recorded - 1,
        "currency": "" if tariff is None else tariff.currency,
        "states": states,
        "times": times,
        "assumed_loads": replayed.assumed,
    }
    if json:
        print_json(facts)
        return
    _show(facts)


def _show(facts: dict[str, Any]) -> None:
    from ..report.text import Terminal, as_number, new_table

    console = Terminal()
    rows = [
        ("run", f"{facts['run']}: {plural(facts['nodes'], 'node')}"),
        ("energy", f"{as_number(facts['joules'] / 3.6e6)} kWh ({facts['joules']:,.0f} J)"),
    ]
    if facts["difference"] is not None:
        rows.append(("recorded", f"{facts['recorded_joules']:,.0f} J: {_apart(facts)}"))
    if facts["assumed_loads"]:
        count = facts["assumed_loads"]
        jobs = "1 job loads its" if count == 1 else f"{count:,} jobs load their"
        rows.append(("assumed", f"{jobs} nodes fully, for want of a recorded energy; see --load"))
    console.facts(rows)
    used = [row for row in facts["states"] if row["node_seconds"]]
    names = {"cost": f"cost\n{facts['currency']}", "carbon_kg": "CO2\nkg"}
    more = [name for name in names if used and name in used[0]]
    table = new_table(
        *("state", "node\nhours", "of all\ntime", "kWh", "of all\nenergy"),
        *(names[name] for name in more),
    )
    time = sum(row["node_seconds"] for row in used)
    for row in used:
        share = row["joules"] / facts["joules"] if facts["joules"] else 0.0
        table.add_row(
            row["state"],
            as_number(row["node_seconds"] / 3600),
            f"{100 * row['node_seconds'] / time:.1f} %",
            as_number(row["joules"] / 3.6e6),
            f"{100 * share:.1f} %",
            *(as_number(row[name]) for name in more),
        )
    console.below(table)
    if facts["times"]:
        console.print(
            "\nTimes of all nodes as Batsim counts them: up to the last change of each node"
        )
        table = new_table("time", "replayed\ns", "recorded\ns")
        for name, time in facts["times"].items():
            table.add_row(
                name.removeprefix("time_").replace("_", " "),
                f"{time['seconds']:,.3f}",
                f"{time['recorded_seconds']:,.3f}",
            )
        console.print(table)


def _apart(facts: dict[str, Any]) -> str:
    """How far replayed energy is from what is recorded, in words."""
    share = facts["difference"]
    if abs(share) < 1e-9:
        return "the same, to a part in a billion"
    size = f"{100 * abs(share):.2g} %" if abs(share) >= 1e-6 else f"{abs(share):.1e} of it"
    return f"replayed is {size} {'more' if share > 0 else 'less'}"
