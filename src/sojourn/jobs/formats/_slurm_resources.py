"""What jobs of Slurm ask for beside processors: GPUs, other generic resources, licences."""

from __future__ import annotations

import re
from functools import lru_cache

from .slurm_fields import UNKNOWN, count, trackable, whole

__all__ = ["gpu_types_among", "gpu_types_in", "gpus_among", "gpus_in", "licences_among"]
__all__ += ["known_text", "resources_among"]

_GRES, _GPU, _LICENCE = "gres/", "gres/gpu:", "license/"


def known_text(text: str) -> str:
    """Return a text, empty where it says that nothing is known."""
    word = text.strip()
    return "" if word.lower() in UNKNOWN else word


@lru_cache(maxsize=1 << 12)
def gpus_among(text: str) -> int:
    """Return the GPUs among trackable resources, in all; -1 where none are listed.

    >>> gpus_among("cpu=8,gres/gpu=4,gres/gpu:a100=4"), gpus_among("gres/gpu:a100=3,gres/gpu:t4=1")
    (4, 4)
    >>> gpus_among("cpu=8,node=1"), gpus_among("")
    (0, -1)
    """
    told = trackable(text)
    if not told:
        return -1
    if told.get("gres/gpu"):
        return count(told["gres/gpu"])
    return sum(count(told[name] or "0") for name in told if name.startswith(_GPU))


@lru_cache(maxsize=1 << 12)
def gpu_types_among(text: str) -> tuple[str, ...]:
    """Return the types of the GPUs among trackable resources.

    >>> gpu_types_among("cpu=8,gres/gpu=4,gres/gpu:a100=4"), gpu_types_among("gres/gpu=2")
    (('a100',), ())
    """
    told = trackable(text)
    names = [name for name in told if name.startswith(_GPU) and count(told[name] or "0") > 0]
    return tuple(name.removeprefix(_GPU) for name in names)


def gpus_in(text: str) -> int:
    """Return the GPUs per node of generic resources as they are asked for.

    >>> gpus_in("gpu:2"), gpus_in("gres:gpu:tesla:2,nic:1"), gpus_in("gpu:a100:4(S:0-1)")
    (2, 2, 4)
    """
    return sum(
        whole(words[-1]) if words[-1].isdecimal() else 1
        for words in _generic(text)
        if words[0] == "gpu"
    )


def gpu_types_in(text: str) -> tuple[str, ...]:
    """Return the types of the GPUs of generic resources as they are asked for.

    >>> gpu_types_in("gpu:2"), gpu_types_in("gres:gpu:tesla:2,nic:1"), gpu_types_in("gpu:a100")
    ((), ('tesla',), ('a100',))
    """
    asked = [words for words in _generic(text) if words[0] == "gpu" and len(words) > 1]
    return tuple(words[1] for words in asked if not words[1].isdecimal())


def _generic(text: str) -> list[list[str]]:
    parts = re.sub(r"\([^)]*\)?|gres[/:]|PER_NODE:", "", text).split(",")
    return [part.strip().split(":") for part in parts]


@lru_cache(maxsize=1 << 12)
def resources_among(text: str) -> str | None:
    """Return other generic resources among trackable ones, in all; None where none are listed.

    >>> resources_among("cpu=8,gres/gpu=4,gres/mic=2,gres/nic:ib=1"), resources_among("cpu=1")
    ('mic=2,nic=1', '')
    """
    told = trackable(text)
    if not told:
        return None
    amounts: dict[str, int] = {}
    for name, amount in told.items():
        kind, typed, _ = name.removeprefix(_GRES).partition(":")
        is_other = name.startswith(_GRES) and kind != "gpu" and amount != ""
        # The sum over all types is told beside them.
        if is_other and not (typed and f"{_GRES}{kind}" in told):
            amounts[kind] = amounts.get(kind, 0) + count(amount)
    return ",".join(f"{kind}={amount}" for kind, amount in amounts.items())


@lru_cache(maxsize=1 << 12)
def licences_among(text: str) -> str:
    """Return the licences among trackable resources.

    >>> licences_among("cpu=8,license/matlab=2,license/ansys=1")
    'matlab:2,ansys:1'
    """
    told = trackable(text)
    return ",".join(
        f"{name.removeprefix(_LICENCE)}:{count(amount)}"
        for name, amount in told.items()
        if name.startswith(_LICENCE) and amount
    )
