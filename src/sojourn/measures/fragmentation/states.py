"""What a part of a resource can be at a time."""

from __future__ import annotations

STATES = ("used", "stranded", "free", "down")
"""What a part of a resource can be at a time; `sojourn.fragmentation` says what they mean."""
