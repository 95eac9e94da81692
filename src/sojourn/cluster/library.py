"""Servers that can be named without a file: published facts of SPECpower_ssj2008 results.

The first six are those of the example cluster in [gomez2012, table 2]; the others are two-socket
and one-socket servers of the years since.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

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


# model, vendor, system, published, available, chips, cores, threads per core, MHz, memory (GB),
# operations per second at 100 %, watts at idle, 10 %, ..., 100 %.
_FACTS = """\
X3360|ASUSTeK Computer|RS100-E5|2009-01|2008-04|1|4|1|2833|4|165064\
|56.7 64 72.2 79.1 88.6 95.3 101 106 111 115 118
L5420|ASUSTeK Computer|RS160-E5|2008-11|2008-10|2|8|1|2500|8|270621\
|86 99 110 121 131 140 148 154 160 166 170
L5430|ASUSTeK Computer|RS160-E5|2008-11|2008-10|2|8|1|2666|8|278927\
|89.4 102 113 123 133 142 150 157 163 168 173
X3470|Acer|AT310 F1|2011-02|2010-03|1|4|2|2933|8|309401\
|35.4 46.1 51.2 57.5 64.6 71.6 82.6 94.8 106 117 125
E3-1260L|Acer|AC100|2011-09|2011-09|1|4|2|2400|8|295443\
|21.5 24.3 28.9 31.9 34.9 38.9 44.6 47.5 53 54.6 58
X5670|Acer|AR160 F1|2010-11|2010-06|2|12|2|2933|12|898544\
|76.9 125 138 149 164 181 200 219 236 250 267
E5-2670|Dell|PowerEdge R720|2012-03|2012-03|2|16|2|2600|24|1238930\
|51 75 84.5 95 110 120 137 159 187 217 231
E5-2699v3|Dell|PowerEdge R730|2015-02|2015-04|2|36|2|2300|64|3253450\
|46.9 87.8 107 124 141 156 171 191 215 243 272
E5-2699v4|Dell|PowerEdge R730|2016-05|2016-03|2|44|2|2200|128|3513210\
|44.6 84.8 102 120 136 150 163 181 205 238 272
Platinum-8180|Dell|PowerEdge R740|2017-09|2017-07|2|56|2|2500|192|5.73e6\
|52.3 129 147 170 195 224 255 292 344 408 457
EPYC-7601|Dell|PowerEdge R7425|2018-06|2018-05|2|64|2|2200|128|4.38e6\
|84.9 138 154 168 182 197 214 234 253 271 287
EPYC-7742|ASUSTeK Computer|RS700A-E9-RS4V2|2020-04|2020-02|2|128|2|2250|256|1.17e7\
|106 197 227 244 270 294 311 344 372 400 430
EPYC-7763|Hewlett Packard Enterprise|ProLiant DL325 Gen10 Plus|2021-03|2021-03|1|64|2|2450|128\
|6.34e6|56.8 100 116 130 143 162 191 211 231 250 268
Platinum-8380|ASUSTeK Computer|RS720-E10-R12|2022-01|2021-08|2|80|2|2300|256|8.96e6\
|110 181 212 244 269 303 342 386 443 514 623
EPYC-9654P|Dell|PowerEdge R7615|2023-09|2023-02|1|96|2|2400|192|1.12e7\
|77.4 145 168 190 211 231 249 269 301 327 347
Platinum-8490H|ASUSTeK Computer|ESC4000-E11|2023-11|2023-07|2|120|2|1900|256|1.51e7\
|181 268 306 339 372 411 454 509 570 654 775
"""

_LONGEST_HINT = 300


@cache
def library() -> Cluster:
    """Return the built-in servers as a cluster with one node of each, named by its model."""
    return Cluster.of(_server(line.split("|")) for line in _FACTS.splitlines())


def _server(cells: list[str]) -> Server:
    model, vendor, system, published, available, *rest = cells
    chips, cores, threads, mhz, memory, ops, watts = rest
    return Server(
        model=model,
        cores=int(cores),
        ops=float(ops),
        watts=tuple(map(float, watts.split())),
        chips=int(chips),
        memory=float(memory),
        facts={
            "vendor": vendor,
            "system": system,
            "processor": model.replace("-", " ") if model.startswith("EPYC") else f"Xeon {model}",
            "published": published,
            "hw_available": available,
            "year": int(available[:4]),
            "nodes": 1,
            "threads_per_core": float(threads),
            "mhz": float(mhz),
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
