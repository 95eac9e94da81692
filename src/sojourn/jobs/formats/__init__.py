"""The formats of logs: one module each, with a reader and, where it makes sense, a writer.

- `swf`, `csv`, `parquet`, `hpcwld`, `sacct`, `jobcomp`, `pbs`; `submits`: what users asked for
- `scanning`: the compiled reader of SWF
- `slurm_fields`: the values that Slurm prints; `accounting`, `runs`: rows of accounting as jobs
- `frames`: data frames as jobs
"""
