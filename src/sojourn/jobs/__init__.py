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

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
