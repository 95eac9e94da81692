"""Tables 2 and 3 and Figures 2 and 3 of [gomez2012] (PEAS)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..cluster import Cluster, Server
from ..errors import OptionError
from ..jobs import Jobs, read_swf
from ..measures import formulas
from .registry import Reproduced, Request, reproduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..run.result import Result


class Printed(NamedTuple):
    """A row of Table 2: a server as the paper prints it."""

    vendor: str
    processor: str
    chips: int
    cores_per_chip: int
    memory: float  # GB
    ops: int  # at 100 % load
    watts: int  # at 100 % load


TABLE2 = (
    Printed("ASUS", "Xeon X3360", 1, 4, 4.0, 165064, 118),
    Printed("ASUS", "Xeon L5420", 2, 4, 8.0, 270621, 170),
    Printed("ASUS", "Xeon L5430", 2, 4, 8.0, 278927, 173),
    Printed("Acer", "Xeon X3470", 1, 4, 8.0, 309401, 125),
    Printed("Acer", "Xeon E3-1260L", 1, 4, 8.0, 295443, 58),
    Printed("Acer", "Xeon X5670", 2, 6, 12.0, 898544, 267),
    Printed("Acer", "Xeon X5670", 2, 6, 12.0, 897310, 265),
    Printed("Acer", "Xeon X3470", 1, 4, 8.0, 308318, 124),
    Printed("Acer", "Xeon X5670", 2, 6, 12.0, 890144, 272),
)
"""The cluster: nine servers, 68 cores."""

LOGS = {
    "HPC2N": ("HPC2N-2002-2.1-cln", 71),
    "LLNL": ("LLNL-Thunder-2007-1.1-cln", 100),
    "RICC": ("RICC-2010-2", 100),
}
"""File of each log, and how many of its jobs count. The paper says a hundred of each; in the file
of HPC2N 29 lines of header and 71 jobs are a hundred lines, and only these give its FCFS column."""

POLICIES = ("fcfs", "conservative", "easy")

MEASURES = {"awt": "AWT (s)", "art": "ART (s)", "kwh": "energy, eq. 5 (kWh)"}

TABLE3 = {
    ("HPC2N", "fcfs"): (398258, 440243, 269.417),
    ("LLNL", "fcfs"): (468456, 480897, 214.058),
    ("RICC", "fcfs"): (222651, 244332, 34.0465),
    ("HPC2N", "conservative"): (139969, 183034, 249.363),
    ("LLNL", "conservative"): (49734, 61326, 202.647),
    ("RICC", "conservative"): (32029, 59830, 38.2591),
    ("HPC2N", "easy"): (204112, 243002, 237.208),
    ("LLNL", "easy"): (57325, 69698, 205.421),
    ("RICC", "easy"): (32029, 59830, 38.2591),
}
"""AWT, ART and kWh as printed, by log and policy."""

_JOULES_PER_KWH = 3.6e6
_ARCHIVE = "log of the Parallel Workloads Archive"

Row = dict[str, float | str]


def cluster(*, whole_watts: bool = False) -> Cluster:
    """The nine servers of Table 2 in their order, a core being a processor.

    Parameters
    ----------
    whole_watts : drop what is left over when the watts of a server are divided by its cores, as
        the paper's energies do.
    """
    servers = []
    for row in TABLE2:
        cores = row.chips * row.cores_per_chip
        watts = row.watts // cores * cores if whole_watts else row.watts
        servers.append(
            Server(
                row.processor.removeprefix("Xeon "),
                cores,
                float(row.ops),
                (0.0, float(watts)),
                chips=row.chips,
                memory=row.memory,
                idle_known=False,
            )
        )
    return Cluster.of(servers)


def log(request: Request, name: str) -> Jobs:
    """The jobs of one of the three logs that count in Table 3."""
    stem, count = LOGS[name]
    return read_swf(_find(request, stem), width="requested")[:count]


def _find(request: Request, stem: str) -> Path:
    """The log or its first hundred jobs, packed or not."""
    for ending in (".first100.swf", ".swf"):
        try:
            return request.file(f"swf/{stem}{ending}", _ARCHIVE)
        except OptionError:
            continue
    return request.file(f"swf/{stem}.swf.gz", _ARCHIVE)


def _measured(result: Result) -> tuple[float, float, float]:
    """AWT (3), ART (4) and the energy (5) of all accepted jobs, in kWh."""
    accepted = result.jobs[result.jobs["start"].notna()]
    wait, sojourn, joules = (
        accepted[name].to_numpy(dtype=np.float64) for name in ("wait", "sojourn", "peas_energy")
    )
    return (
        formulas.average_wait(wait),
        formulas.average_response(sojourn),
        float(joules.sum()) / _JOULES_PER_KWH,
    )


@reproduction("gomez2012-table2", "The cluster: nine servers and the average processor")
def table2(request: Request) -> Reproduced:
    """What (1) makes of the servers: how much longer than recorded a job runs on each."""
    machine = cluster()
    columns = machine.columns
    rows: list[Row] = [
        {
            "processor": row.processor,
            "cores": int(columns.procs[i]),
            "ops_per_core": float(columns.ops[i]),
            "watts_per_core": float(columns.watts[i]),
            "slowness": float(columns.slowness[i]),
        }
        for i, row in enumerate(TABLE2)
    ]
    says = (
        f"{machine.procs} cores; the average one (1) does {machine.average_ops:.2f} ops per second"
    )
    return Reproduced(rows, says)


@reproduction(
    "gomez2012-table3",
    "AWT, ART and energy of three logs under three policies",
    printed="watts of a core in whole numbers, as the paper's energies have them",
)
def table3(request: Request) -> Reproduced:
    """Exact estimates, first fit in the order of Table 2; wider jobs are not accepted.

    Waiting jobs are planned with their recorded runtimes. Of the two kinds of foresight it is the
    one that comes nearer to the print on LLNL; the paper does not say what its scheduler expects.
    """
    from ..run.simulate import simulate

    machine = cluster(whole_watts=request.printed)
    rows: list[Row] = []
    for policy in POLICIES:
        for name in LOGS:
            result = simulate(
                log(request, name),
                machine,
                policy,
                placement="first-fit",
                estimates="exact",
                foresight="log",
                over_limit="run",
                clean=(),
            )
            figures = zip(MEASURES, _measured(result), TABLE3[name, policy], strict=True)
            rows += [
                {
                    "log": name,
                    "policy": policy,
                    "measure": measure,
                    "ours": ours,
                    "paper": float(paper),
                    "rel": ours / paper - 1,
                }
                for measure, ours, paper in figures
            ]
    return Reproduced(rows, _says(rows), partial(draw_table3, rows), table=_table(rows), bare=True)


def _says(rows: list[Row]) -> str:
    """The largest difference of each policy."""
    worst = {
        policy: max(abs(float(row["rel"])) for row in rows if row["policy"] == policy)
        for policy in POLICIES
    }
    differences = ", ".join(f"{policy} {value:.1%}" for policy, value in worst.items())
    return (
        "waiting jobs planned with recorded runtimes; "
        f"largest difference from the paper: {differences}; see docs/background/peas"
    )


def _table(rows: list[Row]) -> str:
    """Ours, the paper's and the difference: one line per measure, three columns per policy."""
    cells = {(row["policy"], row["log"], row["measure"]): row for row in rows}
    columns = [(policy, name) for policy in POLICIES for name in LOGS]
    lines = [
        " " * 14 + "".join(f"{policy:^39}" for policy in POLICIES).rstrip(),
        " " * 14 + "".join(f"{name:>13}" for _, name in columns),
    ]
    for measure in MEASURES:
        digits = 3 if measure == "kwh" else 0
        for what, form in (
            ("ours", f">13,.{digits}f"),
            ("paper", f">13,.{digits}f"),
            ("rel", ">+13.2%"),
        ):
            label = measure.upper() if what == "ours" else ""
            values = (cells[policy, name, measure][what] for policy, name in columns)
            lines.append(f"{label:<6}{what:<8}" + "".join(format(value, form) for value in values))
    return "\n".join(lines)


