"""The energy bill: what each job used, what idle processors used, and the power over time.

- `nodes`: nodes with names, which jobs may share, and the energy of jobs as a paper counts it
- `counted`: equal servers, only counted
- `states`: the ledger of nodes that sleep, switch and fail
- `capped`: power beside its cap
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
