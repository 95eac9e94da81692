"""The keys of a scenario: their types, units and meanings, from which its JSON Schema is made."""

from __future__ import annotations

import math
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from ..classes import CLASSES
from ..cluster.query import parse_query
from ..cost import Clock, parse_tariff
from ..policy import BACKFILLS, ORDERS, PLACEMENTS, POLICIES, parse_policy
from ._keys import (
    A_COUNT,
    A_NUMBER,
    A_POWER,
    TRUE,
    File,
    Keys,
    Number,
    OneOf,
    Positive,
    Processors,
    Says,
    Watts,
    reads,
)
from ._units import MEMORY, TIME
from ._workload_keys import WorkloadKeys

__all__ = [
    "ASIDE",
    "ClusterKeys",
    "ConstraintKeys",
    "ControlKeys",
    "LevelKeys",
    "PolicyKeys",
    "PowerKeys",
    "RunKeys",
    "ScenarioKeys",
]


ASIDE = ("title", "question", "run")
"""Keys on which no measure depends; the seed comes with each run."""


def _known(value: float) -> float:
    """Refuse nan; a threshold of inf is one that is never passed."""
    if math.isnan(value):
        raise ValueError("nan is not a number; give one")
    return value


def _moment(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


_Share = Annotated[float, Field(ge=0, le=1)]
_Gigabytes = Annotated[float, Field(ge=0, le=1e9), MEMORY]
_Level = Annotated[float, TIME, AfterValidator(_known)]
_Levels = _Level | Annotated[list[_Level], Field(min_length=1)]
_Order = Annotated[str, OneOf(ORDERS, "order")]
# Editors complete the names; what is made of several parts is as good.
_NAMES = {"type": "string", "enum": list(dict.fromkeys([*POLICIES, *ORDERS]))}
_Policy = Annotated[
    str, reads(parse_policy), WithJsonSchema({"anyOf": [_NAMES, {"type": "string"}]})
]
_Column = Literal["user", "group", "queue", "partition"]
_ByColumn = dict[_Column, dict[Annotated[str, Field(pattern=r"^-?\d{1,18}$")], str]]

_A_LEVEL = "seconds of work or a text such as '30 h', or a list, one between two rates"
_A_MEMORY = "a number of GB, 0 or more, or a text such as '512 MB'"
_A_SCORE = "a name such as sjf, or FILE.py:NAME"
_A_SHARE = "a number from 0 to 1"


class ClusterKeys(Keys):
    """What jobs run on: processors that are counted, or named nodes."""

    procs: Annotated[
        Processors | None,
        Says("Processors of the machine; default: MaxProcs of the log", A_COUNT),
    ] = None
    nodes: Annotated[
        File | None,
        Says(
            "Named nodes in place of procs",
            "a SPECpower table or description, or counts such as '64 x X5670'",
        ),
    ] = None
    where: Annotated[
        Annotated[str, reads(parse_query)] | None,
        Says("Servers of the nodes to take", "a condition such as 'published <= 2011-12'"),
    ] = None
    processor: Annotated[
        Literal["core", "chip", "node"] | None,
        Says("What counts as a processor of a node", "core, chip or node"),
    ] = None
    keep_noncompliant: Annotated[
        bool, Says("Keep SPECpower results that SPEC found fault with", TRUE)
    ] = False


class ConstraintKeys(Keys):
    """What jobs ask of their nodes besides processors."""

    memory_per_core: Annotated[
        _Gigabytes | Literal["log"] | None,
        Says("Memory for each processor of a job", f'{_A_MEMORY}, or "log"'),
    ] = None
    memory_per_node: Annotated[
        _Gigabytes | None, Says("Memory on each node that a job uses", _A_MEMORY)
    ] = None
    whole_node: Annotated[bool, Says("No two jobs share a node", TRUE)] = False
    feature: Annotated[
        str | _ByColumn | None,
        Says(
            "Feature that the nodes of a job must have",
            'a word, or one for each queue such as {queue = {3 = "gpu"}}',
        ),
    ] = None
    power_budget: Annotated[
        Watts | None, Says("Power that the processors of a job may draw", A_POWER)
    ] = None


class PolicyKeys(Keys):
    """Who starts when, and where."""

    name: Annotated[
        _Policy,
        Says("Policy", "a name such as easy, or ORDER[+BACKFILL[:K][@ORDER]]"),
    ] = "easy"
    order: Annotated[
        _Order | None,
        Says("Order of the queue in place of that of the name", _A_SCORE),
    ] = None
    theta: Annotated[
        list[Number] | None,
        Says("Parameters of an order of one's own", "a list of numbers"),
    ] = None
    backfill: Annotated[
        Literal["none", "first-fit", "easy", "conservative", "preempt", "remaining"] | None,
        Says("Backfilling in place of that of the name", ", ".join(BACKFILLS)),
    ] = None
    reservations: Annotated[
        Annotated[float, Field(ge=1)] | None,
        Says("Blocked jobs that easy makes a reservation for", f"{A_COUNT}, or inf"),
    ] = None
    backfill_order: Annotated[
        _Order | None,
        Says("Order in which easy looks for jobs to backfill", _A_SCORE),
    ] = None
    placement: Annotated[
        Annotated[str, OneOf(PLACEMENTS, "placement")],
        Says("Which nodes a job gets", "a name such as fastest, or FILE.py:NAME"),
    ] = "first-fit"
    placement_theta: Annotated[
        list[Number] | None,
        Says("Parameters of a placement of one's own", "a list of numbers"),
    ] = None
    estimates: Annotated[
        Positive | Literal["user", "exact"],
        Says("What the scheduler believes a job takes", "user, exact or a factor above 0"),
    ] = "user"
    over_limit: Annotated[
        Literal["kill", "run"],
        Says("What happens to a job at the user's estimate", "kill or run"),
    ] = "kill"
    passes: Annotated[
        Literal["instant", "event"], Says("One scheduling pass for each", "instant or event")
    ] = "instant"
    foresight: Annotated[
        Literal["nodes", "log"],
        Says("Where the expected runtime of a waiting job is from", "nodes or log"),
    ] = "nodes"
    node_failure: Annotated[
        Literal["kill", "requeue"],
        Says("What becomes of a job whose node fails", "kill or requeue"),
    ] = "kill"
    constraints: Annotated[ConstraintKeys, Says("What jobs ask of their nodes", "a table")] = (
        ConstraintKeys()
    )


class ControlKeys(Keys):
    """How fast the servers run."""

    kind: Annotated[
        Literal["constant", "threshold", "workload", "count", "random"],
        Says("Service-rate control", "constant, threshold, workload, count or random"),
    ] = "constant"
    rate: Annotated[Positive, Says("Rate of a constant control", A_NUMBER)] = 1.0
    rates: Annotated[
        list[Positive] | None,
        Says("Rates of all other controls", "a list of numbers above 0, increasing"),
    ] = None
    k: Annotated[_Levels | None, Says("Threshold of the workload", _A_LEVEL)] = None
    low: Annotated[
        _Levels | None, Says("Slower at this workload, or this count of jobs, and below", _A_LEVEL)
    ] = None
    high: Annotated[
        _Levels | None, Says("Faster above this workload, or this count of jobs", _A_LEVEL)
    ] = None
    timer: Annotated[
        bool, Says("Look at the workload between arrivals and departures too", TRUE)
    ] = True
    p_low: Annotated[
        _Share | None, Says("Probability of slowing down at a departure", _A_SHARE)
    ] = None
    p_high: Annotated[_Share | None, Says("Probability of speeding up at an arrival", _A_SHARE)] = (
        None
    )
    reference_rate: Annotated[
        Positive, Says("Rate at which the runtimes were recorded", A_NUMBER)
    ] = 1.0


class LevelKeys(Keys):
    """Watts of a counted processor at one rate."""

    rate: Annotated[Positive, Says("Service rate", A_NUMBER)]
    busy: Annotated[Watts, Says("Power of a busy processor", A_POWER)]
    idle: Annotated[Watts, Says("Power of an idle processor", A_POWER)]


class PowerKeys(Keys):
    """What counted processors draw, and what a kWh costs."""

    busy: Annotated[
        Watts | None, Says("Power of a busy processor at any rate; default 41", A_POWER)
    ] = None
    idle: Annotated[
        Watts | None, Says("Power of an idle processor at any rate; default 18", A_POWER)
    ] = None
    levels: Annotated[
        list[LevelKeys] | None,
        Says("Powers at each rate", "a list such as [{rate = 2.66, busy = 41, idle = 18}]"),
    ] = None
    static: Annotated[
        Watts | None, Says("Power at any rate, busy or idle; default 18", A_POWER)
    ] = None
    dynamic: Annotated[
        Watts | None, Says("Further power of a busy processor at rate 1; default 23", A_POWER)
    ] = None
    exponent: Annotated[
        Number | None,
        Says("The dynamic power grows as this power of the rate; default 3", "a number"),
    ] = None
    reference: Annotated[
        Positive | None, Says("Rate at which the dynamic power holds; default 1", A_NUMBER)
    ] = None
    price: Annotated[
        Annotated[str | Number, reads(parse_tariff)] | None,
        Says("Price of a kWh", "a number, or a tariff such as '0.15, 8:0.30, 20:0.15 EUR'"),
    ] = None
    carbon: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | File | None,
        Says("Grams of CO2 per kWh", "a number, 0 or more, or a CSV file time,g_per_kwh"),
    ] = None
    starts: Annotated[
        Annotated[str, BeforeValidator(_moment), reads(lambda moment: Clock.of(None, moment))]
        | None,
        Says(
            "Second 0 of the log; default: as its header says",
            "a time such as 2011-05-01T00:00:00+09:00, as a text or as a date-time of TOML",
        ),
    ] = None


