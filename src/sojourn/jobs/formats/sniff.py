"""What format a log has, by its suffix or its first lines."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ...files.access import read_bytes

__all__ = ["SUBMITS", "SUBMIT_COMMAND", "TOLD", "format_of"]

TOLD = ("sacct", "jobcomp", "pbs")
"""Formats of accounting, which only the content tells."""

SUBMITS = "slurm-events"
"""Submit commands with their instants, which the content tells as well."""

_SUFFIXES = {".swf": "swf", ".csv": "csv", ".parquet": "parquet"}
_PACKED = (".gz", ".xz")
_PBS = re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(\.\d+)?;[A-Za-z];")
SUBMIT_COMMAND = re.compile(r"-dt\s+(\d+(?:\.\d*)?)\s+-e\s+(\S+)\s*\|(.*)")
_SACCT = re.compile(r"(^|[^a-z0-9])jobid(raw)?([^a-z0-9=]|$)", re.IGNORECASE)
_HEAD = 1 << 16


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the name of a log's format.

    A suffix that is known decides; else the first line with something in it: ``JobId=`` is
    jobcomp, a stamp and a letter between semicolons PBS, column names or many fields between bars
    sacct, and anything else SWF.
    """
    file = Path(path)
    if file.suffix.lower() in _PACKED:
        file = file.with_suffix("")
    known = _SUFFIXES.get(file.suffix.lower())
    if known is not None:
        return known
    data = read_bytes(path)
    if data.startswith(b"PAR1"):
        return "parquet"
    text = data[:_HEAD].decode("latin-1").lstrip("ï»¿")
    first = next((line for line in text.splitlines() if line.strip()), "")
    if re.match(r"\s*JobId=\d", first):
        return "jobcomp"
    if SUBMIT_COMMAND.match(first.strip()):
        return SUBMITS
    if _PBS.match(first):
        return "pbs"
    if not first.lstrip().startswith(";") and (_SACCT.search(first) or first.count("|") > 2):
        return "sacct"
    return "swf"
