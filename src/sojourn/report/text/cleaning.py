"""What reading and cleaning a log did."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from .layout import new_console

__all__ = ["show_report"]


def show_report(report: dict[str, Any]) -> None:
    """Print what reading and cleaning did; nothing if they changed nothing."""
    if not report["findings"]:
        return
    console = new_console()
    console.print(Text(f"{report['read']:,} jobs read, {report['kept']:,} kept"))
    for finding in report["findings"]:
        count, unit = finding["count"], finding["unit"]
        plural = "" if count == 1 else "s"
        more = ", ..." if count > len(finding["first"]) else ""
        listed = ", ".join(map(str, finding["first"]))
        first = f" (first: {unit} {listed}{more})" if listed else ""
        line = f"  {finding['action']} {finding['rule']}: {count:,} {unit}{plural}, "
        console.print(Text(line + finding["what"] + first), style="yellow")
    console.print()
