"""``sojourn inspect``: what a log holds."""

from __future__ import annotations

from typing import Annotated

from . import _completion
from ._options import READING, AsJson, Chosen, option, takes
from ._results import print_json


@takes("log", "procs", READING)
def inspect(
    chosen: Chosen,
    *,
    cluster: Annotated[
        str | None,
        option(
            "FILE|COUNTS",
            "Nodes of the machine, in place of --procs: a description (.toml, .csv), a "
            "slurm.conf, or counts. Where the log has a column 'used', what its jobs held on each "
            "node is checked.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        option(
            "CLASS,...",
            "A table each of what jobs are like: by user, group, account, partition, queue, "
            "qos or width.",
            autocompletion=_completion.class_lists,
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Describe a log: header, span, load, distributions, users, estimates, waits, day.

    All of it is of the log as it is; what cleaning would do to it before a run is listed apart.
    The load is that offered to a machine of P processors, or of MaxProcs of the log's header.

    Example: sojourn inspect log.swf.gz --procs 128
    """
    from dataclasses import asdict

    from ..cluster import find_cluster
    from ..errors import OptionError
    from ..jobs import STANDARD
    from ..jobs.classes import check_known, listed_classes
    from ..jobs.clean import cleaned
    from ..jobs.facts import facts, facts_by
    from ..run.classes import class_rows
    from ..run.outcome.recorded_nodes import has_recorded_use, recorded_excess

    classes = [] if by is None else listed_classes(by)
    scenario = chosen.scenario
    procs, strict = scenario.keys.cluster.procs, scenario.keys.workload.strict
    if cluster is not None and procs is not None:
        raise OptionError("--procs: --cluster says how many processors; leave one of them out")
    machine = None if cluster is None else find_cluster(cluster, strict=strict)
    jobs = scenario.raw_log()
    for name in classes:
        check_known(jobs, name)
    measured = facts(jobs, procs if machine is None else machine.procs)
    left = cleaned(jobs, measured["procs"], STANDARD, strict=strict)
    numbers = {**measured, "cleaning": left.report.as_dict()}
    if machine is not None and has_recorded_use(jobs):
        numbers["excess"] = [asdict(excess) for excess in recorded_excess(jobs, machine)]
    if classes:
        numbers["classes"] = {name: class_rows(facts_by(jobs, name)) for name in classes}
    if json:
        print_json(numbers)
        return
    from ..report.text import show_facts

    show_facts(numbers)
