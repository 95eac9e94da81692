"""Who stays awake: when idle nodes go to sleep, and how many of them do not.

A sleep policy is an idle time after which a node goes to sleep, and a law: how many idle nodes stay
on all the same, or are woken where fewer are. To add one, write its law and its constructor here,
with `_kind` above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError, PolicyError, did_you_mean
from ._naming import portable, restored

Law = Callable[[Any, float, Any], float]


def _fixed(view: Any, now: float, theta: Any) -> float:
    """So many, always."""
    return theta[0]


def _by_hour(view: Any, now: float, theta: Any) -> float:
    """So many at this hour of the day, by a number for each."""
    return theta[int(now // 3600.0) % 24]


def _by_steps(view: Any, now: float, theta: Any) -> float:
    """So many from times on; of demand, less those that jobs use.

    Theta has how many steps there are, 1 if they are of demand, then their times, then numbers.
    """
    steps = int(theta[0])
    first, behind = 0, steps
    while behind - first > 1:
        middle = (first + behind) // 2
        if theta[2 + middle] <= now:
            first = middle
        else:
            behind = middle
    number = theta[2 + steps + first]
    if theta[1] == 1.0:
        return max(number - view.busy, 0.0)
    return number


@dataclass(frozen=True)
class SleepPolicy:
    """When idle nodes go to sleep.

    Parameters
    ----------
    idle_time : s for which a node is idle before it goes to sleep; inf: never.
    law : ``(view, now, theta) -> nodes``: how many idle nodes that could sleep stay on; while fewer
        are, sleepers wake. `view` has numbers of nodes: idle, coming (on their way to be up for no
        job), asleep, busy, nodes; and waiting, of jobs. None: none.
    theta : parameters of the law.
    ask_every : s after which the law is asked again, besides after each scheduling pass; 0: not.
    depth : name of the depth at which nodes sleep; "": the first of each node.
    idle_varies : whether each idle time is drawn, exponential with the mean `idle_time`.
    foreseen : what a run looks up before it begins, to know how many nodes stay on when: ``demand``
        of the log, ``price`` or ``carbon``; "": nothing.
    level : of demand the quantile, of a price or intensity the threshold.
    asks : times (s) at which the law is asked, besides after each scheduling pass.
    """

    idle_time: float = math.inf
    law: Law | None = None
    theta: tuple[float, ...] = ()
    ask_every: float = 0.0
    depth: str = ""
    text: str = ""
    house: bool = field(default=True, repr=False)
    idle_varies: bool = False
    foreseen: str = ""
    level: float = 0.0
    asks: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("idle_time", "ask_every"):
            value = getattr(self, name)
            if not value >= 0:
                raise OptionError(f"sleep: {name} = {value:g}; give seconds, 0 or more", key=_KEY)

    @property
    def is_never(self) -> bool:
        """Whether no node ever sleeps."""
        return self.idle_time == math.inf

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Theta as the compiled function takes it."""
        return np.array(self.theta or (0.0,), dtype=np.float64)

    @property
    def pointer(self) -> Any:
        """The law, compiled, as the kernels take it; None if it has none."""
        return None if self.law is None else _pointer(self.law, self.house)

    def with_steps(
        self, time: NDArray[np.float64], number: NDArray[np.float64], *, of_demand: bool
    ) -> SleepPolicy:
        """Return the same where numbers of nodes are known, each from a time (s) on."""
        head = (float(len(time)), float(of_demand))
        theta = (*head, *time.tolist(), *number.tolist())
        return replace(self, law=_by_steps, theta=theta, asks=tuple(time.tolist()))

    def __reduce__(self) -> Any:
        law = None if self.law is None else portable(self.law, "law")
        others = (
            *(self.theta, self.ask_every, self.depth, self.text, self.house),
            *(self.idle_varies, self.foreseen, self.level, self.asks),
        )
        return _restored, (self.idle_time, law, *others)

    def __str__(self) -> str:
        return self.text or "never"


_KEY = "policy.sleep"


def _restored(idle_time: float, law: Any, *others: Any) -> SleepPolicy:
    return SleepPolicy(idle_time, None if law is None else restored(law), *others)


@cache
def _pointer(law: Law, house: bool) -> Any:
    from ..engine.sleeping import KEEP
    from ..jit import compiled

    if house:
        return compiled(KEEP, pointer=True)(law)
    from ._complaints import why_not_compiled

    try:
        return compiled(KEEP, pointer=True)(law)
    except Exception as error:
        # Whatever the compiler trips over, it is the function that has to change.
        raise PolicyError(why_not_compiled("sleep", law, error)) from None


class SleepKind(NamedTuple):
    """A kind of sleep policy, as texts name it: what makes it, the form of its text, what it does.

    The form has the parameters by name, in the order of the text, those in brackets optional.
    """

    make: Callable[..., SleepPolicy]
    form: str
    example: str
    says: str


