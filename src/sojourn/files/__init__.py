"""Files, read within bounds and written whole or not at all.

- `access`: bytes and text of a file, unpacked; a file put in place when it is complete
- `lines`: the lines of a text, and where an error stands in them; `toml`: values from and to TOML
- `staging`: the files of a run, put in place together
- `ledger`: which files a command reads and writes, so that no input is overwritten
"""
