"""Is the machine big enough? Theory and simulation, side by side.

- `saturation`: how many jobs a machine can take, by working off a `backlog`
- `demand`: what a log asks for
- `stable`: whether a machine keeps up with a log, and the smallest that does
- `planning`: how many processors keep waits within a target; `targets`, `search` and `weeks`: what
  a target is, the sizes that are tried, and how it holds week by week
- `limits`: how many jobs finish within their time limits
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