SLEEPS: dict[str, SleepKind] = {}
"""Every kind of sleep policy by name."""


def _kind(name: str, form: str, example: str) -> Callable[[Any], Any]:
    """Register a constructor; see `SleepKind`."""

    def register(make: Callable[..., SleepPolicy]) -> Callable[..., SleepPolicy]:
        says = (make.__doc__ or "").partition("\n")[0].removesuffix(".")
        SLEEPS[name] = SleepKind(make, form, example, says[:1].lower() + says[1:])
        return make

    return register


@_kind("never", "", "never")
def never() -> SleepPolicy:
    """No node sleeps."""
    return SleepPolicy(text="never")


@_kind("idle", "time[:depth]", "idle:600")
def after_idle(time: float | str, depth: str = "") -> SleepPolicy:
    """A node that has been idle for so long goes to sleep.

    Parameters
    ----------
    time : s, or a text such as ``10m``; ``exp(10m)``: drawn anew each time, exponential with this
        mean, as theory has it.
    depth : name of the sleep state; default: the first of each node.

    Examples
    --------
    >>> after_idle(600).idle_time
    600.0
    >>> after_idle("exp(10m)").idle_varies
    True
    """
    varies = isinstance(time, str) and time.startswith("exp(") and time.endswith(")")
    seconds = _seconds(time[4:-1] if varies and isinstance(time, str) else time)
    if varies and seconds == math.inf:
        raise OptionError("sleep: an idle time of a mean that is infinite; write never", key=_KEY)
    said = f"exp({seconds:g})" if varies else f"{seconds:g}"
    text = f"idle:{said}" + (f":{depth}" if depth else "")
    return SleepPolicy(seconds, depth=depth, text=text, idle_varies=varies)


@_kind("keep", "nodes[:time[:depth]]", "keep:8:600")
def keep_awake(nodes: float | str, time: float | str = 0.0, depth: str = "") -> SleepPolicy:
    """As idle, but so many idle nodes stay on, and are woken where fewer are.

    Parameters
    ----------
    nodes : how many.
    time : s for which the others are idle before they go to sleep.
    depth : name of the sleep state; default: the first of each node.
    """
    count, seconds = _nodes(nodes), _seconds(time)
    text = f"keep:{count:g}:{seconds:g}" + (f":{depth}" if depth else "")
    return SleepPolicy(seconds, _fixed, (count,), depth=depth, text=text)


@_kind("hours", "numbers[:time[:depth]]", "hours:4x8,16x10,4x6:600")
def by_hour(numbers: str, time: float | str = 0.0, depth: str = "") -> SleepPolicy:
    """As keep, with a number for each hour of the day, as demand is foreseen.

    Parameters
    ----------
    numbers : 24 numbers of nodes with commas between, from midnight of the log's first day on;
        ``4x8`` stands for eight hours with 4.
    time : s for which the others are idle before they go to sleep.
    depth : name of the sleep state; default: the first of each node.
    """
    counts: list[float] = []
    for part in numbers.split(","):
        count, _, hours = part.partition("x")
        try:
            counts += [float(int(count))] * int(hours or 1)
        except ValueError:
            raise OptionError(
                f"sleep: '{part}' is no number of nodes; give such as 4 or 4x8", key=_KEY
            ) from None
    if len(counts) != 24 or min(counts) < 0:
        raise OptionError(
            f"sleep: {len(counts)} numbers of nodes; give one, 0 or more, for each of 24 hours",
            key=_KEY,
        )
    seconds = _seconds(time)
    text = f"hours:{numbers}:{seconds:g}" + (f":{depth}" if depth else "")
    return SleepPolicy(seconds, _by_hour, tuple(counts), 3600.0, depth, text)


@_kind("forecast", "quantile[:time[:depth]]", "forecast:0.9:600")
def by_forecast(quantile: float | str, time: float | str = 0.0, depth: str = "") -> SleepPolicy:
    """As keep, with as many as past weeks of the log foresee to be used at this hour.

    Parameters
    ----------
    quantile : of what was used at the same hour of past weeks, from 0 to 1: 0.5 is the median, 1
        the most.
    time : s for which the others are idle before they go to sleep.
    depth : name of the sleep state; default: the first of each node.
    """
    share, seconds = _level(quantile, "quantile"), _seconds(time)
    if not 0 <= share <= 1:
        raise OptionError(f"sleep: quantile {share:g}; give a number from 0 to 1", key=_KEY)
    text = f"forecast:{share:g}:{seconds:g}" + (f":{depth}" if depth else "")
    return SleepPolicy(seconds, _by_steps, depth=depth, text=text, foreseen="demand", level=share)


