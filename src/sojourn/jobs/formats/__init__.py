"""The formats of logs: one module each, with a reader and, where it makes sense, a writer.

- `swf`, with its compiled kernels in `scanning`; `csv`, `frames` (pandas, Arrow, Parquet), `hpcwld`
- `sacct`, `jobcomp`, `pbs`: records of a manager, which `accounting` and `runs` make jobs of
- `submits`: what users requested; `slurm_fields`, `clock`: values as logs write them
"""
