"""What arrives at a cluster: jobs, their logs, and how logs are cleaned.

- `jobs`: `Jobs`, the columns of a job stream
- `log`: `read_log` and `write_log`, by the file's suffix
- `swf`, `csv`, `parquet`, `hpcwld`: the formats
- `clean`: cleaning rules and their report

Nothing here imports Numba or pandas before it is needed.
"""

from .clean import RULES, STANDARD, CleaningReport, clean
from .csv import read_csv, write_csv
from .hpcwld import read_hpcwld
from .jobs import SCHEMA, Header, Jobs
from .log import read_log, write_log
from .parquet import read_parquet, write_parquet
from .swf import read_swf, write_swf

__all__ = [
    "RULES",
    "SCHEMA",
    "STANDARD",
    "CleaningReport",
    "Header",
    "Jobs",
    "clean",
    "read_csv",
    "read_hpcwld",
    "read_log",
    "read_parquet",
    "read_swf",
    "write_csv",
    "write_log",
    "write_parquet",
    "write_swf",
]
