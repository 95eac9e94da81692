"""Jobs that ask not to start before a time, from the definition: they come then."""

from __future__ import annotations

from collections.abc import Sequence

from .model import Exact, Job


def as_they_come(jobs: Sequence[Job], begin: Sequence[Exact | None]) -> tuple[list[int], list[Job]]:
    """Who comes when: places of jobs as they come, and the jobs as the scheduler knows them.

    Parameters
    ----------
    jobs
        In the order of submit.
    begin
        Of each job, None where it asks for nothing.
    """
    comes = [
        job.submit if wish is None or wish <= job.submit else wish
        for job, wish in zip(jobs, begin, strict=True)
    ]
    order: list[int] = []
    for instant in sorted(set(comes)):
        order += [place for place, when in enumerate(comes) if when == instant]
    return order, [jobs[place]._replace(submit=comes[place]) for place in order]
