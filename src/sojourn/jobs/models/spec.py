"""Distributions written as text, such as ``hyperexponential:3600:4`` or ``uniform:1-64``."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import OptionError, did_you_mean
from . import (
    Deterministic,
    Discrete,
    Distribution,
    Erlang,
    Exponential,
    GeometricWidths,
    Hyperexponential,
    UniformWidths,
)

__all__ = ["TIMES", "WIDTH_KINDS", "interarrival_for", "parse_time", "parse_width"]

TIMES: dict[str, str] = {
    "exponential": "MEAN",
    "deterministic": "MEAN",
    "hyperexponential": "MEAN:CV2",
    "erlang": "MEAN:K",
}
"""Distributions of times and work, with their parameters."""

WIDTH_KINDS = ("N", "uniform:LOW-HIGH", "geometric:P", "N=PROB,N=PROB,...")
"""How the distribution of widths is written."""


def parse_time(text: str, *, mean: float | None = None) -> Distribution:
    """Make a distribution of seconds from ``KIND[:MEAN[:SHAPE]]``.

    Parameters
    ----------
    text : a kind of `TIMES` with its parameters; a bare number is its mean, exponential.
    mean : takes the place of the mean in the text, where it may then be left out: ``erlang::4``.

    Examples
    --------
    >>> parse_time("hyperexponential:100:4").mean
    100.0
    """
    kind, _, rest = text.strip().lower().partition(":")
    if _is_number(kind) and not rest:
        kind, rest = "exponential", kind
    if kind not in TIMES:
        near = did_you_mean(kind, TIMES) or f"; known: {', '.join(TIMES)}"
        raise OptionError(f"distribution '{text}': no kind is called '{kind}'{near}")
    first, _, shape = rest.partition(":")
    try:
        centre = mean if mean is not None else float(first)
        makers: dict[str, Callable[[], Distribution]] = {
            "exponential": lambda: Exponential(centre),
            "deterministic": lambda: Deterministic(centre),
            "hyperexponential": lambda: Hyperexponential.with_cv2(centre, float(shape)),
            "erlang": lambda: Erlang(int(shape), centre),
        }
        if shape and kind in ("exponential", "deterministic"):
            raise ValueError(shape)
        return makers[kind]()
    except ValueError:
        raise OptionError(f"distribution '{text}': write {kind}:{TIMES[kind]}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def parse_width(text: str, procs: int) -> Distribution:
    """Make a distribution of processors: one of `WIDTH_KINDS`, on a machine of `procs`."""
    kind, _, rest = text.strip().lower().partition(":")
    try:
        if kind == "uniform":
            low, _, high = rest.partition("-") if rest else ("1", "", "")
            return UniformWidths(int(low), int(high) if high else procs)
        if kind == "geometric":
            return GeometricWidths(float(rest), procs)
        if "=" in kind:
            pairs = [part.split("=") for part in kind.split(",")]
            return Discrete(tuple(int(n) for n, _ in pairs), tuple(float(p) for _, p in pairs))
        return Deterministic(int(kind))
    except ValueError:
        raise OptionError(
            f"widths '{text}' cannot be read; write one of {', '.join(WIDTH_KINDS)}"
        ) from None


def interarrival_for(load: float, work: Distribution, width: Distribution, procs: int) -> float:
    """Return the mean interarrival time (s) at which these jobs offer a load to a machine."""
    if not load > 0:
        raise OptionError(f"load {load}; give a number above 0")
    return work.mean * width.mean / (procs * load)
