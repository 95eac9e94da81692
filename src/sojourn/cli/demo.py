"""``sojourn demo``: a first look, with nothing but this package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ._options import option
from ._run import overview_of, progress

POLICIES = ("fcfs", "easy", "conservative", "easy-sjbf")
_JOBS, _PROCS, _LOAD, _SEED = 5_000, 256, 0.85, 2018


def demo(
    out: Annotated[Path, option("DIR", "Folder for the results.")] = Path("demo"),
) -> None:
    """Make a small log, run it under four policies, compare them, draw them.

    Example: sojourn demo --out demo
    """
    from ..jobs import write_swf
    from ..jobs.models.lublin import lublin
    from ..report import compare as draw
    from ..report import save
    from ..report.text import show_comparison
    from ..run.compare import measures_of, outcomes_of
    from ..run.compare import report as write_page
    from ..run.folder import check_folder, provenance, staged, write_run

    check_folder(out)
    log = f"{out}/log.swf.gz"
    print(f"{_JOBS:,} jobs of the Lublin-Feitelson model on {_PROCS} processors, load {_LOAD}")
    jobs = lublin(_JOBS, _PROCS, load=_LOAD, seed=_SEED, estimates="tsafrir")
    rows, runs = [], {}
    with staged(out) as place:
        write_swf(jobs, place("log.swf.gz"))
        with progress("simulating") as report:
            for run in outcomes_of(jobs, _PROCS, POLICIES, progress=report, record=True):
                origin = provenance("demo", {"policy": run.policy, "log": log}, _SEED)
                extras = overview_of(run.result)
                write_run(run.result, place, run.policy, extras=extras, origin=origin)
                rows.append(run.row())
                runs[run.policy] = run.result.jobs
        save(draw(runs), place("comparison.png"))
        pictures = {"All policies": "comparison.png"}
        pictures |= {policy: f"{policy}/overview.png" for policy in runs}
        title = f"{_JOBS:,} jobs on {_PROCS} processors, load {_LOAD}"
        place("report.md").write_text(write_page(rows, title, pictures), encoding="utf-8")
    show_comparison(rows, measures_of(_PROCS, {}))
    print(f"\nThe log is {log}; each policy has a folder in {out} with its job table,")
    print("trajectory, summary and overview.png. All of them on one page:")
    print(f"{out}/report.md")
    print("\nTry next:")
    print(f"  sojourn report {out} -o report.html")
    print(f"  sojourn inspect {log}")
    print(f"  sojourn simulate {log} --policy sjf+easy --out {out}/sjf")
    print(f"  sojourn compare {log} --policies easy,wfp3+easy,saf+easy --estimates exact")
    print(f"  sojourn simulate {log} --rate workload:0.8,1.0:1e5:3e5 \\")
    print("      --watts 0.8:28:15 --watts 1.0:41:18")
