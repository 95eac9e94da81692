"""A scenario: one run described by a file, or by the values of its keys."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from ..cluster import Cluster
from ..jobs import Jobs
from ..jobs.classes import check_known
from ..jobs.clean import chosen_rules
from ..jobs.deferrable import is_drawn
from ..jobs.log import machine_size, size_in_words
from ..policy import Control, Placement, Policy
from ..policy.slurm import SlurmPolicy, policy_from_slurm
from . import building, inputs, workloads
from .build.queues import take_turns
from .keys import ASIDE, FailureKeys, MaintenanceKeys, ScenarioKeys, described_by_keyword
from .keys.failures import make_checkpoint, make_failures, make_maintenance
from .problems import Source, problem_of, read_toml
from .setting import with_setting
from .together import problems_together
from .toml import as_toml

if TYPE_CHECKING:
    # The engine takes long to load; whoever describes a run need not wait for it.
    from .result import Result

_Made = TypeVar("_Made")

# What is made before the log is read, and the key to blame where an error does not tell.
_PARTS = {
    "policy": ("policy", "order"),
    "placement": ("policy", "placement"),
    "control": ("control",),
    "nodes": ("cluster", "nodes"),
}

SCHEMA_FILE = "scenario.schema.json"
"""Where a saved scenario says that its JSON Schema is: beside it, for editors."""


@dataclass(frozen=True)
class Scenario:
    """What is simulated: a workload, a cluster, a policy, a control and a power model.

    Made by `read_scenario` or `Scenario.from_mapping`.

    Parameters
    ----------
    given : the keys that are set, as they were written.
    keys : all keys, checked; quantities in s, W and GB.
    folder : paths in it are relative to this one.
    source : where it is from, for messages.
    given_log, given_digest : the log, cleaned, if it has been read before, and the SHA-256 of its
        file; see `with_log`.
    """

    given: Mapping[str, Any]
    keys: ScenarioKeys = field(repr=False)
    folder: Path = Path()
    source: Source = field(default=Source(), repr=False, compare=False)
    given_log: Jobs | None = field(default=None, repr=False, compare=False)
    given_digest: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_mapping(
        cls,
        given: Mapping[str, Any],
        folder: str | os.PathLike[str] = ".",
        source: Source | None = None,
    ) -> Scenario:
        """Return a scenario from the values of its keys, as TOML has them.

        Parameters
        ----------
        given : tables by name, such as ``{"workload": {"log": "log.swf"}}``.
        folder : that paths are relative to.
        source : where the values are from, for messages.

        Raises
        ------
        OptionError
            At the first key that is not known, or holds what it cannot hold.
        """
        plain, where = copy.deepcopy(dict(given)), source or Source()
        try:
            keys = ScenarioKeys.model_validate(plain)
        except ValidationError as error:
            raise problem_of(error, plain, where) from None
        for key, problem in problems_together(keys, plain):
            raise where.error(key, problem)
        return cls(plain, keys, Path(folder), where)

    def with_value(self, key: str, value: Any) -> Scenario:
        """Return the scenario with another value of one key, such as ``control.k``."""
        return self.with_values({key: value})

    def with_values(self, values: Mapping[str, Any]) -> Scenario:
        """Return the scenario with other values of some keys, which are checked together.

        Parameters
        ----------
        values : by dotted key, such as ``{"control.low": 1e5, "control.high": "50 h"}``; an
            element of a list as ``control.rates.1``. Text is taken as it is typed where the key
            holds no text.
        """
        given, source = dict(self.given), self.source.changed()
        for key, value in values.items():
            given = with_setting(given, key, value, source)
        made = Scenario.from_mapping(given, self.folder, source)
        if self.given_log is None or made._reading != self._reading:
            return made
        return made.with_log(self.given_log, self.given_digest)

    @property
    def _reading(self) -> tuple[Any, ...]:
        """How the log is read and cleaned: it is the same where this is."""
        sized = self.keys.cluster if self._is_sized else None
        return workloads.reading(self.keys.workload), sized, self.keys.run.format == "swf"

    @property
    def _is_sized(self) -> bool:
        """Whether the machine decides which jobs of the log are kept."""
        return "too-wide" in (self.keys.workload.rules or ())

    def reads_by(self, key: str) -> bool:
        """Whether another value of a key may change how the log is read."""
        section, _, rest = key.partition(".")
        name = rest.replace("[", ".").partition(".")[0]
        if section == "workload":
            return name in ("", "model", *workloads.READ_BY)
        return section == "cluster" and self._is_sized

    def value(self, key: str) -> Any:
        """Return the value of a dotted key: as it is set, in basic units, or its default."""
        value: Any = self.keys.model_dump()
        try:
            for step in key.split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]
        except (LookupError, TypeError, ValueError):
            raise self.source.error(tuple(key.split(".")), "is not set") from None
        return value

    def as_mapping(self) -> dict[str, Any]:
        """Return the keys that are set, as they were written."""
        return copy.deepcopy(dict(self.given))

    def as_toml(self, folder: str | os.PathLike[str] | None = None) -> str:
        """Return the scenario as TOML, to be saved in a folder; default: its own.

        Paths are rewritten so that they lead to the same files from there.
        """
        there = self.folder if folder is None else Path(folder)
        given = inputs.moved(self.given, self.folder, there)
        return f"#:schema {SCHEMA_FILE}\n\n{as_toml(given)}"

    @cached_property
    def _there(self) -> tuple[ScenarioKeys, dict[str, str]]:
        """The keys with paths that lead there from the current folder, and the files they name."""
        return inputs.resolved(self.keys, self.folder)

    @property
    def _resolved(self) -> ScenarioKeys:
        return self._there[0]

    @property
    def files(self) -> dict[str, str]:
        """Files that it depends on, by what they are: ``input`` (the log), ``cluster``, ..."""
        return inputs.with_others(self._there[1])

    def locating(self, *key: str) -> AbstractContextManager[None]:
        """Say in errors which key they are about: `key` where an error does not tell."""
        return self.source.locating(self.files, key)

    @property
    def _known(self) -> dict[str, str | None]:
        """Digests of files that were read before, and need not be there."""
        return {} if self.given_digest is None else {"input": self.given_digest}

    @property
    def files_to_open(self) -> dict[str, str]:
        """Files that a run opens: those of `files`, without a log that is at hand."""
        at_hand = () if self.given_log is None else ("input",)
        return {name: path for name, path in self.files.items() if name not in at_hand}

    @property
    def digest(self) -> str:
        """SHA-256 of what is simulated, whatever the seed and wherever its files are.

        Contents of files count, as they are now, not their names; nor do titles, and what a run
        writes.
        """
        return self.digest_given(self._known)

    def digest_given(self, known: Mapping[str, str | None]) -> str:
        """Return the digest, where those of some files are known, by what they are."""
        values = self._resolved.model_dump(exclude=set(ASIDE))
        return inputs.digest_with_files(values, self.files, known)

    @property
    def workload_digest(self) -> str:
        """SHA-256 of what the jobs follow from besides the seed: equal where they are equal."""
        workload = self._resolved.workload
        values: dict[str, Any] = {"workload": workload.model_dump()}
        if workload.model is not None or self._is_sized:
            values["procs"] = self._procs
        files = {name: path for name, path in self.files.items() if name in ("input", "events")}
        return inputs.digest_with_files(values, files, self._known)

    def _kept(self, name: str, make: Callable[[], _Made], *sections: str) -> _Made:
        """What is made of the files of some sections: once, and again when one has changed."""
        files = self.files.items()
        paths = [path for what, path in files if inputs.key_of(what)[0] in sections]
        stamps = [inputs.stamp_of(path) for path in paths]
        kept = self.__dict__.get(name)
        if kept is None or kept[0] != stamps:
            kept = self.__dict__[name] = stamps, make()
        made: _Made = kept[1]
        return made

    @property
    def policy(self) -> Policy:
        """The policy; a file of one's own is loaded."""
        keys = self._resolved
        make = partial(building.make_policy, keys.policy, keys.slurm)
        return self._kept("_policy", make, "policy", "slurm")

    @property
    def placement(self) -> Placement:
        """Which nodes a job gets."""
        make = partial(building.make_placement, self._resolved.policy)
        return self._kept("_placement", make, "policy")

    @cached_property
    def control(self) -> Control:
        """The service-rate control."""
        return building.make_control(self._resolved.control)

    @property
    def nodes(self) -> Cluster | None:
        """The cluster of a file or of counts; None where processors are only counted."""
        keys, strict = self._resolved.cluster, self.keys.workload.strict
        if self.keys.slurm.conf is not None and keys.nodes is None and keys.procs is None:
            return self._machine_of_slurm
        return self._kept("_nodes", partial(building.make_nodes, keys, strict=strict), "cluster")

    @property
    def _machine_of_slurm(self) -> Cluster:
        """The machine of the ``slurm.conf``, for any policy; it has no watts of its own."""

        def made() -> Cluster:
            policy = self.policy
            if not isinstance(policy, SlurmPolicy):
                policy = policy_from_slurm(self._resolved.slurm.conf or "")
            return replace(policy.cluster, power=building.make_power(self._resolved.power))

        return self._kept("_site", made, "slurm", "policy")

    @property
    def _procs(self) -> int | None:
        nodes = self.nodes
        return self.keys.cluster.procs if nodes is None else nodes.procs

    def cluster_for(self, jobs: Jobs) -> Cluster:
        """Return the machine on which these jobs run."""
        nodes = self.nodes
        if nodes is not None:
            return nodes
        procs = self.keys.cluster.procs
        if procs is None:
            procs = machine_size(jobs, None, self.source.name_of("cluster.procs"))
        return Cluster.homogeneous(procs, power=building.make_power(self._resolved.power))

    @property
    def _has_events(self) -> bool:
        """Whether anything happens from outside."""
        keys = self.keys
        fails, is_kept_free = keys.failures != FailureKeys(), keys.maintenance != MaintenanceKeys()
        return keys.workload.events is not None or fails or is_kept_free

    @property
    def is_random(self) -> bool:
        """Whether another seed gives another run."""
        drawn = self.control.draws or self.placement.rule == "random"
        drawn = drawn or (self.keys.defer.kind != "none" and is_drawn(self.keys.defer.who))
        failures = self.keys.failures
        drawn = drawn or (failures.mtbf is not None and failures.seed is None)
        return drawn or workloads.is_random(self.keys.workload)

    def log(self) -> Jobs | None:
        """Return the log, cleaned, before anything is drawn from it; None for a model."""
        if self.keys.workload.model is not None:
            return None
        whole = self.keys.run.format == "swf"
        procs = self._procs if self._is_sized else None
        return workloads.read_workload(self._resolved.workload, procs, whole=whole)

    def raw_log(self, only: Sequence[str] | None = None) -> Jobs:
        """Return the log as it stands; `only` names the columns that are needed."""
        with self.locating("workload"):
            return workloads.read_raw(self._resolved.workload, only)

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the cleaning rules that the log is put through."""
        keys = self.keys.workload
        return chosen_rules(keys.rules, keep_zero=keys.keep_zero)

    def cleaned(self, jobs: Jobs, procs: int | None = None) -> Jobs:
        """Return jobs of the log after cleaning, for a machine of so many processors."""
        option = self.source.name_of("cluster.procs")
        return workloads.clean_log(self._resolved.workload, jobs, procs, option)

    def with_log(self, log: Jobs | None, digest: str | None = None) -> Scenario:
        """Return the scenario with its log at hand, as `log` has read it: no file is needed.

        Parameters
        ----------
        log : cleaned.
        digest : SHA-256 of its file, which is part of that of the scenario.
        """
        return replace(self, given_log=log, given_digest=digest)

    def workload(self, seed: int | None = None) -> Jobs:
        """Return the jobs: a log, blocks of it drawn anew, or those of a model.

        Parameters
        ----------
        seed : of what is drawn; default: ``run.seed``. Scenarios with the same workload have the
            same jobs for the same seed (common random numbers).
        """
        chosen = self.keys.run.seed if seed is None else seed
        log = self.log() if self.given_log is None else self.given_log
        return workloads.make_workload(self._resolved.workload, log, self._procs, chosen)

    def check_parts(self) -> None:
        """Make the policy, the placement, the control and the nodes; an error says of which key."""
        for part, key in _PARTS.items():
            with self.locating(*key):
                getattr(self, part)

    def read_jobs(self, say: Callable[[str], None] | None = None) -> Jobs:
        """Return the jobs, for which there is a machine, a bill and every class.

        Parameters
        ----------
        say : called with what is taken for granted.
        """
        with self.locating("workload"):
            jobs = self.workload()
        with self.locating("power", "starts"):
            self._check_cost(jobs)
        with self.locating("run", "by"):
            for name in self.keys.run.by or ():
                check_known(jobs, name)
        with self.locating("cluster", "procs"):
            self.cluster_for(jobs)
        if say is not None and self.keys.cluster.procs is None and self.nodes is None:
            words = size_in_words(jobs, None, self.source.name_of("cluster.procs"))
            if words:
                say(words)
        if say is not None and self.nodes is None:
            words = building.power_in_words(self.keys.power, self.source.name_of)
            if words:
                say(words)
        return jobs

    def _check_cost(self, jobs: Jobs) -> None:
        """Raise OptionError now for what could not be billed after the run."""
        power = self.keys.power
        if power.price is None and power.carbon is None and power.starts is None:
            return
        from ..measures.cost import Clock, parse_carbon, parse_price

        clock = Clock.of(jobs.header, power.starts)
        if power.carbon is not None:
            parse_carbon(self.files.get("carbon", power.carbon), clock)
        if power.price is not None:
            parse_price(self.files.get("price", power.price), clock)

    @property
    def currency(self) -> str:
        """Of the price of a kWh; empty where there is none, or it says none."""
        from ..measures.cost import Clock, parse_price

        price = self.keys.power.price
        if price is None:
            return ""
        return parse_price(self.files.get("price", price), Clock.epoch()).currency

    def preload(self, *, decisions: bool = False) -> None:
        """Load the compiled code that a run needs, or compile it.

        Parameters
        ----------
        decisions : whether every decision will be kept.
        """
        from . import simulate  # noqa: F401  (what comes before and after the engine)
        from .build.engine import preload

        nodes, policy = self.nodes, self.keys.policy
        if self.keys.power.cap is not None or (nodes is not None and nodes.caps):
            # Caps have kernels of their own, which depend on the jobs as well.
            return
        if self.keys.control.domains is not None:
            # And so have domains.
            return
        preload(
            self.policy,
            self.control,
            anew=policy.sleep != "never" or policy.foresight == "log",
            named=nodes is not None and nodes.is_named,
            queues=nodes is not None and take_turns(nodes, self.policy),
            decisions=decisions,
            events=self._has_events,
        )

    def run(
        self,
        jobs: Jobs,
        seed: int | None = None,
        *,
        record: bool = False,
        decisions: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Result:
        """Simulate jobs.

        Parameters
        ----------
        jobs : as from `workload`.
        seed : of a random control or placement; default: ``run.seed``.
        record, decisions : keep the trajectory, and every decision with its reason.
        progress : called with (jobs arrived, jobs) from time to time.
        """
        from .simulate import simulate

        options = self.options(jobs)
        options |= {"record": record, "decisions": decisions}
        if seed is not None:
            options["seed"] = seed
        cluster = self.cluster_for(jobs)
        result = simulate(
            jobs, cluster, self.policy, rate=self.control, progress=progress, **options
        )
        if self.keys.workload.warmup != "mser":
            return result
        from ..measures.warmup import common_cut

        return result.after_warmup(common_cut([result]))

    def options(self, jobs: Jobs) -> dict[str, Any]:
        """Return what `sojourn.simulate` is given for these jobs, which are cleaned already.

        Keywords of keys that hold their defaults are left out.
        """
        keys = self._resolved
        held = {
            name: reduce(getattr, key.path, keys) for name, key in described_by_keyword().items()
        }
        made: dict[str, Callable[[], Any]] = {
            "events": lambda: workloads.read_external_events(keys.workload),
            "warmup": lambda: self._jobs_left_out(jobs),
            "placement": lambda: self.placement,
            "constraints": lambda: building.make_constraints(keys.policy.constraints),
            "failures": lambda: make_failures(keys.failures),
            "checkpoint": lambda: make_checkpoint(keys.checkpoint),
            "maintenance": lambda: make_maintenance(keys.maintenance),
        }
        options = {
            name: made[name]() if name in made else held[name]
            for name, key in described_by_keyword().items()
            if held[name] != key.default
        }
        return {**options, "clean": (), "record": keys.run.trajectory}

    def _jobs_left_out(self, jobs: Jobs) -> int:
        """How many jobs come before those that measures are of."""
        warmup = self.keys.workload.warmup
        if isinstance(warmup, str):  # Found after the run.
            return 0
        return int(warmup * len(jobs)) if isinstance(warmup, float) else warmup

    def summary(self, result: Result) -> dict[str, float]:
        """Return every measure of a run as one number with a name, such as ``wait_mean``.

        Names are those of a comparison where it has them; what a run does not have is left out.
        """
        from ..measures.registry import flat_summary

        return flat_summary(result.summary, self.control.rates)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is compiled or read, and the lines of the file."""
        return {
            "given": self.given,
            "keys": self.keys,
            "folder": self.folder.absolute(),
            "source": self.source.changed(),
            "given_log": None,
            "given_digest": None,
        }


def scenario_of(given: Scenario | Mapping[str, Any] | str | os.PathLike[str]) -> Scenario:
    """Return a scenario from what stands for it: itself, the values of its keys, or its file."""
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        return Scenario.from_mapping(given)
    return read_scenario(given)


def read_scenario(path: str | os.PathLike[str]) -> Scenario:
    """Read a scenario in TOML; files that it names are looked for relative to it.

    Raises
    ------
    OptionError
        When it is not TOML, has a key that is not known, or a value that its key cannot have:
        with the line, the key and the nearest valid name.
    """
    given, source = read_toml(path)
    return Scenario.from_mapping(given, Path(path).parent, source)
