"""A run: described once, and carried out one way.

- `keys`: what there is to say of a run; every option, keyword and key of a file comes from there
- `scenario`: the description of one run, from a file or values; `command`: from options; `schema`
- `problems`, `toml`: a file as values, and what is wrong with it in the words of whoever wrote it
- `workloads`, `building`, `inputs`: the jobs, the machine and the files that it names;
  `together`: keys that do not go with each other
- `carry_out`: read, clean, build, run, measure, write; `peas`: the same under shorter names
- `simulate`, `step`, `slurm`: one run, from Python, to its end or decision by decision
- `build`: what the engine is handed; `outcome`: what came of it; `result`, `decisions`, `classes`
- `compare`: several runs side by side; `variants`: scenarios that differ in a few keys
- `folder`: a run on disk
"""
