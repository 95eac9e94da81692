"""Options about the policy, and the policies they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import OptionError, PolicyError
from .. import _completion

if TYPE_CHECKING:
    from ...policy import Policy

__all__ = ["PolicyFile", "PolicyName", "chosen_policies", "chosen_policy"]

_SCHEDULING = "Scheduling"

PolicyName = Annotated[
    str,
    typer.Option(
        metavar="NAME|ORDER[+BACKFILL]",
        help="fcfs, lcfs-pr, lpf, spf, easy, easy-sjbf, conservative, first-fit, or an order "
        "(sjf, ljf, saf, wfp3, ...) with a backfill (easy, easy:K, conservative, first-fit).",
        autocompletion=_completion.policies,
        rich_help_panel=_SCHEDULING,
    ),
]
PolicyFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.py:NAME",
        help="Your own order, decorated with @sojourn.score, in place of that of --policy.",
        rich_help_panel=_SCHEDULING,
    ),
]


def chosen_policy(policy: str, policy_file: str | None) -> Policy:
    """Return the policy, with the order of a file in it."""
    from dataclasses import replace

    from ...policy import load_score, parse_policy

    parsed = parse_policy(policy)
    if policy_file is None:
        return parsed
    try:
        score = load_score(policy_file)
    except SystemExit:
        raise PolicyError(f"{policy_file}: the file exits when it is loaded") from None
    return replace(parsed, order=score)


def chosen_policies(policies: str, policy_files: list[str]) -> list[Policy]:
    """Return the policies of a list, in which orders from files go by their names."""
    from ...policy import parse_policy

    loaded = {where.rpartition(":")[2]: where for where in policy_files}
    names = [name.strip() for name in policies.split(",") if name.strip()]
    if not names:
        raise OptionError("--policies names none; give for example fcfs,easy,conservative")
    chosen = []
    for name in names:
        order, plus, backfill = name.partition("+")
        if order in loaded:
            chosen.append(chosen_policy(f"fcfs{plus}{backfill}", loaded[order]))
        else:
            chosen.append(parse_policy(name))
    return chosen
