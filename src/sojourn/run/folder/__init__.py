"""A run on disk: tables of jobs, schedule and trajectory, and the summary with its provenance.

- `writing`: the files of a run
- `files`: JSON and tables, of which large ones are written piece by piece; where results are from
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
