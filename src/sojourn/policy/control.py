"""Service-rate controls: at each event, how fast all servers run [rumyantsev2018, sec. II-III].

A control is a compiled function of the system at an event; some also name a workload level at
which they want to be asked again. To add one, write its functions and its constructor here, with
`_kind` above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError, PolicyError
from ._naming import portable, restored
from .record import numbers, with_record

_ARRIVE, _FINISH = 1, 2

Law = Callable[[Any, float, Any], float]


def _keep(state: Any, now: float, theta: Any) -> float:
    """Never change the rate."""
    return state.rate


def _never(state: Any, now: float, theta: Any) -> float:
    """Ask at arrivals and departures only."""
    return -np.inf


def _flip(state: Any, now: float, theta: Any) -> float:
    """[rumyantsev2018, eq. 5], with one coin per event (errata 8)."""
    low, high, p_low, p_high = theta[0], theta[1], theta[2], theta[3]
    if state.event == _ARRIVE and state.coin < p_high:
        return high
    if state.event == _FINISH and state.coin < p_low:
        return low
    return state.rate


def _by_count(state: Any, now: float, theta: Any) -> float:
    """[rumyantsev2018, sec. III-A], by nu before the event (errata 7)."""
    steps = int(theta[0])
    rate = state.rate
    for i in range(steps):
        low, high = theta[2 + steps + i], theta[2 + 2 * steps + i]
        if state.event == _FINISH and state.before == low + 1:
            rate = min(rate, theta[1 + i])
        if state.event == _ARRIVE and state.before == high:
            rate = max(rate, theta[2 + i])
    return rate


def _by_workload(state: Any, now: float, theta: Any) -> float:
    """[rumyantsev2018, sec. III-C]: up above k_H, down at k_L and below, else unchanged."""
    steps = int(theta[0])
    rate = state.rate
    for i in range(steps):
        if state.workload > theta[2 + 2 * steps + i]:
            rate = max(rate, theta[2 + i])
        if state.workload <= theta[2 + steps + i]:
            rate = min(rate, theta[1 + i])
    return rate


def _down_level(state: Any, now: float, theta: Any) -> float:
    """The threshold below which the present rate is given up (errata 2)."""
    steps = int(theta[0])
    for i in range(steps):
        if state.rate == theta[2 + i]:
            return theta[2 + steps + i]
    return -np.inf


def _under_cap(state: Any, now: float, theta: Any) -> float:
    """The highest rate at which the power stays under the cap, if none fits the lowest.

    While somebody waits all servers may be busy in a moment, before it is asked again.
    """
    rates, steps = int(theta[0]), int(theta[1])
    watts = np.inf
    for i in range(steps):
        if theta[2 + 3 * rates + 2 * i] <= now:
            watts = theta[3 + 3 * rates + 2 * i]
    busy = state.servers if state.waiting > 0 else state.busy
    rate = theta[2]
    for i in range(rates):
        if theta[3 + 3 * i] + busy * theta[4 + 3 * i] <= watts:
            rate = max(rate, theta[2 + 3 * i])
    return rate


@dataclass(frozen=True)
class Control:
    """How the common rate of all servers follows the system.

    Parameters
    ----------
    law : ``(state, now, theta) -> rate``, asked after each event; `state` has event (1 arrival,
        2 departure, 3 switch), before, present, waiting, busy, servers, workload, rate, coin.
    initial : rate before the first event.
    theta : parameters of the law.
    wake : ``(state, now, theta) -> level``: asked again when the workload falls to that level.
    rates : every rate the law may choose, if known.
    """

    law: Law
    initial: float
    theta: tuple[float, ...] = ()
    wake: Law = _never
    rates: tuple[float, ...] = ()
    draws: bool = False
    house: bool = field(default=False, repr=False)
    text: str = ""

    def __post_init__(self) -> None:
        for rate in (self.initial, *self.rates):
            if not (np.isfinite(rate) and rate > 0):
                raise OptionError(
                    f"rate control: a rate of {rate}; rates must be above 0", key="control.rates"
                )

    def __reduce__(self) -> tuple[Any, ...]:
        others = {each.name: getattr(self, each.name) for each in fields(self)}
        law, wake = others.pop("law"), others.pop("wake")
        return _restored, (portable(law, "law"), portable(wake, "wake"), others)

    def __copy__(self) -> Control:
        return self

    def __deepcopy__(self, known: Any) -> Control:
        return self

    @property
    def is_constant(self) -> bool:
        """Whether the rate never changes."""
        return self.law is _keep

    @property
    def keeps_cap(self) -> bool:
        """Whether it follows the cap of the run."""
        return self.law is _under_cap

    @property
    def timed(self) -> bool:
        """Whether it wants to be asked between arrivals and departures too."""
        return self.wake is not _never

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Theta as the compiled functions take it, new for each run."""
        if self.house:
            return np.array(self.theta or (0.0,), dtype=np.float64)
        return with_record(self.theta)

    @cached_property
    def pointers(self) -> tuple[Any, Any]:
        """The law and its wake-up, compiled, as the kernels take them."""
        wake = _NEVER if self.wake is _never else (self.wake, self.house, True)
        return _pointer(self.law, self.house, False), _pointer(*wake)

    def __str__(self) -> str:
        return self.text or self.law.__name__


