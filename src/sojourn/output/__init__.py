"""A run on disk: tables of jobs, schedule and trajectory, and the summary with its provenance.

- `run`: the files of a run; `tables`: large tables, piece by piece
- `provenance`: where results are from
- `folder`: files that get their names together, or not at all
"""

from __future__ import annotations

from .folder import as_json, check_file, check_folder, put_rows, staged, write_rows
from .provenance import Digest, provenance
from .run import FORMATS, Write, check_run, class_tables, stage_run, write_run
from .tables import as_cell

__all__ = [
    "FORMATS",
    "Digest",
    "Write",
    "as_cell",
    "as_json",
    "check_file",
    "check_folder",
    "check_run",
    "class_tables",
    "provenance",
    "put_rows",
    "stage_run",
    "staged",
    "write_rows",
    "write_run",
]
