"""Servers that can be named without a file: published facts of SPECpower_ssj2008 results.

The first six are those of the example cluster in [gomez2012, table 2]; the others are two-socket
and one-socket servers of the years since.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from ..errors import OptionError, nearest
from ._table import key
from .cluster import Cluster
from .server import Server

_ASIDE = re.compile(r"\([^)]*\)|\[[^\]]*\]|[®™]|[,:(@].*")
_CLOCK = re.compile(r"\b\d+(\.\d+)?\s*[GM]Hz\b", re.IGNORECASE)
_NOISE = re.compile(
    r"\b(intel|amd|arm|ampere|processor|cpu|64-bit|multi-core|soc|"
    r"(\d+|dual|quad|six|eight|twelve)[ -]cores?)\b",
    re.IGNORECASE,
)
# Parts of a name that belong to the number before them.
_SUFFIX = re.compile(r"(?<=[\dLP])\s+(v\d|HE|EE|SE)\b|(?<=[\dLP])(v\d)\b", re.IGNORECASE)
# Families whose numbers are known without them.
_FAMILY = re.compile(
    r"^(xeon|core|xeon e(?= e))\s+(?=[a-z]+\d*-?\d|platinum|gold|silver|bronze)", re.IGNORECASE
)

_LEGAL = re.compile(
    r"(?<![\s,])[\s,]++(inc|incorporated|incoporated|corporation|corp|company|co|ltd|limited|sas|gmbh|ag)"
    r"\.?(?=[\s,]|$)",
    re.IGNORECASE,
)

_COUNTS = {
    "single": 1,
    "dual": 2,
    "quad": 4,
    "six": 6,
    "hexa": 6,
    "eight": 8,
    "octa": 8,
    "ten": 10,
    "twelve": 12,
}
_CORES = re.compile(rf"\b(\d+|{'|'.join(_COUNTS)})[\s-]*cores?\b", re.IGNORECASE)

_LONGEST_HINT = 300


@lru_cache(maxsize=1 << 10)
def model_name(processor: str) -> str:
    """Return a short name of a processor, without blanks.

    >>> model_name("Intel Xeon X5670 Processor"), model_name("AMD EPYC 7742 2.25GHz")
    ('X5670', 'EPYC-7742')
    """
    text = re.sub(r"\((r|tm)\)", "", processor, flags=re.IGNORECASE)
    text = _CLOCK.sub(" ", _ASIDE.sub(" ", text))
    text = " ".join(_NOISE.sub(" ", text).split())
    text = _SUFFIX.sub(lambda m: _suffix(m[1] or m[2]), text)
    text = re.sub(r"^Xeon-D\b", "D", text, flags=re.IGNORECASE)
    text = "".join(sign for sign in _FAMILY.sub("", text) if sign.isprintable())
    # Nor what a spreadsheet would take for a formula.
    return text.strip(" -").lstrip("=+-@ ").replace(" ", "-") or "server"


def _suffix(text: str) -> str:
    return text.lower() if text[0] in "vV" else text.upper()


@lru_cache(maxsize=1 << 10)
def vendor_name(vendor: str) -> str:
    """Return a vendor's name without its legal form.

    >>> vendor_name("Acer Incorporated"), vendor_name("Huawei Technologies Co., Ltd")
    ('Acer', 'Huawei Technologies')
    """
    return " ".join(_LEGAL.sub("", vendor).split()).strip(" ,.") or vendor.strip()


def cores_in_words(characteristics: str) -> int | None:
    """Return the cores of a chip in a processor's description, if it has them.

    >>> cores_in_words("Quad-Core, 2.93GHz, 8MB L3 Cache"), cores_in_words("2.50 GHz, 1333 MHz bus")
    (4, None)
    """
    match = _CORES.search(characteristics)
    if match is None:
        return None
    word = match[1].lower()
    return _COUNTS.get(word) or int(word)


@cache
def library() -> Cluster:
    """Return the built-in servers as a cluster with one node of each, named by its model."""
    # Operations per second are those at 100 % load; watts those at idle, 10 %, ..., 100 %.
    with open(Path(__file__).with_name("servers.csv"), encoding="utf-8", newline="") as file:
        return Cluster.of(map(_server, csv.DictReader(file)))


def _server(row: Mapping[str, str]) -> Server:
    model, available = row["model"], row["hw_available"]
    return Server(
        model=model,
        cores=int(row["cores"]),
        ops=float(row["ops"]),
        watts=tuple(map(float, row["watts"].split())),
        chips=int(row["chips"]),
        memory=float(row["memory"]),
        facts={
            **{name: row[name] for name in ("vendor", "system", "published", "hw_available")},
            "processor": model.replace("-", " ") if model.startswith("EPYC") else f"Xeon {model}",
            "year": int(available[:4]),
            "nodes": 1,
            "threads_per_core": float(row["threads_per_core"]),
            "mhz": float(row["mhz"]),
        },
    )


def find_server(name: str, catalogue: Cluster | None = None) -> Server:
    """Return the server of a name.

    Parameters
    ----------
    name : of a node, a model or a system; case, blanks and signs do not matter.
    catalogue : where to look; None is the built-in `library`. Of several servers of one model it
        is the first.

    Raises
    ------
    OptionError
        When there is none; the message names the nearest.
    """
    servers = catalogue if catalogue is not None else library()
    known = _index(servers)
    for wanted in (key(name), key(model_name(name))):
        if wanted in known:
            return known[wanted]
    hint = nearest(model_name(name), dict.fromkeys(node.server.model for node in servers.nodes))
    if len(hint) > _LONGEST_HINT:
        hint = "sojourn cluster inspect shows the names"
    raise OptionError(f"no server is called '{name[:60]}'; {hint}")


def _index(catalogue: Cluster) -> dict[str, Server]:
    known = {key(node.name): node.server for node in reversed(catalogue.nodes)}
    for of in ("model", "system"):
        for node in catalogue.nodes:
            name = node.server.model if of == "model" else str(node.server.facts.get("system", ""))
            if name:
                known.setdefault(key(name), node.server)
    return known
