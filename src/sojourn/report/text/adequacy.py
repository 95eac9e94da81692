"""How far a model is from what it models: verdict, P, waits, classes, the first divergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import plural
from .layout import Terminal, as_number, as_seconds, new_table

if TYPE_CHECKING:
    from ...adequacy import Adequacy, Reference, Verdict

P_IN_WORDS = "the root mean square difference of times in the system"
_CLASSES_SHOWN = 12
_WORST_SHOWN = 5
_VERDICTS = {
    True: ("adequate", "bold green"),
    False: ("not adequate", "bold red"),
    None: ("no verdict", "bold"),
}


def show_adequacy(
    measured: Adequacy, ideal: Reference | None, verdict: Verdict, numbers: dict[str, Any]
) -> None:
    """Print how far a model is from the real system.

    Parameters
    ----------
    measured : the two streams, compared.
    ideal : of repetitions of the real system.
    verdict : whether the model is adequate, and why.
    numbers : as ``adequacy.json`` has them.
    """
    console = Terminal()
    word, style = _VERDICTS[verdict.adequate]
    console.print(f"{word}: {verdict.because}", style=style, soft_wrap=True)
    console.print()
    console.facts([*_facts(measured, ideal, numbers["mean_residence"]), *_conditions(measured)])
    console.print()
    show_waits(console, numbers["waits"], measured.n)
    table = new_table("the first so many jobs", "P (s)", "different jobs")
    for prefix in measured.prefixes:
        table.add_row(f"{prefix.n:,}", as_number(prefix.P), f"{prefix.different:,}")
    console.below(table)
    if measured.classes:
        _show_classes(console, measured)
    if numbers["worst"]:
        _show_worst(console, numbers["worst"][:_WORST_SHOWN], measured.pair.resource)
    if measured.divergence is not None:
        console.print()
        _show_divergence(console, measured)


def _facts(
    measured: Adequacy, ideal: Reference | None, mean_residence: float
) -> list[tuple[str, str]]:
    """P with its interval, and what it is worth."""
    low, high = measured.interval
    share = 100 * measured.different / measured.n
    rows = [
        ("P", f"{as_seconds(measured.P)}, {P_IN_WORDS}; 95 % interval {as_number(low)} to "
         f"{as_number(high)} s"),
        ("relative", f"{100 * measured.relative:.3g} % of the mean time in the system"
         f" {as_seconds(mean_residence)}"),
        ("median", f"{as_seconds(measured.median_abs)}, of the absolute differences of times in "
         "the system"),
        ("different", f"{measured.different:,} of {plural(measured.n, 'job')} ({share:.1f} %) "
         f"would wait another time; {measured.half:,} of them make half of P squared")
    ]  # fmt: skip
    if ideal is not None:
        values = ", ".join(f"{value:.4g}" for _, _, value in ideal.pairs)
        rows.append(("P_ideal", f"{as_seconds(ideal.ideal)}, P between the real system and its own "
                     f"repetitions (of pairs: {values} s)"))  # fmt: skip
    return rows


def _conditions(measured: Adequacy) -> list[tuple[str, str]]:
    """How jobs and clocks of both streams were set to each other, and who was left out."""
    pair = measured.pair
    rows = []
    if pair.matched == "order":
        rows.append(("matched", "in the order of submission: the jobs' names differ"))
    if pair.shift:
        rows.append(("clocks", "count from different zeros: set to each other"))
    if pair.unstarted.size:
        rows.append(
            ("left out", f"{plural(pair.unstarted.size, 'job')} that never started or ended")
        )
    if pair.alone.size:
        rows.append(("left out", f"{plural(pair.alone.size, 'job')} of one stream only"))
    return rows


def show_waits(console: Terminal, waits: dict[str, Any], jobs: int) -> None:
    """Print real and modelled waits side by side."""
    names = ("mean", "median", "95 %")
    table = new_table(
        f"waits of the same {plural(jobs, 'job')}", *(f"{name} (s)" for name in names)
    )
    for label, key in (("real: they waited", "real"), ("model: they would wait", "model")):
        table.add_row(label, *(as_number(waits[key][name]) for name in ("mean", "median", "p95")))
    console.print(table)


def _show_classes(console: Terminal, measured: Adequacy) -> None:
    table = new_table("class", "", "jobs", "P (s)", "different", "mean time in system (s)")
    for row in measured.classes[:_CLASSES_SHOWN]:
        table.add_row(
            row.by,
            row.name,
            f"{row.n:,}",
            as_number(row.P),
            f"{row.different:,}",
            as_number(row.residence),
        )
    console.below(table)
    left = len(measured.classes) - _CLASSES_SHOWN
    if left > 0:
        console.note(f"and {left:,} more classes (--json)")


def _show_worst(console: Terminal, jobs: Sequence[dict[str, Any]], resource: str) -> None:
    table = new_table(
        *("jobs that differ most", resource, "wait, real (s)", "wait, model (s)"),
        *("difference (s)", "of P squared"),
    )
    for job in jobs:
        table.add_row(
            job["job"],
            f"{job[resource]:,}",
            as_number(job["wait_real"]),
            as_number(job["wait_model"]),
            _signed(job["difference"]),
            f"{100 * job['share']:.1f} %",
        )
    console.below(table)


def _show_divergence(console: Terminal, measured: Adequacy) -> None:
    """Print the state of both systems at the first start that differs."""
    divergence = measured.divergence
    assert divergence is not None
    is_other = divergence.kind == "order"
    what = "other job" if is_other else "same job, other time"
    console.print(f"first divergence: start number {divergence.decision:,}, {what}", style="bold")
    table = new_table("", "real", "model")
    sides = (divergence.real, divergence.model)
    resource = measured.pair.resource
    table.add_row("time (s)", *(as_number(side.time, 12) for side in sides))
    table.add_row("starts job", *(f"{side.job} ({side.width:,} {resource})" for side in sides))
    if is_other:
        table.add_row("other's job at", *(as_number(side.other_start, 12) for side in sides))
    table.add_row("starts together", *(_few(side.started) for side in sides))
    free = (f"{side.free:,} of {divergence.capacity:,}" for side in sides)
    table.add_row(f"free {resource}", *free)
    table.add_row("running", *(f"{plural(side.running, 'job')}" for side in sides))
    table.add_row("waiting", *(f"{plural(side.queued, 'job')}" for side in sides))
    queues = ([f"{job}({width})" for job, width in side.queue] for side in sides)
    table.add_row("queue", *map(_few, queues))
    console.print(table)


def _few(names: Sequence[str], most: int = 4) -> str:
    shown = " ".join(names[:most])
    return f"{shown} ..." if len(names) > most else shown


def _signed(value: float) -> str:
    return f"+{as_number(value)}" if value > 0 else as_number(value)
