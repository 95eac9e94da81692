"""Results as text for people: units, thousands, the best marked.

- `layout`: how tables and numbers look
- `facts`: what a log holds, and what became of it
- `summary`: a run; `comparison`: several; `classes`: jobs by user, partition and so on
- `capacity`: whether a machine keeps up, and how large it must be; `fitting`: models from a log
- `adequacy`: how far a model is from what it models
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
