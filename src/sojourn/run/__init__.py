"""A run: described once, and carried out one way.

- `keys`: what there is to say of a run; every option, keyword and key of a file comes from there
- `scenario`: the description of one run, from a file, a command or values; `schema`, `saving`
- `problems`, `checks`: what is wrong with it, in the words of whoever wrote it
- `workloads`, `building`, `inputs`: the jobs, the machine and the files that it names
- `carry_out`: read, clean, build, run, measure, write
"""
