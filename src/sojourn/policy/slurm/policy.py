"""Slurm as a policy: a site's ``slurm.conf``, with any of its lines changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..._html import html_table
from ...errors import ClusterError, OptionError, did_you_mean
from ..policy import Policy
from .conf import plain_conf, read_slurm_conf
from .nodes import node_table
from .scheduling import PARAMETERS, POWER_LINES, UNMODELLED
from .site import SlurmConf

if TYPE_CHECKING:
    from ...cluster import Cluster
    from ...engine.passes.slurm_tables import Pace

CHOICES = {
    "SchedulerType": ("sched/backfill", "sched/builtin"),
    "SelectType": ("select/linear", "select/cons_tres", "select/cons_res"),
    "PriorityType": ("priority/basic", "priority/multifactor"),
    "JobRequeue": ("0", "1"),
}
"""Lines of a configuration with few values, and these."""

LINES = (
    *("SchedulerParameters", "SelectTypeParameters", "AccountingStorageType", "OverTimeLimit"),
    *("MinJobAge", "PriorityFlags", "PriorityFavorSmall", "FairShareDampeningFactor"),
    *("PriorityMaxAge", "PriorityDecayHalfLife", "PriorityCalcPeriod", "PriorityWeightAge"),
    *("PriorityWeightFairshare", "PriorityWeightJobSize", "PriorityWeightPartition", "AuthInfo"),
    *POWER_LINES,
)
"""Lines of a configuration that the model reads, besides those with few values."""

_TIMES = ("PriorityMaxAge", "PriorityDecayHalfLife", "PriorityCalcPeriod")
_NUMBERS = (
    *("MinJobAge", "FairShareDampeningFactor", "PriorityWeightAge", "PriorityWeightFairshare"),
    *("PriorityWeightJobSize", "PriorityWeightPartition", "OverTimeLimit"),
)
_WHOLE = ("SuspendTime", "SuspendTimeout", "ResumeTimeout", "SuspendRate", "ResumeRate")
_DIGITS, _LONGEST = 10, 1_000  # of a number, which has 32 bits in Slurm; of any value


@dataclass(frozen=True, repr=False)
class SlurmPolicy(Policy):
    """Slurm's two loops over one queue, by the numbers of a ``slurm.conf``.

    Parameters
    ----------
    conf : the configuration.
    changes : lines and scheduler parameters that were given other values, for its name.
    pace : how long the controller takes; None for the built-in numbers, with the log's own clock.
    launch, completion : what the controller adds to each job's run (s), for all or one by one.
    """

    conf: SlurmConf = field(default_factory=lambda: plain_conf(1))
    changes: tuple[tuple[str, str], ...] = ()
    pace: Pace | None = None
    launch: ArrayLike = field(default=0.0, compare=False)
    completion: ArrayLike = field(default=0.0, compare=False)

    def __str__(self) -> str:
        changed = ",".join(f"{name}={value}" for name, value in self.changes)
        return f"slurm[{changed}]" if changed else "slurm"

    def __repr__(self) -> str:
        return f"<SlurmPolicy {self}{self._source}>"

    @property
    def _source(self) -> str:
        return f" of {self.conf.path}" if self.conf.path else ""

    def _repr_html_(self) -> str:
        """Show the lines that the model reads; Slurm's defaults hold for all others."""
        said = self.conf.lines
        rows = [(n, said[n.lower()]) for n in (*CHOICES, *LINES) if n.lower() in said]
        vain = len(self.not_modelled)
        note = f"without effect here: {vain}, see not_modelled" if vain else ""
        return html_table(f"policy {self}{self._source}", (), rows, note)

    @cached_property
    def cluster(self) -> Cluster:
        """The machine of the configuration."""
        from .site_cluster import cluster_of

        return cluster_of(self.conf)

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """What of the configuration has no effect here, with reasons."""
        return self.conf.not_modelled

    def with_parameters(self, changes: Mapping[str, object]) -> SlurmPolicy:
        """Return the policy with other values of lines or scheduler parameters.

        Parameters
        ----------
        changes : values by name, such as ``{"bf_interval": 30, "PriorityWeightAge": 1000}``.

        Raises
        ------
        OptionError
            When a name is nothing that the model reads, or a value cannot be one of it.
        """
        said = {_known(name): _text(value) for name, value in changes.items()}
        for name, value in said.items():
            _check(name, value)
        names = {**dict(self.changes), **said}
        return replace(self, conf=self.conf.with_parameters(said), changes=tuple(names.items()))

    def with_pace(
        self, pace: Pace, launch: ArrayLike = 0.0, completion: ArrayLike = 0.0
    ) -> SlurmPolicy:
        """Return the policy with a controller of another pace and other overheads (s)."""
        return replace(self, pace=pace, launch=launch, completion=completion)


