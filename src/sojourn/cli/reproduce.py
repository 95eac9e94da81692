"""``sojourn reproduce``: tables and figures of the papers, made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._options import AsJson, option
from ._results import print_json
from ._run import progress

if TYPE_CHECKING:
    from ..papers import Reproduced, Reproduction

_SHOWN = 40
"""Rows up to which a table is printed in full."""


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which one; without it all are listed.")
    ] = None,
    data: Annotated[
        Path, option("DIR", "Folder with the published data.", envvar="SOJOURN_DATA")
    ] = Path("."),
    out: Annotated[
        Path | None, option("DIR", "Write the picture and its numbers (CSV) there.")
    ] = None,
    picture: Annotated[str, option("png|svg|pdf", "Format of the picture.")] = "png",
    printed: Annotated[
        bool,
        typer.Option(
            "--printed", help="Take constants as printed where our reading corrects them."
        ),
    ] = False,
    jobs: Annotated[
        int | None, option("N", "Jobs of a stream on virtual nodes, fewer for a quick look.", min=2)
    ] = None,
    mode: Annotated[str | None, option("real|model", "How time passes on virtual nodes.")] = None,
    json: AsJson = False,
) -> None:
    """List the papers' tables and figures, or make one of them again.

    Example: sojourn reproduce rumyantsev2018-fig3 --data DIR --out DIR --json
    """
    from ..errors import OptionError
    from ..papers import catalogue, find, write
    from ..run.folder import check_folder

    if name is None:
        known = list(catalogue().values())
        if json:
            print_json([{"name": r.name, "title": r.title} for r in known])
        else:
            _show_list(known)
        return
    wanted = find(name)
    if picture not in ("png", "svg", "pdf"):
        raise OptionError(f"--picture '{picture}': choose png, svg or pdf")
    if out is not None:
        check_folder(out)
    with progress(name) as report:
        outcome = wanted(data, printed=printed, jobs=jobs, mode=mode, progress=report)
    files = write(outcome, name, out, kind=picture) if out is not None else []
    if json:
        print_json(outcome.rows if outcome.bare else {"rows": outcome.rows})
        return
    _show_outcome(wanted, outcome)
    kept = "numbers" if outcome.draw is None else "picture"
    print(f"\n{', '.join(files)} in {out}" if files else f"\nadd --out DIR for the {kept}")


def _show_list(known: list[Reproduction]) -> None:
    width = max(len(r.name) for r in known)
    for r in known:
        print(f"{r.name:<{width}}  {r.title}")
        if r.printed:
            print(f"{'':<{width}}  --printed: {r.printed}")
    print("\nTry: sojourn reproduce NAME --data DIR --out DIR")


def _show_outcome(made: Reproduction, outcome: Reproduced) -> None:
    print(f"{made.name}: {made.title}\n{outcome.says}")
    if outcome.table:
        print(f"\n{outcome.table}")
        return
    if len(outcome.rows) > _SHOWN:
        return
    print()
    names = list(outcome.rows[0])
    print("  ".join(f"{name:>18}" for name in names))
    for row in outcome.rows:
        print("  ".join(_cell(row[name]) for name in names))


def _cell(value: float | str) -> str:
    return f"{value:>18}" if isinstance(value, str) else f"{value:>18.8g}"
