"""The options of a run, and its input after validation."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ..cluster import Cluster
from ..errors import OptionError, did_you_mean
from ..jobs import Jobs
from ..policy import Control, Policy
from .build.cap_plan import CapPlan
from .build.deferring import Deferred
from .build.events import External
from .build.machine import NamedMachine
from .keys import SAME, Described, adapter, described_by_keyword, with_names

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK = "**options : the keywords of `Options`."


class Options:
    """How a run treats the jobs and what it records: the keywords of `simulate`.

    Which there are, their defaults and what they may be is said by the keys of a scenario that
    have a keyword, see `sojourn.run.keys`.
    """

    def __init__(self, **given: Any) -> None:
        known = described_by_keyword()
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known) or f"; it takes {', '.join(known)}"
                raise OptionError(f"simulate: unknown option '{name}'{hint}")
        self.__dict__.update(_DEFAULTS)
        self.__dict__.update({name: _read(name, known[name], given[name]) for name in given})

    def changed(self, **given: Any) -> Options:
        """Return the options with some others in their place."""
        return Options(**{**vars(self), **given})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a run has no option '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"options do not change; make others with {name} = {value!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Options({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    @property
    def factor(self) -> float | None:
        """Estimates as a factor of the truth; None for the user's own."""
        if self.estimates == "user":
            return None
        return 1.0 if self.estimates == "exact" else float(self.estimates)


def _shown(key: Described) -> Any:
    """The default of a keyword of `simulate` as one would write it."""
    keyword = key.key.keyword
    assert keyword is not None
    return key.default if keyword.default is SAME else keyword.default


def _read(name: str, key: Described, value: Any) -> Any:
    """What a keyword stands for; OptionError says what it may be."""
    keyword, wanted = key.key.keyword, key.key.value
    assert keyword is not None
    if isinstance(value, np.generic):  # Has no place in the summary's JSON.
        value = value.item()
    if keyword.read is not None:
        return None if value is None else keyword.read(value)
    try:
        return adapter(key.table, key.path[-1]).validate_python(value)
    except ValidationError:
        verb = "choose" if isinstance(value, str) else "give"
        raise OptionError(f"{name} {value!r}: {verb} {wanted}", key=key.name) from None


def _default(key: Described) -> Any:
    keyword, default = key.key.keyword, _shown(key)
    assert keyword is not None
    return default if keyword.read is None or default is None else keyword.read(default)


_DEFAULTS = {name: _default(key) for name, key in described_by_keyword().items()}
"""What a keyword of `simulate` is where it is not given."""


def with_keywords(function: _Function) -> _Function:
    """Show what is handed on to `Options` as keywords of a function or class, and describe them.

    In its docstring, ``**options : the keywords of `Options`.`` gives way to them.
    """
    signature = inspect.signature(function)
    own = [own for own in signature.parameters.values() if own.kind is not own.VAR_KEYWORD]
    lines: list[str] = []
    for name, key in described_by_keyword().items():
        if name in signature.parameters:
            continue
        keyword = key.key.keyword
        assert keyword is not None
        own.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_shown(key)))
        text = keyword.what or with_names(key.key.what)
        if keyword.read is None:
            text = f"{text.rstrip('.')}: {key.key.value}."
        lines += textwrap.wrap(f"{name} : {text}", 92, subsequent_indent="    ")
    function.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    if function.__doc__ is not None:
        function.__doc__ = function.__doc__.replace(_MARK, "\n    ".join(lines))
    return function


@dataclass(frozen=True)
class Prepared:
    """A run's input after validation: what `Result` must know besides the kernel's state.

    `reason` says why each job is not accepted, as a place in `REASONS`; 0 if it is.
    """

    jobs: Jobs
    reason: NDArray[np.int8]
    killed: NDArray[np.bool_]
    cluster: Cluster
    policy: Policy
    control: Control
    options: Options
    machine: NamedMachine | None = None
    external: External | None = None
    every: NDArray[np.float64] | None = None
    """Work between dumps of each accepted job (s at rate 1), where they have checkpoints."""
    remarks: tuple[str, ...] = ()
    """What a policy does not model or had to assume, in words."""
    deferred: Deferred | None = None
    """Which jobs may be held for cheap or clean electricity."""

    @property
    def suspends(self) -> bool:
        """Whether jobs run in pieces, with pauses in between."""
        return self.deferred is not None and self.deferred.until is not None

    def is_outlived(self, now: float) -> bool:
        """Whether a run that ends then (s) is longer than its failures go."""
        beside = None if self.external is None else self.external.beside
        return beside is not None and now > beside.horizon

    caps: CapPlan | None = None

    @cached_property
    def accepted(self) -> NDArray[np.bool_]:
        """Which jobs can run."""
        return np.asarray(self.reason == 0)
