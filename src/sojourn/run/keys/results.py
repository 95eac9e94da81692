"""The keys of a scenario about chance, and what becomes of its results."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..classes import CLASSES
from . import typed
from .describing import TRUE, Key, Keys, Keyword, OneOf, Option

_RESULTS, _SCHEDULING = "Results", "Scheduling"


class RunKeys(Keys):
    """Chance, and what a single run writes."""

    seed: Annotated[
        Annotated[int, Field(ge=0, lt=2**63)],
        Key(
            "Seed of a random rate control or placement.",
            "a whole number, 0 or more",
            Option(_SCHEDULING, "S"),
            Keyword(),
        ),
    ] = 0
    check_policy: Annotated[
        bool,
        Key(
            "Try out an order or placement of your own before the run, and check its indices in "
            "it.",
            TRUE,
            Option(_SCHEDULING, flag="--check-policy/--no-check-policy"),
            Keyword(read=bool),
        ),
    ] = True
    format: Annotated[
        Literal["parquet", "csv", "swf"],
        Key(
            "Format of the job table; swf is the log with the simulated waits in it.",
            "parquet, csv or swf",
            Option(_RESULTS, "parquet|csv|swf"),
        ),
    ] = "parquet"
    trajectory: Annotated[
        bool,
        Key(
            "Record and write the trajectory.",
            TRUE,
            Option(_RESULTS, flag="--trajectory/--no-trajectory"),
            Keyword("record", False, "Keep the trajectory.", bool),
        ),
    ] = True
    by: Annotated[
        list[Annotated[str, OneOf(CLASSES, "class of jobs", or_file=False)]] | None,
        Key(
            "Results of each class of jobs too: by user, group, account, partition, queue, qos, "
            "width or status.",
            "a list of names such as partition and user",
            Option(_RESULTS, "CLASS,...", read=typed.classes, complete="run_class_lists"),
        ),
    ] = None
    plots: Annotated[
        bool,
        Key(
            "Draw overview.png too, with {cluster.nodes} fragmentation.png, with {policy.sleep} "
            "node-states.png, with {power.cap} power.png, and with {defer.kind} clean-hours.png.",
            TRUE,
            Option(_RESULTS),
        ),
    ] = False
    decisions: Annotated[
        bool,
        Key(
            "Write decisions.log too: why this job, why these nodes, why not yet.",
            TRUE,
            Option(_RESULTS, flag="--debug"),
            Keyword(what="Keep every decision of the scheduler, and its reason.", read=bool),
        ),
    ] = False
