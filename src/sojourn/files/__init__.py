"""Files, read within bounds and written whole or not at all.

- `access`: bytes, lines and TOML of a file, unpacked; which files a command reads and writes
- `staging`: files put in place when they are complete, those of a run together
"""
