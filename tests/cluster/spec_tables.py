"""Tables in the form that SPEC publishes, made up; imports nothing from sojourn."""

from __future__ import annotations

import csv
import io
from typing import Any

LEVELS = range(100, 0, -10)

# As in the published table of 2024, stray tabs and all.
HEADER = [
    "Benchmark",
    "Benchmark Version",
    "Hardware Vendor\t",
    "System",
    "Nodes\t",
    "Form Factor\t",
    "Result",
    *(f"ssj_ops @ {p}% of target load\t" for p in LEVELS),
    *(f"Average watts @ {p}% of target load\t" for p in range(100, 10, -10)),
    "Average watts@10% of target load\t",
    "Average watts @ active idle\t",
    *(f"Performance/power @ {p}% of target load\t" for p in LEVELS),
    "# Cores",
    "# Chips ",
    "# Cores Per Chip ",
    "# Threads Per Core",
    "Processor ",
    "Processor MHz",
    "Processor Characteristics",
    "CPU(s) Orderable",
    "1st Level Cache",
    "2nd Level Cache",
    "Memory (GB)",
    "Operating System",
    "DIMMS",
    "Memory Description\t",
    "Disk Drive ",
    "Power Supply Rating (watts)",
    "HW Avail",
    "Hardware release year",
    "SW Avail",
    "Tested By",
    "Published",
    "Disclosures",
]


def row(**changes: Any) -> list[str]:
    """Return a row that agrees with itself, but for `changes` by column name (stripped).

    nodes, chips, each (cores of a chip), ops, full, idle (W) and memory say which server it is.
    """
    usual = {
        "nodes": 1,
        "chips": 2,
        "each": 4,
        "ops": 400_000,
        "full": 200.0,
        "idle": 80.0,
        "memory": 16,
    }
    told: dict[str, Any] = {name: changes.pop(name, value) for name, value in usual.items()}
    nodes = told["nodes"]
    cells: dict[str, Any] = {
        "Benchmark": "power_ssj2008",
        "Benchmark Version": "1.2",
        "Hardware Vendor": "Fuji Machines, Inc.",
        "System": "Model 7 (Intel Xeon X5570, 2.93 GHz)",
        "Nodes": nodes,
        "Form Factor": "1U",
        "# Cores": told["chips"] * told["each"],
        "# Chips": told["chips"],
        "# Cores Per Chip": told["each"],
        "# Threads Per Core": 2,
        "Processor": "Intel Xeon X5570",
        "Processor MHz": 2933,
        "Processor Characteristics": f"{told['each']}-Core, 2.93 GHz, 8 MB L3 Cache",
        "CPU(s) Orderable": "1,2 chips",
        "1st Level Cache": "32 KB I + 32 KB D on chip per core",
        "2nd Level Cache": "256 KB I+D on chip per core",
        "Memory (GB)": told["memory"],
        "Operating System": "Some System",
        "DIMMS": f"{told['memory'] // nodes} x 1024 MB",
        "Memory Description": "1GB ECC; slots 1, 2",
        "Disk Drive": "1 x 160GB SSD",
        "Power Supply Rating (watts)": 460,
        "HW Avail": "Mar-2009",
        "Hardware release year": 2009,
        "SW Avail": "Feb-2009",
        "Tested By": "Fuji Machines",
        "Published": "May-2009",
        "Disclosures": '<A HREF="/x.html">HTML</A>',
    }
    every_ops = every_watts = 0.0
    for p in LEVELS:
        ops = round(told["ops"] * p / 100)
        watts = told["idle"] + (told["full"] - told["idle"]) * p / 100
        every_ops, every_watts = every_ops + ops, every_watts + watts
        cells[f"ssj_ops @ {p}% of target load"] = ops
        at = "@10%" if p == 10 else f" @ {p}%"
        cells[f"Average watts{at} of target load"] = repr(watts)
        cells[f"Performance/power @ {p}% of target load"] = round(ops / watts)
    cells["Average watts @ active idle"] = told["idle"]
    cells["Result"] = round(every_ops / (every_watts + told["idle"]))
    unknown = set(changes) - set(cells)
    assert not unknown, unknown
    cells |= changes
    return [str(cells[name.strip()]) for name in HEADER]


def text(*rows: list[str], header: list[str] | None = None, separator: str = ",") -> str:
    """Return rows below the column names, as text."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(
        [HEADER if header is None else header, *rows]
    )
    return out.getvalue()
