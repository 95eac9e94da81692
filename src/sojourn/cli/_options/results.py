"""Options about what becomes of results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import OptionError
from .. import _completion

if TYPE_CHECKING:
    from ...workload import Jobs

__all__ = ["AsJson", "By", "Results"]

_RESULTS = "Results"

AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON alone on standard output, nothing else.")
]

By = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS,...",
        help="Results of each class of jobs too: by user, group, account, partition, queue, qos, "
        "width or status.",
        autocompletion=_completion.run_class_lists,
        rich_help_panel=_RESULTS,
    ),
]


@dataclass(frozen=True)
class Results:
    """What becomes of a run's results."""

    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the results; a run that is there is replaced.",
            rich_help_panel=_RESULTS,
        ),
    ] = None
    json: AsJson = False
    format: Annotated[
        str,
        typer.Option(
            metavar="parquet|csv|swf",
            help="Format of the job table; swf is the log with the simulated waits in it.",
            rich_help_panel=_RESULTS,
        ),
    ] = "parquet"
    trajectory: Annotated[
        bool,
        typer.Option(
            "--trajectory/--no-trajectory",
            help="Record and write the trajectory.",
            rich_help_panel=_RESULTS,
        ),
    ] = True
    by: By = None
    plots: Annotated[
        bool,
        typer.Option(
            "--plots",
            help="Draw overview.png too, and with --cluster fragmentation.png.",
            rich_help_panel=_RESULTS,
        ),
    ] = False
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help="Write decisions.log too: why this job, why these nodes, why not yet.",
            rich_help_panel=_RESULTS,
        ),
    ] = False

    @property
    def classes(self) -> list[str]:
        """What jobs are to be classed by."""
        from ...classes import CLASSES
        from ...workload.classes import listed_classes

        return [] if self.by is None else listed_classes(self.by, CLASSES)

    def check_classes(self, jobs: Jobs) -> None:
        """Raise OptionError for classes of which the log knows none."""
        from ...workload.classes import check_known

        for name in self.classes:
            check_known(jobs, name)

    def check(self) -> None:
        """Raise OptionError for what could not be written."""
        from ...output import FORMATS, check_folder

        if self.format not in FORMATS:
            raise OptionError(f"--format {self.format}: choose {', '.join(FORMATS)}")
        _ = self.classes
        if self.out is not None:
            check_folder(self.out)
        elif self.plots:
            raise OptionError("--plots draws into the folder of the results; give --out")
        elif self.debug:
            raise OptionError("--debug writes into the folder of the results; give --out")