def _restored(law: Any, wake: Any, others: dict[str, Any]) -> Control:
    """A control that another process, or this one, has pickled; it is compiled anew."""
    return Control(law=restored(law), wake=restored(wake), **others)


_NEVER = (_never, True, True)


@cache
def _pointer(law: Law, house: bool, wakes: bool) -> Any:
    if house:
        from ..engine.types import CONTROL
        from ..jit import compiled

        return compiled(CONTROL, pointer=True)(law)
    from ._complaints import why_not_compiled
    from ._guard import compile_control

    try:
        return compile_control(law, wakes=wakes)
    except Exception as error:
        # Whatever the compiler trips over, it is the function that has to change.
        raise PolicyError(why_not_compiled("control", law, error)) from None


class ControlKind(NamedTuple):
    """A kind of control, as texts and scenarios name it.

    Parameters
    ----------
    make : makes it of what its keys hold.
    form : its text behind the kind, by the keys of a scenario: between colons, one key, which holds
        a number or several, or keys with commas between, which hold one each.
    example : such a text.
    says : what its keys mean, of those that other controls do not have.
    more : keys that its text has no place for.
    counts : whether its thresholds are numbers of jobs.
    """

    make: Callable[..., Control]
    form: str
    example: str
    says: dict[str, str]
    more: tuple[str, ...] = ()
    counts: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it needs."""
        return tuple(self.form.replace(":", ",").split(","))


CONTROLS: dict[str, ControlKind] = {}
"""Every kind of control by name."""


def _kind(
    name: str,
    form: str,
    example: str,
    *,
    more: tuple[str, ...] = (),
    counts: bool = False,
    **says: str,
) -> Callable[[Any], Any]:
    """Register a constructor; see `ControlKind`."""

    def register(make: Callable[..., Control]) -> Callable[..., Control]:
        CONTROLS[name] = ControlKind(make, form, f"{name}:{example}", says, more, counts)
        return make

    return register


@_kind("constant", "rate", "1.5")
def constant(rate: float = 1.0) -> Control:
    """One rate for ever: a true system without control (errata 7).

    Parameters
    ----------
    rate : work done per second, 1 being the speed of the log.
    """
    rate = float(rate)
    return Control(_keep, rate, rates=(rate,), house=True, text=f"constant {rate:g}")


def randomized(low: float, high: float, p_low: float, p_high: float) -> Control:
    """Up with probability `p_high` at an arrival, down with `p_low` at a departure (eq. 5).

    Parameters
    ----------
    low, high : the two rates.
    p_low, p_high : probabilities.
    """
    for name, p in (("p_low", p_low), ("p_high", p_high)):
        if not 0 <= p <= 1:
            raise OptionError(f"rate control: {name} = {p}; a probability lies in [0, 1]")
    _check_rates((low, high))
    text = f"randomized {low:g}, {high:g} with p_L = {p_low:g}, p_H = {p_high:g}"
    return Control(
        _flip, low, (low, high, p_low, p_high), rates=(low, high), draws=True, house=True, text=text
    )


@_kind("random", "rates:p_low,p_high", "2.0,2.66:0.3,0.7")
def _randomized(rates: Sequence[float], p_low: float, p_high: float) -> Control:
    if len(rates) != 2:
        raise OptionError(
            f"rate control: {len(rates)} rates; a random control has 2", key="control.rates"
        )
    return randomized(rates[0], rates[1], p_low, p_high)


@_kind("count", "rates:low:high", "2.0,2.66:5:10", counts=True)
def count_hysteresis(
    rates: Sequence[float], low: float | Sequence[float], high: float | Sequence[float]
) -> Control:
    """Rate by the number of customers: up above `high`, down at `low` and below (sec. III-A).

    With m + 1 rates there are m thresholds of each kind, one between each rate and the next.

    Parameters
    ----------
    rates : from slow to fast.
    low, high : numbers of jobs in the system, waiting or in service.
    """
    theta = _levels(rates, low, high)
    text = f"count hysteresis {_join(rates)} at {_join(low)} / {_join(high)}"
    return Control(
        _by_count, theta[1], theta, rates=tuple(map(float, rates)), house=True, text=text
    )


@_kind("workload", "rates:low:high", "2.0,2.66:1e5:3e5", more=("timer",))
def workload_hysteresis(
    rates: Sequence[float],
    low: float | Sequence[float],
    high: float | Sequence[float],
    *,
    timer: bool = True,
) -> Control:
    """Rate by the unfinished work: up above `high`, down at `low` and below (sec. III-C).

    Parameters
    ----------
    rates : from slow to fast; with m + 1 of them there are m thresholds of each kind.
    low, high : unfinished work of all jobs, waiting or in service (s at rate 1).
    timer : whether the rate goes down as soon as the workload has fallen to `low`; else it is
        looked at only at arrivals and departures.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(100, 64, load=0.7, seed=1)
    >>> slow = sojourn.workload_hysteresis([0.8, 1.0], low=0, high=14400)
    >>> result = sojourn.simulate(jobs, 64, "easy", rate=slow)
    >>> result.rates["rate"].unique().tolist()
    [0.8, 1.0]
    """
    theta = _levels(rates, low, high)
    text = f"workload hysteresis {_join(rates)} at {_join(low)} / {_join(high)}"
    return Control(
        _by_workload,
        theta[1],
        theta,
        wake=_down_level if timer else _never,
        rates=tuple(map(float, rates)),
        house=True,
        text=text + ("" if timer else ", at events only"),
    )


@_kind("threshold", "rates:k", "2.0,2.66:1e5")
def threshold(rates: Sequence[float], k: float | Sequence[float]) -> Control:
    """Single threshold: workload hysteresis with both thresholds at `k` (s of work)."""
    return workload_hysteresis(rates, k, k)


@_kind("cap", "rates", "0.6,0.8,1")
def under_cap(rates: Sequence[float]) -> Control:
    """The highest rate at which the whole cluster stays under the cap of the run.

    Parameters
    ----------
    rates : from slow to fast.
    """
    _check_rates(rates)
    own = tuple(map(float, rates))
    return Control(_under_cap, own[0], rates=own, house=True, text=f"cap {_join(rates)}")


def with_power(
    control: Control, idle: Sequence[float], more: Sequence[float], steps: Sequence[Sequence[float]]
) -> Control:
    """Return the control that follows a cap with the powers that it needs to know.

    Parameters
    ----------
    control : made by `under_cap`.
    idle, more : W of the idle cluster, and of each busy processor besides, at each rate.
    steps : time (s) and W of each step of the cap.
    """
    table = np.stack([control.rates, idle, more], axis=1)
    theta = (len(table), len(steps), *table.reshape(-1).tolist(), *np.reshape(steps, -1).tolist())
    return replace(control, theta=tuple(map(float, theta)))


def control(
    law: Law | None = None,
    *,
    initial: float = 1.0,
    theta: Sequence[float] = (),
    wake: Law | None = None,
    rates: Sequence[float] = (),
) -> Any:
    """Make a control from a function ``(state, now, theta) -> rate``.

    Parameters
    ----------
    law : asked after each event for the rate from now on; see `Control`.
    initial : rate before the first event.
    theta : parameters of the law.
    wake : ``(state, now, theta) -> level``: ask again when the workload falls to that level.
    rates : every rate the law may choose, if known.
    """

    def make(law: Law) -> Control:
        # One that is compiled already is compiled again, for what it is handed here.
        law, waking = getattr(law, "py_func", law), getattr(wake, "py_func", wake)
        for function in (law, waking):
            if function is not None:
                _check_arguments(function)
        return Control(
            law,
            _rate(initial),
            numbers(theta, "theta"),
            wake=waking or _never,
            rates=numbers(rates, "rates"),
            draws=True,
        )

    return make if law is None else make(law)


def _rate(initial: Any) -> float:
    try:
        return float(initial)
    except (TypeError, ValueError):
        raise OptionError(f"rate control: initial rate {initial!r}; give a number") from None


def _check_arguments(function: Any) -> None:
    code = getattr(function, "__code__", None)
    if getattr(code, "co_argcount", -1) != 3:
        raise PolicyError(
            f"control '{getattr(function, '__name__', function)}' must be a function of "
            "(state, now, theta)"
        )


def parse_control(value: Control | float | str | Mapping[str, Any] | None) -> Control:
    """Make a control from a rate or a text, or those of several domains.

    ``1.5``, or ``KIND:...`` with what the form of a kind in `CONTROLS` says; of domains
    ``NODES=...``, or a dictionary.
    """
    if value is None:
        return constant()
    if isinstance(value, Control):
        return value
    if isinstance(value, (int, float, np.number)):
        return constant(float(value))
    if isinstance(value, Mapping) or (isinstance(value, str) and "=" in value):
        from .domains import by_domain, domain_texts

        return by_domain(domain_texts(value) if isinstance(value, str) else value)
    if not isinstance(value, str):
        raise OptionError(f"rate control: give a rate, a text or a sojourn.control, not {value!r}")
    try:
        keys = control_keys(value)
        return CONTROLS[keys.pop("kind")].make(**keys)
    except (KeyError, TypeError, ValueError):
        raise OptionError(
            f"rate control '{value}' cannot be read; write for example {examples_of_controls()}"
        ) from None


def control_keys(text: str) -> dict[str, Any]:
    """Return a control's kind and keys from its text; KeyError or ValueError if it has no form."""
    kind, _, rest = text.partition(":")
    if not rest:
        kind, rest = "constant", text
    keys: dict[str, Any] = {"kind": kind}
    for names, part in zip(CONTROLS[kind].form.split(":"), rest.split(":"), strict=True):
        numbers = [float(number) for number in part.split(",")]
        if "," in names:
            keys.update(zip(names.split(","), numbers, strict=True))
        else:
            keys[names] = numbers if len(numbers) > 1 or names == "rates" else numbers[0]
    return keys


