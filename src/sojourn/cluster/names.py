"""Names as people say them: models of processors, vendors."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["cores_told", "model_name", "vendor_name"]

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


def cores_told(characteristics: str) -> int | None:
    """Return the cores of a chip that a processor's description tells, if it does.

    >>> cores_told("Quad-Core, 2.93GHz, 8MB L3 Cache"), cores_told("2.50 GHz, 1333 MHz bus")
    (4, None)
    """
    found = _CORES.search(characteristics)
    if found is None:
        return None
    word = found[1].lower()
    return _COUNTS.get(word) or int(word)
