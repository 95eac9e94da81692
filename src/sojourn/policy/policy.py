"""A scheduling policy: an order of the queue, and what may start out of order."""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from functools import cached_property

from .._html import html_table
from ..engine.backfills import BACKFILLS, Backfill, load_backfill
from ..errors import PolicyError
from .orders import ORDERS
from .score import Score

__all__ = ["BACKFILLS", "POLICIES", "Policy", "parse_policy"]

POLICIES = {
    "easy": "fcfs+easy",
    "easy-sjbf": "fcfs+easy@sjf",
    "conservative": "fcfs+conservative",
    "first-fit": "fcfs+first-fit",
    "lcfs-pr": "lcfs+preempt",
    "spf": "sjf+remaining",
    "lpf": "ljf+remaining",
}
"""Names of well-known combinations."""


@dataclass(frozen=True)
class Policy:
    """An order of the queue and a backfilling rule.

    Parameters
    ----------
    order : a named order or a `Score`.
    backfill : one of `BACKFILLS`, the files of `engine.backfills`.
    reservations : for ``easy``: how many blocked jobs have a reservation (math.inf for all,
        made anew in each pass).
    backfill_order : for ``easy``: the order in which backfilling looks at the queue, if not
        `order` (SJBF is ``sjf``).

    Examples
    --------
    >>> str(Policy("sjf", "easy", reservations=2))
    'sjf+easy:2'
    """

    order: str | Score = "fcfs"
    backfill: str = "none"
    reservations: float = 1
    backfill_order: str | Score | None = None

    def __post_init__(self) -> None:
        _as_score(self.order)
        if self.backfill_order is not None:
            _as_score(self.backfill_order)
        if self.backfill not in BACKFILLS:
            raise PolicyError(
                _unknown("backfill", str(self.backfill), BACKFILLS), key="policy.backfill"
            )
        if not isinstance(self.reservations, int | float):
            raise PolicyError(
                f"policy: reservations {self.reservations!r}: give a number, or inf",
                key="policy.reservations",
            )
        if not self.reservations >= 1 or (
            math.isfinite(self.reservations) and self.reservations != int(self.reservations)
        ):
            raise PolicyError(
                f"policy: {self.reservations} reservations; give a whole number of at least 1, "
                "or inf",
                key="policy.reservations",
            )
        rule = load_backfill(self.backfill)
        if self.reservations != 1 and rule.several is None:
            able = [name for name in BACKFILLS if load_backfill(name).several]
            raise PolicyError(
                f"policy: only {' and '.join(able)} takes reservations, not '{self.backfill}'",
                key="policy.reservations",
            )
        if self.backfill_order is not None and not rule.own_order:
            able = [name for name in BACKFILLS if load_backfill(name).own_order]
            raise PolicyError(
                f"policy: '{self.backfill}' has no backfill order; only {' and '.join(able)} has "
                "one",
                key="policy.backfill_order",
            )
        if rule.fixed_order and self.score.depends_on_time:
            raise PolicyError(
                f"policy: {self.backfill} needs an order that is fixed in time; "
                f"'{self.score.name}' reads now, or calls what may",
                key="policy.backfill",
            )
        if rule.orders and self.score.name not in rule.orders:
            usable = " or ".join(_short(f"{order}+{self.backfill}") for order in rule.orders)
            raise PolicyError(
                f"policy: {self.backfill} goes by an order of its own: use {usable}",
                key="policy.backfill",
            )

    @cached_property
    def score(self) -> Score:
        """The order as a score."""
        return _as_score(self.order)

    @cached_property
    def backfill_score(self) -> Score | None:
        """The backfill order as a score, if it is one of its own."""
        return None if self.backfill_order is None else _as_score(self.backfill_order)

    @property
    def preemptive(self) -> bool:
        """Whether running jobs may be stopped."""
        return self.rule.preempts

    @property
    def rule(self) -> Backfill:
        """What the engine knows of the backfilling rule, with so many reservations."""
        rule = load_backfill(self.backfill)
        return rule if self.reservations == 1 else rule.several or rule

    def _repr_html_(self) -> str:
        rows = [("order", self.score.name), ("backfilling", BACKFILLS[self.backfill])]
        if load_backfill(self.backfill).several is not None:
            rows.append(("reservations", f"{self.reservations:g}"))
        if self.backfill_score is not None:
            rows.append(("backfill order", self.backfill_score.name))
        return html_table(f"policy {self}", (), rows)

    def __str__(self) -> str:
        text = self.score.name
        if self.backfill != "none":
            text += f"+{self.backfill}"
        if self.reservations != 1:
            text += f":{'inf' if math.isinf(self.reservations) else int(self.reservations)}"
        if self.backfill_score is not None:
            text += f"@{self.backfill_score.name}"
        return _short(text)


