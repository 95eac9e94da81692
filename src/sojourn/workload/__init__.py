"""What arrives at a cluster: jobs, their logs, and how logs are cleaned.

- `jobs`: `Jobs`, the columns of a job stream; `header`: the comments of its log
- `log`: `read_log` and `write_log`, by the file's suffix; `intake`: from a file to a run
- `swf`, `csv`, `parquet`, `hpcwld`, `sacct`, `jobcomp`, `pbs`: the formats
- `_synonyms`, `_columns`, `_values`, `_cells`, `_sheet`: tables of others, and `_arrow`,
  `_frames`: data frames, on their way to jobs
- `events`: what happened to a manager, and what it did; `external`: what will happen to a run
- `clean`: cleaning rules and their report

Nothing here imports Numba or pandas before it is needed.
"""

from ._sniff import format_of
from .clean import RULES, STANDARD, CleaningReport, clean
from .csv import read_csv, write_csv
from .events import EventStream, events_of, read_events
from .external import ExternalEvent, ExternalEvents, read_external
from .header import Header
from .hpcwld import read_hpcwld
from .jobcomp import read_jobcomp
from .jobs import Jobs
from .log import read_log, write_log
from .parquet import read_parquet, write_parquet
from .pbs import read_pbs
from .sacct import read_sacct
from .schema import SCHEMA
from .swf import read_swf, write_swf

__all__ = [
    "RULES",
    "SCHEMA",
    "STANDARD",
    "CleaningReport",
    "EventStream",
    "ExternalEvent",
    "ExternalEvents",
    "Header",
    "Jobs",
    "clean",
    "events_of",
    "format_of",
    "read_csv",
    "read_events",
    "read_external",
    "read_hpcwld",
    "read_jobcomp",
    "read_log",
    "read_parquet",
    "read_pbs",
    "read_sacct",
    "read_swf",
    "write_csv",
    "write_log",
    "write_parquet",
    "write_swf",
]
