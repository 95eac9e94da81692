"""Tables and figures of the papers, made again.

- `registry`: what a reproduction is, and the list of them
- one module per paper, named after its key in the bibliography

A reproduction is a function with the decorator `reproduction`; a paper's module is found by being
here. See `docs/background/reproductions` for how close each one comes.
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