@_kind("price", "threshold:nodes[:time[:depth]]", "price:0.25:8:600")
def by_price(
    threshold: float | str, nodes: float | str, time: float | str = 0.0, depth: str = ""
) -> SleepPolicy:
    """As keep while a kWh costs no more than a threshold, and as idle while it does.

    Parameters
    ----------
    threshold : per kWh, in the currency of the run's prices.
    nodes : how many idle nodes stay on while it is at or below.
    time : s for which the others are idle before they go to sleep.
    depth : name of the sleep state; default: the first of each node.
    """
    return _below("price", threshold, nodes, time, depth)


@_kind("carbon", "threshold:nodes[:time[:depth]]", "carbon:300:8:600")
def by_carbon(
    threshold: float | str, nodes: float | str, time: float | str = 0.0, depth: str = ""
) -> SleepPolicy:
    """As keep while a kWh has no more grams of CO2 than a threshold, and as idle while it does.

    Parameters
    ----------
    threshold : g CO2 per kWh.
    nodes : how many idle nodes stay on while it is at or below.
    time : s for which the others are idle before they go to sleep.
    depth : name of the sleep state; default: the first of each node.
    """
    return _below("carbon", threshold, nodes, time, depth)


def _below(
    what: str, threshold: float | str, nodes: float | str, time: float | str, depth: str
) -> SleepPolicy:
    limit, count, seconds = _level(threshold, "threshold"), _nodes(nodes), _seconds(time)
    text = f"{what}:{limit:g}:{count:g}:{seconds:g}" + (f":{depth}" if depth else "")
    return SleepPolicy(
        seconds, _by_steps, (count,), depth=depth, text=text, foreseen=what, level=limit
    )


def _nodes(given: float | str) -> float:
    """How many nodes a text or number says."""
    try:
        count = float(given)
    except ValueError:
        raise OptionError(f"sleep: '{given}' is no number of nodes; give one", key=_KEY) from None
    if not (count >= 0 and count == count // 1):
        raise OptionError(f"sleep: {count:g} nodes; give a whole number, 0 or more", key=_KEY)
    return count


def _level(given: float | str, what: str) -> float:
    """A quantile or threshold of a text or number."""
    try:
        level = float(given)
    except ValueError:
        level = math.nan
    if not math.isfinite(level):
        raise OptionError(f"sleep: '{given}' is no {what}; give a number", key=_KEY)
    return level


def sleep(
    law: Law | None = None,
    /,
    *,
    idle_time: float = 0.0,
    ask_every: float = 0.0,
    theta: tuple[float, ...] = (),
    depth: str = "",
) -> Any:
    """Decorate a function of (view, now, theta): how many idle nodes stay on.

    Parameters
    ----------
    law : the function; it is compiled.
    idle_time : s for which the others are idle before they go to sleep.
    ask_every : s after which it is asked again, besides after each scheduling pass; 0: not.
    theta : its parameters.
    depth : name of the sleep state; default: the first of each node.

    Examples
    --------
    >>> import sojourn
    >>> @sojourn.sleep(idle_time=300)
    ... def as_many_as_are_busy(view, now, theta):
    ...     return 0.1 * view.busy
    >>> as_many_as_are_busy.idle_time
    300
    """

    def decorate(function: Law) -> SleepPolicy:
        return SleepPolicy(
            idle_time, function, theta, ask_every, depth, function.__name__, house=False
        )

    return decorate if law is None else decorate(law)


def parse_sleep(given: str | SleepPolicy) -> SleepPolicy:
    """Return a sleep policy from its text, such as ``idle:600``, or as it is."""
    if isinstance(given, SleepPolicy):
        return given
    if not isinstance(given, str):
        raise PolicyError(
            "sleep: give a text such as 'idle:600', or a function of (view, now, theta) decorated "
            f"with @sojourn.sleep, not {given!r}"
        )
    name, *parts = given.strip().split(":")
    kind = SLEEPS.get(name.strip().lower())
    if kind is None:
        near = did_you_mean(name, SLEEPS) or f"; choose from {', '.join(SLEEPS)}"
        raise OptionError(f"unknown sleep policy '{name}'{near}", key=_KEY)
    most = len(kind.form.replace("[", "").replace("]", "").split(":")) if kind.form else 0
    least = len(kind.form.partition("[")[0].split(":")) if kind.form else 0
    if not least <= len(parts) <= most:
        raise OptionError(f"sleep '{given}': write such as {kind.example}", key=_KEY)
    return kind.make(*parts)


_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(time: float | str) -> float:
    """Seconds of a number or of a text such as 10m."""
    if not isinstance(time, str):
        return float(time)
    text = time.strip().lower()
    unit = text.lstrip("0123456789.e+").strip()
    try:
        seconds = float(text.removesuffix(unit)) * _UNITS[unit]
    except (KeyError, ValueError):
        seconds = math.inf
    if not math.isfinite(seconds):
        raise OptionError(
            f"sleep: '{time}' is no time; give seconds, or such as 10m or 2h", key=_KEY
        )
    return seconds
