"""Tables and figures of the papers, made again.

- `registry`: what a reproduction is, and the list of them
- one module per paper, named after its key in the bibliography

A reproduction is a function with the decorator `reproduction`; a paper's module is found by being
here. See `docs/background/reproductions` for how close each one comes.
"""

from __future__ import annotations

from .registry import Outcome, Reproduction, Request, catalogue, find, reproduction, write

__all__ = ["Outcome", "Reproduction", "Request", "catalogue", "find", "reproduction", "write"]
