"""The keys of a scenario about jobs that are held for cheap or clean electricity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError

from ...errors import InputError, OptionError
from ...jobs.deferrable import parse_chosen
from ...policy import DEFERRALS, Deferral
from .describing import TIME, Key, Keys, Keyword, Number, Option, alternatives, reads

if TYPE_CHECKING:
    _Kind = str
else:
    _Kind = Literal[("none", *DEFERRALS)]
_Slack = Annotated[float, Field(ge=0, allow_inf_nan=False), TIME]
_COST = "Cost"
_FORM = "window:SLACK, threshold:AT:SLACK or pieces:SLACK[:RESTART]"
EXAMPLES = "window:24h, threshold:p30:24h, threshold:250:24h or pieces:24h:5m"


def _quantile(text: str) -> float:
    """Return the share that a quantile such as ``p30`` stands for."""
    try:
        percent = float(text.removeprefix("p"))
    except ValueError:
        percent = -1.0
    if not text.startswith("p") or not 0 < percent <= 100:
        raise OptionError(f"'{text}': give a number, or a quantile of the next day such as p30")
    return percent / 100


class DeferKeys(Keys):
    """Which jobs are held for cheap or clean electricity, how, and for how long."""

    kind: Annotated[
        _Kind,
        Key(
            "How jobs are held: to the window of least price or intensity; until that is at or "
            "below a threshold; or in pieces, in the best hours.",
            alternatives(("none", *DEFERRALS)),
        ),
    ] = "none"
    slack: Annotated[
        _Slack | None,
        Key(
            "How much later a job starts at the latest, where the log does not say it; without it "
            "only jobs of which the log says it are held.",
            "a number of seconds, 0 or more, or a text such as '24 h'",
        ),
    ] = None
    at: Annotated[
        Number | Annotated[str, reads(_quantile)] | None,
        Key(
            "Threshold: a price or an intensity, or the quantile of the next day.",
            "a number, or a text such as 'p30'",
        ),
    ] = None
    restart: Annotated[
        _Slack,
        Key(
            "How long it takes a job in pieces to go on after a pause.",
            "a number of seconds, 0 or more, or a text such as '5 min'",
        ),
    ] = 0.0
    who: Annotated[
        Annotated[str, reads(parse_chosen)] | None,
        Key(
            "Which jobs may be held: all, fraction=0.3 by the seed, queue=3,4 or user=anna; "
            "default: those of the log's columns deferrable, slack or deadline, else all.",
            "all, fraction=SHARE, or COLUMN=NAME,NAME",
            Option(_COST, "WHICH", "--defer-jobs"),
            Keyword("defer_jobs"),
        ),
    ] = None
    by: Annotated[
        Literal["carbon", "price"] | None,
        Key(
            "What jobs are held for; default: carbon where that is a series, else price.",
            "carbon or price",
            Option(_COST, "carbon|price", "--defer-by"),
            Keyword("defer_by"),
        ),
    ] = None


def typed_deferral(text: str) -> dict[str, Any]:
    """Return the keys of a deferral from ``KIND:...``; ValueError says what is wrong."""
    kind, *rest = (part.strip() for part in text.split(":"))
    if kind == "none" and not rest:
        return {"kind": "none"}
    if kind not in DEFERRALS:
        raise ValueError(f"'{text}': write {_FORM}")
    keys: dict[str, Any] = {"kind": kind}
    if kind == "threshold":
        if not rest:
            raise ValueError(f"'{text}': a threshold of what? write threshold:AT:SLACK")
        at = rest.pop(0)
        try:
            keys["at"] = float(at)
        except ValueError:
            keys["at"] = at
    names = ("slack", "restart") if kind == "pieces" else ("slack",)
    if len(rest) > len(names):
        raise ValueError(f"'{text}': write {_FORM}")
    for name, part in zip(names, rest, strict=False):
        try:
            keys[name] = float(part)
        except ValueError:
            keys[name] = part
    try:
        made = read_deferral(keys)
    except InputError as error:
        raise ValueError(str(error)) from None
    assert made is not None
    return keys


def _refused(error: ValidationError, given: Mapping[str, Any]) -> OptionError:
    """What is wrong with the first key that cannot be held."""
    name = str(error.errors()[0]["loc"][0])
    field = DeferKeys.model_fields.get(name)
    if field is None:
        known = ", ".join(DeferKeys.model_fields)
        return OptionError(f"defer.{name}: is not known; it has {known}", key="defer.kind")
    wanted = next(key for key in field.metadata if isinstance(key, Key)).value
    return OptionError(f"{name} {given[name]!r}: give {wanted}", key=f"defer.{name}")


def read_deferral(given: Any) -> Deferral | None:
    """Return how jobs are held: from text, from the keys of the table, or as it is; None: not.

    Raises
    ------
    OptionError
        For what says nothing.
    """
    if isinstance(given, Deferral):
        return given
    if isinstance(given, str):
        try:
            given = typed_deferral(given)
        except ValueError as error:
            raise OptionError(f"defer {error}", key="defer.kind") from None
    if isinstance(given, Mapping):
        try:
            given = DeferKeys.model_validate(dict(given))
        except ValidationError as error:
            raise _refused(error, given) from None
    if not isinstance(given, DeferKeys):
        raise OptionError(f"defer {given!r}: give {EXAMPLES}", key="defer.kind")
    if given.kind == "none":
        return None
    at = given.at
    if given.kind != "threshold" and at is not None:
        raise OptionError(f"defer.at: {given.kind} has no threshold; leave it out", key="defer.at")
    if given.kind != "pieces" and given.restart:
        raise OptionError(
            f"defer.restart: {given.kind} does not stop jobs; leave it out", key="defer.restart"
        )
    if isinstance(at, str):
        return Deferral(given.kind, given.slack, _quantile(at), True, given.restart)
    number = float("nan") if at is None else at
    return Deferral(given.kind, given.slack, number, False, given.restart)