class RunKeys(Keys):
    """Chance, and what a single run writes."""

    seed: Annotated[
        Annotated[int, Field(ge=0, lt=2**63)],
        Says("The only source of randomness", "a whole number, 0 or more"),
    ] = 0
    trajectory: Annotated[bool, Says("Record and write the trajectory", TRUE)] = True
    format: Annotated[
        Literal["parquet", "csv", "swf"], Says("Format of the job table", "parquet, csv or swf")
    ] = "parquet"
    by: Annotated[
        list[Annotated[str, OneOf(CLASSES, "class of jobs", or_file=False)]] | None,
        Says("Results of each class of jobs too", "a list of names such as partition and user"),
    ] = None
    plots: Annotated[
        bool, Says("Draw overview.png, and on named nodes fragmentation.png", TRUE)
    ] = False
    decisions: Annotated[
        bool, Says("Write decisions.log: why this job, why these nodes, why not yet", TRUE)
    ] = False


class ScenarioKeys(Keys):
    """A scenario of sojourn: a workload, a cluster, and what decides."""

    title: Annotated[str | None, Says("A few words for tables and pictures", "a text")] = None
    question: Annotated[str | None, Says("What the study is to answer", "a text")] = None
    workload: Annotated[WorkloadKeys, Says("What arrives", "a table")] = WorkloadKeys()
    cluster: Annotated[ClusterKeys, Says("What jobs run on", "a table")] = ClusterKeys()
    policy: Annotated[PolicyKeys, Says("Who starts when, and where", "a table")] = PolicyKeys()
    control: Annotated[ControlKeys, Says("How fast the servers run", "a table")] = ControlKeys()
    power: Annotated[PowerKeys, Says("Watts, and what a kWh costs", "a table")] = PowerKeys()
    run: Annotated[RunKeys, Says("Chance, and what is written", "a table")] = RunKeys()
