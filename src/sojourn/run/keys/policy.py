"""The keys of a scenario about who starts when, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, WithJsonSchema

from ...errors import PolicyError
from ...policy import (
    BACKFILLS,
    ORDERS,
    PLACEMENTS,
    POLICIES,
    SLEEPS,
    Constraints,
    Policy,
    parse_placement,
    parse_policy,
    parse_sleep,
)
from . import typed
from .describing import (
    A_COUNT,
    A_POWER,
    MEMORY,
    TIME,
    TRUE,
    Key,
    Keys,
    Keyword,
    Number,
    OneOf,
    Option,
    Positive,
    Watts,
    alternatives,
    reads,
)

_NODES, _SCHEDULING = "Nodes", "Scheduling"

_Length = Annotated[float, Field(ge=0, allow_inf_nan=False), TIME]
_Gigabytes = Annotated[float, Field(ge=0, le=1e9), MEMORY]
_Order = Annotated[str, OneOf(ORDERS, "order")]
# Editors complete the names; what is made of several parts is as good.
_NAMES = {"type": "string", "enum": list(dict.fromkeys([*POLICIES, *ORDERS, "slurm"]))}
SLURM = "slurm"
"""The policy that is read from a slurm.conf, which other keys name."""


def _named_policy(text: str) -> Policy:
    """Read a policy; the file of slurm is a key of its own, with lines that can be set."""
    if text.strip().lower().startswith(f"{SLURM}:"):
        raise PolicyError(
            f"policy '{text}': write {SLURM}, and name the file with slurm.conf (--slurm-conf FILE)"
        )
    return parse_policy(text)


_Policy = Annotated[
    str, reads(_named_policy, but=SLURM), WithJsonSchema({"anyOf": [_NAMES, {"type": "string"}]})
]
_Column = Literal["user", "group", "queue", "partition"]
_ByColumn = dict[_Column, dict[Annotated[str, Field(pattern=r"^-?\d{1,18}$")], str]]

if TYPE_CHECKING:
    _Backfill = str
else:
    _Backfill = Literal[tuple(BACKFILLS)]

_A_MEMORY = "a number of GB, 0 or more, or a text such as '512 MB'"
_A_SCORE = "a name such as sjf, or FILE.py:NAME"


class ConstraintKeys(Keys):
    """What jobs ask of their nodes besides processors."""

    memory_per_core: Annotated[
        _Gigabytes | Literal["log"] | None,
        Key(
            "Memory that a job needs for each of its processors; log: as the log has it.",
            f'{_A_MEMORY}, or "log"',
            Option(_NODES, "none|log|GB", "--memory", read=typed.memory, default="none"),
        ),
    ] = None
    memory_per_node: Annotated[
        _Gigabytes | None,
        Key(
            "Memory that a job needs on each node it uses.",
            _A_MEMORY,
            Option(_NODES, "GB", kind=str, read=typed.number_or_text),
        ),
    ] = None
    whole_node: Annotated[
        bool,
        Key(
            "No two jobs share a node.", TRUE, Option(_NODES, flag="--whole-nodes/--no-whole-nodes")
        ),
    ] = False
    feature: Annotated[
        str | _ByColumn | None,
        Key(
            "Feature that the nodes of all jobs must have, or those of a queue, partition, user or "
            "group (repeatable).",
            'a word, or one for each queue such as {queue = {3 = "gpu"}}',
            Option(_NODES, "WORD|queue:3=WORD", kind=list[str], read=typed.feature),
        ),
    ] = None
    power_budget: Annotated[
        Watts | None,
        Key(
            "Watts that the processors of a job may draw at full load.",
            A_POWER,
            Option(_NODES, "W", read=typed.budget),
        ),
    ] = None


class PolicyKeys(Keys):
    """Who starts when, and where."""

    name: Annotated[
        _Policy,
        Key(
            f"{', '.join(POLICIES)}, or an order ({', '.join(ORDERS)}) with a backfill "
            f"({', '.join(BACKFILLS)}); or slurm, with {{slurm.conf}}.",
            "a name such as easy, or ORDER[+BACKFILL[:K][@ORDER]]",
            Option(
                _SCHEDULING,
                "NAME|ORDER[+BACKFILL]",
                "--policy",
                read=str.strip,
                complete="policies",
            ),
        ),
    ] = "easy"
    order: Annotated[
        _Order | None,
        Key(
            "Your own order, decorated with @sojourn.score, in place of that of {policy.name}.",
            _A_SCORE,
            Option(_SCHEDULING, "FILE.py:NAME", "--policy-file", read=typed.score_file),
        ),
    ] = None
    theta: Annotated[
        list[Number] | None, Key("Parameters of an order of one's own.", "a list of numbers")
    ] = None
    backfill: Annotated[
        _Backfill | None,
        Key("Backfilling in place of that of {policy.name}.", ", ".join(BACKFILLS)),
    ] = None
    reservations: Annotated[
        Annotated[float, Field(ge=1)] | None,
        Key("Blocked jobs that easy makes a reservation for.", f"{A_COUNT}, or inf"),
    ] = None
    backfill_order: Annotated[
        _Order | None, Key("Order in which easy looks for jobs to backfill.", _A_SCORE)
    ] = None
    placement: Annotated[
        Annotated[str, OneOf(PLACEMENTS, "placement")],
        Key(
            f"Which nodes a job gets: {alternatives(PLACEMENTS)}; or your own, decorated with "
            "@sojourn.score.",
            "a name such as fastest, or FILE.py:NAME",
            Option(_NODES, "NAME|FILE.py:NAME", read=typed.placement, complete="placements"),
            Keyword(
                what="Which nodes of a cluster of named nodes a job gets: a name, or a score over "
                "nodes.",
                read=parse_placement,
            ),
        ),
    ] = "first-fit"
    placement_theta: Annotated[
        list[Number] | None, Key("Parameters of a placement of one's own.", "a list of numbers")
    ] = None
    estimates: Annotated[
        Positive | Literal["user", "exact"],
        Key(
            "What the scheduler believes a job takes.",
            "user, exact or a factor above 0",
            Option(_SCHEDULING, "user|exact|FACTOR", read=typed.number_or_text),
            Keyword(
                what="What the scheduler believes a job takes: the user's estimate, the truth, or "
                "a factor of the truth."
            ),
        ),
    ] = "user"
    over_limit: Annotated[
        Literal["kill", "run"],
        Key(
            "What happens to a job at the user's estimate.",
            "kill or run",
            Option(_SCHEDULING, "kill|run"),
            Keyword(),
        ),
    ] = "kill"
    passes: Annotated[
        Literal["instant", "event"],
        Key(
            "One scheduling pass per instant, or per event as some simulators do.",
            "instant or event",
            Option(_SCHEDULING, "instant|event"),
            Keyword(),
        ),
    ] = "instant"
    foresight: Annotated[
        Literal["nodes", "log"],
        Key(
            "Runtime that is expected of a waiting job: on the nodes it would get, or as recorded.",
            "nodes or log",
            Option(_NODES, "nodes|log"),
            Keyword(
                what="Runtime that is expected of a waiting job: on the nodes it would get, or as "
                "recorded. Jobs outlast reservations made from the log, so conservative "
                "backfilling then makes all of them anew in each pass."
            ),
        ),
    ] = "nodes"
    node_failure: Annotated[
        Literal["kill", "requeue"] | None,
        Key(
            "What happens to the jobs of processors that go down; default: kill, or under Slurm "
            "what JobRequeue says.",
            "kill or requeue",
            Option(_SCHEDULING, "kill|requeue"),
            Keyword(),
        ),
    ] = None
    sleep: Annotated[
        Annotated[str, reads(parse_sleep)],
        Key(
            "When idle nodes go to sleep: "
            + "; ".join(f"{kind.example}: {kind.says}" for kind in SLEEPS.values())
            + ".",
            f"a text such as {', '.join(kind.example for kind in SLEEPS.values())}",
            Option(_NODES, "KIND[:TIME]", complete="sleep_policies"),
            Keyword(
                what="When idle nodes go to sleep: a text such as 'idle:600', or a function "
                "decorated with @sojourn.sleep.",
                read=parse_sleep,
            ),
        ),
    ] = "never"
    sleep_rate: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | None,
        Key(
            "Nodes per minute that may begin to go to sleep; 0: no limit; default: as the cluster "
            "says.",
            "a number, 0 or more",
            Option(_NODES, "N"),
            Keyword(),
        ),
    ] = None
    wake_rate: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | None,
        Key(
            "Nodes per minute that may begin to wake; 0: no limit; default: as the cluster says.",
            "a number, 0 or more",
            Option(_NODES, "N"),
            Keyword(),
        ),
    ] = None
    boot_failure: Annotated[
        Annotated[float, Field(ge=0, lt=1)],
        Key(
            "Probability that a node that wakes does not come up.",
            "a number from 0 to below 1",
            Option(_NODES, "P"),
            Keyword(),
        ),
    ] = 0.0
    boot_repair: Annotated[
        _Length,
        Key(
            "How long a node is away whose boot has failed.",
            "a number of seconds, 0 or more, or a text such as '1 h'",
            Option(_NODES, "TIME", kind=str, read=typed.number_or_text, default="1h"),
            Keyword(),
        ),
    ] = 3600.0
    constraints: Annotated[
        ConstraintKeys,
        Key(
            "What jobs ask of their nodes besides processors.",
            "a table",
            keyword=Keyword(default=Constraints(), read=typed.constraints),
        ),
    ] = ConstraintKeys()
