"""The keys of a scenario about Slurm: its ``slurm.conf``, and other values of its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model

from ...policy.slurm.policy import CHOICES, LINES
from ...policy.slurm.scheduling import PARAMETERS
from .describing import File, Key, Keys, Number, Option

_Whole = Annotated[int, Field(ge=0, lt=10**9)]


def _lines() -> dict[str, Any]:
    """A key for each line and scheduler parameter that the model reads."""
    made: dict[str, Any] = {}
    for name, usual in PARAMETERS.items():
        said = Key(f"SchedulerParameters {name}; Slurm's default: {usual}.", "a whole number")
        made[name] = (Annotated[_Whole | None, said], None)
    for name in (*CHOICES, *LINES):
        values = " or ".join(CHOICES.get(name, ("as in the file",)))
        said = Key(f"The line {name}.", f"a text or number, {values}")
        made[name] = (Annotated[str | int | Number | None, said], None)
    return made


if TYPE_CHECKING:
    _Lines = Keys
else:
    _Lines = create_model("_Lines", __base__=Keys, **_lines())


class SlurmKeys(_Lines):
    """Slurm as a site has it, and other values of its lines; of policy slurm alone."""

    conf: Annotated[
        File | None,
        Key(
            "A slurm.conf: that of {policy.name} slurm, and the machine, unless {cluster.nodes} or "
            "{cluster.procs} gives another.",
            "a file, relative to this one",
            Option("Scheduling", "FILE", "--slurm-conf"),
        ),
    ] = None
