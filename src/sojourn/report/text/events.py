"""What external events did, as rows of a table of facts."""

from __future__ import annotations

from typing import Any

from .layout import HOUR

__all__ = ["event_rows"]


def event_rows(told: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the summary of a run tells of external events; nothing if there were none."""
    if "events" not in told:
        return []
    events = told["events"]
    parts = [
        f"{events[name]:,} {word}"
        for name, word in (
            ("cancelled", "cancelled"),
            ("killed", "killed"),
            ("restarts", "restarted"),
            ("waiting", "left waiting for ever"),
        )
        if events[name]
    ]
    rows = [("events", f"{events['given']:,}: " + (", ".join(parts) or "no job was struck"))]
    hours = [
        f"{events[name] / HOUR:,.1f} processor-hours {word}"
        for name, word in (("down_processor_seconds", "down"), ("lost_processor_seconds", "lost"))
        if events[name]
    ]
    if hours:
        rows.append(("", ", ".join(hours)))
    for reason, count in events["unused"].items():
        rows.append(("", f"{count:,} without meaning here: {reason}"))
    return rows