def _short(text: str) -> str:
    """The name that a combination has, if it has one."""
    return next((short for short, long in POLICIES.items() if long == text), text)


def _as_score(order: str | Score) -> Score:
    if isinstance(order, Score):
        return order
    if not isinstance(order, str):
        raise PolicyError(
            f"policy: an order is a name or a function decorated with @sojourn.score, not {order!r}"
        )
    if order not in ORDERS:
        raise PolicyError(_unknown("order", order, ORDERS))
    return ORDERS[order]


def _unknown(kind: str, name: str, known: object) -> str:
    names = list(known)  # type: ignore[call-overload]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"choose from {', '.join(names)}"
    return f"unknown {kind} '{name}': {hint}"


_FORM = re.compile(
    r"(?P<order>[\w-]+?)(\+(?P<backfill>[a-z-]+)(:(?P<k>\d+|inf))?(@(?P<by>[\w-]+))?)?"
)


def parse_policy(text: str | Policy | Score) -> Policy:
    """Make a policy from a name, ``ORDER[+BACKFILL[:K][@ORDER]]`` or ``slurm:FILE``.

    Examples
    --------
    >>> str(parse_policy("sjf+easy")), parse_policy("easy:4@sjf").reservations
    ('sjf+easy', 4.0)
    """
    if isinstance(text, Policy):
        return text
    if isinstance(text, Score):
        return Policy(order=text)
    if not isinstance(text, str):
        raise PolicyError(
            "policy: give a name, a sojourn.Policy, or a function of (jobs, j, now, theta) "
            f"decorated with @sojourn.score, not {text!r}"
        )
    if re.match(r"slurm(:|$)", text.strip().lower()):
        return _slurm(text.strip().partition(":")[2].strip())
    # An alias may be followed by its number of reservations or backfill order: easy:4@sjf.
    name, rest = re.match(r"([^:@]*)(.*)", text.strip().lower(), re.DOTALL).groups()  # type: ignore[union-attr]
    match = _FORM.fullmatch(POLICIES.get(name, name) + rest)
    if match is None:
        raise PolicyError(
            f"policy '{text}' cannot be read; write ORDER[+BACKFILL[:K][@ORDER]], such as "
            "sjf+easy, fcfs+easy:4 or fcfs+easy@sjf"
        )
    if match["order"] not in ORDERS and match["backfill"] is None:
        known = [*POLICIES, *ORDERS]
        raise PolicyError(_unknown("policy", match["order"], known))
    return Policy(
        order=match["order"],
        backfill=match["backfill"] or "none",
        reservations=float(match["k"] or 1),
        backfill_order=match["by"],
    )


def _slurm(path: str) -> Policy:
    """Return the policy of a ``slurm.conf``."""
    if not path:
        raise PolicyError(
            "policy 'slurm': its configuration is missing; give slurm:FILE, --slurm-conf FILE or "
            "sojourn.slurm(FILE)"
        )
    from .slurm.policy import policy_from_slurm

    return policy_from_slurm(path)