def draw_table3(rows: list[Row]) -> Figure:
    """Figures 2 and 3: bars of ours, and the paper's beside them."""
    from ..report.figures.style import new_figure, polish, styled

    @styled
    def draw() -> Figure:
        figure = new_figure(11.0, 3.6)
        panels = figure.subplots(1, len(MEASURES))
        for ax, (measure, label) in zip(panels, MEASURES.items(), strict=True):
            _draw_bars(polish(ax), [row for row in rows if row["measure"] == measure], label)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        return figure

    return draw()


def _paler(color: str, part: float) -> tuple[float, ...]:
    """Mix with white; a transparent bar would show the grid."""
    from matplotlib.colors import to_rgb

    return tuple(1 - part * (1 - value) for value in to_rgb(color))


def _draw_bars(ax: Axes, rows: list[Row], label: str) -> None:
    from ..report.figures.style import PALETTE, number_tick, title

    width = 0.13
    for p, policy in enumerate(POLICIES):
        mine = {row["log"]: row for row in rows if row["policy"] == policy}
        for s, (what, part) in enumerate((("ours", 1.0), ("paper", 0.4))):
            place = np.arange(len(LOGS)) + (2 * p + s - 2.5) * width
            height = [float(mine[name][what]) for name in LOGS]
            legend = f"{policy}, {what}"
            ax.bar(place, height, width, color=_paler(PALETTE[p], part), label=legend)
    ax.set_xticks(np.arange(len(LOGS)), list(LOGS))
    ax.yaxis.set_major_formatter(number_tick)
    title(ax, label)