def examples_of_controls() -> str:
    """Return texts of controls, one of each kind, as a part of a sentence."""
    *others, last = (kind.example.removeprefix("constant:") for kind in CONTROLS.values())
    return f"{', '.join(others)} or {last}"


def _join(values: float | Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in np.atleast_1d(values))


def _check_rates(rates: Sequence[float]) -> None:
    if len(rates) < 2 or any(a >= b for a, b in pairwise(rates)):
        raise OptionError(
            f"rate control: rates {_join(rates)}; give at least two, in increasing order",
            key="control.rates",
        )


def _levels(
    rates: Sequence[float], low: float | Sequence[float], high: float | Sequence[float]
) -> tuple[float, ...]:
    """Check rates and thresholds and lay them out: steps, rates, low, high."""
    _check_rates(rates)
    down = [float(k) for k in np.atleast_1d(low)]
    up = [float(k) for k in np.atleast_1d(high)]
    steps = len(rates) - 1
    if len(down) != steps or len(up) != steps:
        raise OptionError(
            f"rate control: {len(rates)} rates need {steps} threshold(s) of each kind, not "
            f"{len(down)} and {len(up)}"
        )
    if any(a > b for a, b in zip(down, up, strict=True)):
        raise OptionError(f"rate control: k_L = {_join(down)} above k_H = {_join(up)}")
    for ks in (down, up):
        if any(a > b for a, b in pairwise(ks)):
            raise OptionError(f"rate control: thresholds {_join(ks)} must not decrease")
    return (float(steps), *map(float, rates), *down, *up)