def slurm(conf: str | os.PathLike[str] | SlurmConf, **changes: object) -> SlurmPolicy:
    """Return the policy of a site: Slurm, as its ``slurm.conf`` has it.

    Parameters
    ----------
    conf : the file, with a ``gres.conf`` and ``topology.conf`` beside it.
    **changes : other values of scheduler parameters and lines, by name: ``bf_interval=30``,
        ``PriorityWeightAge=1000``.

    Examples
    --------
    >>> import sojourn
    >>> from sojourn.policy.slurm import plain_conf
    >>> policy = sojourn.slurm(plain_conf(4), bf_interval=10)
    >>> str(policy), policy.cluster.procs
    ('slurm[bf_interval=10]', 4)
    """
    return policy_from_slurm(conf, changes)


def policy_from_slurm(
    conf: str | os.PathLike[str] | SlurmConf, changes: Mapping[str, object] | None = None
) -> SlurmPolicy:
    """Return the policy of a ``slurm.conf``, with other values of some of its lines."""
    site = conf if isinstance(conf, SlurmConf) else read_slurm_conf(conf)
    node_table(site)  # Raises where the file describes no machine.
    policy = SlurmPolicy(conf=site)
    return policy.with_parameters(changes) if changes else policy


def _known(name: str) -> str:
    names = {known.lower(): known for known in (*PARAMETERS, *UNMODELLED, *CHOICES, *LINES)}
    known = names.get(str(name).lower())
    if known is None:
        raise OptionError(
            f"'{name}' is nothing that the model reads{did_you_mean(str(name), names.values())}"
        )
    return known


def _text(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _check(name: str, value: str) -> None:
    if name in PARAMETERS and not (value.isdecimal() and len(value) < _DIGITS):
        raise OptionError(f"{name}={value[:40]}: give a whole number below 1e{_DIGITS - 1}")
    if len(value) > _LONGEST:
        raise OptionError(f"{name}={value[:40]}...: give a shorter value")
    alone = SlurmConf("", {name.lower(): value}, (), ())
    try:
        if name in _NUMBERS and (name, value.upper()) != ("OverTimeLimit", "UNLIMITED"):
            alone.number(name, 0.0)
        if name in _TIMES:
            alone.seconds(name, 0.0)
    except ClusterError:
        wanted = "a number of at least 0" if name in _NUMBERS else "minutes, or days-hours:minutes"
        raise OptionError(f"{name}={value[:40]}: give {wanted}") from None
    never = name == "SuspendTime" and value.upper() in ("INFINITE", "UNLIMITED", "NONE", "-1")
    is_whole = value.isdecimal() and len(value) < _DIGITS
    if name in _WHOLE and not (is_whole or never):
        or_never = ", or INFINITE" if name == "SuspendTime" else ""
        raise OptionError(f"{name}={value[:40]}: give a whole number below 1e9{or_never}")
    if value.lower() not in CHOICES.get(name, (value.lower(),)):
        raise OptionError(f"{name}={value}: choose {' or '.join(CHOICES[name])}")
