"""Platforms of Batsim: hosts with power states, as SimGrid describes them in XML [batsim]."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

from ..errors import ClusterError, OptionError
from ..files.access import PathName
from ._table import read_text
from .cluster import Cluster
from .report import ClusterReport
from .server import LEVELS, Node, Server
from .states import PowerLevel, PowerStates, SleepState

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_WATTS = {"": 1.0, "W": 1.0, "kW": 1e3, "MW": 1e6}
_MOST_HOSTS = 1_000_000
_SPEED = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([kMGTPEZ]?)(?:f|flops)?")
_POWER = re.compile(r"\s*(\S*?)\s*(W|kW|MW)?\s*")


class Pstate(NamedTuple):
    """A state of a host: flop/s of a core, W when idle, at a load close to 0, and at full load."""

    speed: float
    idle: float
    least: float
    full: float


@dataclass(frozen=True)
class BatsimHost:
    """A host of a platform.

    `sleep` has, by the number of a sleep state, those of the states that stand for switching off to
    it and for switching on from it.
    """

    name: str
    cores: int
    pstates: tuple[Pstate, ...]  # as they are numbered; virtual ones stand for switching
    sleep: Mapping[int, tuple[int, int]]
    off_watts: float  # W

    def seconds(self, virtual: int) -> float:
        """How long switching takes: a virtual state stands for it, in which 1 flop is computed."""
        return 1.0 / self.pstates[virtual].speed

    @property
    def computing(self) -> tuple[int, ...]:
        """Numbers of the states in which it computes."""
        other = {number for pair in self.sleep.values() for number in pair} | set(self.sleep)
        return tuple(number for number in range(len(self.pstates)) if number not in other)


def read_hosts(path: PathName) -> tuple[BatsimHost, ...]:
    """Read the hosts of a platform in XML, in Batsim's order, without the one of its scheduler.

    ClusterError is raised where it is no platform, or a host says what cannot be.
    """
    from .slurm.reading import natural_order

    try:
        # SimGrid takes blank lines before the declaration, which XML does not allow.
        root = ElementTree.fromstring(read_text(path).lstrip())
    except ElementTree.ParseError as error:
        raise ClusterError(path, f"is not XML ({error}); check the file") from None
    if root.tag != "platform":
        raise ClusterError(path, f"holds a '{root.tag[:40]}', but no platform; check the file")
    hosts: dict[str, BatsimHost] = {}
    for element in root.iter():
        if element.tag not in ("host", "cluster"):
            continue
        properties = {prop.get("id", ""): prop.get("value", "") for prop in element.iter("prop")}
        for name in _names(path, element):
            if not name or name in hosts:
                raise ClusterError(path, f"two hosts are called '{name[:40]}'; rename one")
            roles = properties.get("role", "compute_node")
            if name != "master_host" and "compute_node" in roles and "master" not in roles:
                hosts[name] = _host(path, name, element, properties)
    if not hosts:
        raise ClusterError(path, "has no host that computes; add <host> or <cluster>")
    return tuple(sorted(hosts.values(), key=lambda host: natural_order(host.name)))


def _names(path: PathName, element: Element) -> list[str]:
    """Return the name of a host, or those of the hosts of a cluster: ``radical="0-3,7"``."""
    if element.tag == "host":
        return [element.get("id", "")]
    radical = element.get("radical", "")
    numbers: list[int] = []
    for part in radical.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        last = last if dash else first
        is_range = first.isdecimal() and last.isdecimal() and int(first) <= int(last)
        if not is_range or len(numbers) + int(last) - int(first) >= _MOST_HOSTS:
            problem = f"'{radical[:40]}' are no numbers of hosts; write for example 0-31"
            field = f"cluster {element.get('id', '')[:40]}: radical"
            raise ClusterError(path, problem, field=field)
        numbers += range(int(first), int(last) + 1)
    return [f"{element.get('prefix', '')}{n}{element.get('suffix', '')}" for n in numbers]


def _host(path: PathName, name: str, element: Element, properties: Mapping[str, str]) -> BatsimHost:
    def wrong(field: str, problem: str) -> ClusterError:
        return ClusterError(path, problem, field=f"host {name}: {field}")

    def number(field: str, text: str) -> float:
        try:
            match = _POWER.fullmatch(text)
            value = float(match[1]) * _WATTS[match[2] or ""] if match else math.nan
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise wrong(field, f"'{text.strip()[:40]}' is not a number of at least 0; correct it")
        return value

    def property_of(field: str) -> str:
        # SimGrid 3.26 renamed its properties.
        return properties.get(field, properties.get(field.replace("watt_", "wattage_"), ""))

    speeds = []
    for text in element.get("speed", "").split(","):
        match = _SPEED.fullmatch(text.strip())
        if match is None or float(match[1]) <= 0:
            raise wrong("speed", f"'{text.strip()[:40]}' is no speed; write for example 100Mf")
        speeds.append(float(match[1]) * _UNITS[match[2]])
    written = property_of("watt_per_state")
    texts = written.split(",") if written else ["0:0"] * len(speeds)
    if len(texts) != len(speeds):
        problem = f"watts of {len(texts)} states, but {len(speeds)} speeds; give one for each"
        raise wrong("watt_per_state", problem)
    pstates = []
    for speed, text in zip(speeds, texts, strict=True):
        watts = [number("watt_per_state", part) for part in text.split(":")]
        if len(watts) not in (2, 3):
            problem = f"'{text.strip()[:40]}' is not idle:full or idle:least:full; correct it"
            raise wrong("watt_per_state", problem)
        pstates.append(Pstate(speed, watts[0], watts[-2], watts[-1]))
    sleep: dict[int, tuple[int, int]] = {}
    for text in filter(None, properties.get("sleep_pstates", "").split(",")):
        parts = text.strip().split(":")
        if len(parts) != 3 or not all(part.strip().isdecimal() for part in parts):
            problem = f"'{text.strip()[:40]}' is not sleep:off:on, three numbers of states"
            raise wrong("sleep_pstates", problem)
        state, off, on = map(int, parts)
        if max(state, off, on) >= len(pstates):
            problem = f"state {max(state, off, on)}, but the last is {len(pstates) - 1}"
            raise wrong("sleep_pstates", problem)
        sleep[state] = off, on
    used = [*sleep, *(number for pair in sleep.values() for number in set(pair))]
    if set(sleep).intersection(used[len(sleep) :]):
        raise wrong("sleep_pstates", "a state is both asleep and switching; number them apart")
    if len(set(used)) == len(pstates):
        raise wrong("sleep_pstates", "leaves no state to compute in; add one")
    cores = element.get("core", "1")
    if not cores.isdecimal() or int(cores) < 1:
        raise wrong("core", f"'{cores[:40]}' is no number of cores; correct it")
    off_watts = number("watt_off", property_of("watt_off") or "0")
    return BatsimHost(name, int(cores), tuple(pstates), sleep, off_watts)


def read_batsim_cluster(path: PathName, *, processor: str = "core") -> Cluster:
    """Read a platform as a cluster: a node for each host, with its levels and depths of sleep.

    A node's speed is in flop/s, that of all of its cores. Its watts by load are those of its first
    state; the watts close to load 0, where they differ from those of an idle host, are in the watts
    at 10 % of load and more.
    """
    hosts = read_hosts(path)
    has_watts = all(pstate.full for host in hosts for pstate in host.pstates[:1])
    servers: dict[object, Server] = {}
    nodes = []
    try:
        for host in hosts:
            key = (host.cores, host.pstates, tuple(host.sleep.items()), host.off_watts)
            if key not in servers:
                servers[key] = _server(host, f"host-{len(servers) + 1}", has_watts)
            nodes.append(Node(host.name, servers[key]))
        count = len(hosts)
        report = ClusterReport(str(path), "batsim", count, count, count)
        return Cluster.of(nodes, processor=processor, report=report)
    except OptionError as error:
        raise ClusterError(path, str(error)) from None


def _server(host: BatsimHost, model: str, has_watts: bool) -> Server:
    first, *_ = levels = [host.pstates[number] for number in host.computing]
    above = (first.least + (first.full - first.least) * level for level in LEVELS[1:])
    sleep = tuple(
        SleepState(
            f"pstate {number}",
            host.pstates[number].idle,
            enter=host.seconds(off),
            enter_watts=host.pstates[off].idle,
            leave=host.seconds(on),
            leave_watts=host.pstates[on].idle,
        )
        for number, (off, on) in host.sleep.items()
    )
    made = [PowerLevel(at.speed / first.speed, at.full, at.idle, at.least) for at in levels]
    return Server(
        model=model,
        cores=host.cores,
        ops=first.speed * host.cores,  # SimGrid's speed is that of a core.
        watts=(first.idle, *above) if has_watts else (),
        states=PowerStates(sleep, tuple(made) if len(made) > 1 else (), host.off_watts),
    )
