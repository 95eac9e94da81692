"""What a reproduction is, and the list of them."""

from __future__ import annotations

import csv
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OptionError, nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, float | str]


@dataclass(frozen=True)
class Reproduced:
    """What a reproduction gives.

    Parameters
    ----------
    rows : the numbers behind the table or figure, with words that distinguish them.
    says : what they show, in a line or two.
    draw : draws the figure; None for a table.
    table : the rows as people read them; empty where one line per row is good enough.
    bare : whether their JSON is the list itself, not an object that holds it.
    """

    rows: Sequence[Row]
    says: str
    draw: Callable[[], Figure] | None = None
    table: str = ""
    bare: bool = False


@dataclass(frozen=True)
class Request:
    """What a reproduction is made from.

    Parameters
    ----------
    name : of the reproduction.
    data : folder with the published data.
    printed : take constants as printed where our reading corrects them.
    jobs : of a stream that goes through virtual nodes; 0 where none does.
    mode : how time passes there, ``real`` or ``model``.
    progress : called now and then with (jobs ended, jobs).
    """

    name: str
    data: Path
    printed: bool = False
    jobs: int = 0
    mode: str = "model"
    progress: Callable[[int, int], None] | None = None

    def file(self, path: str, origin: str) -> Path:
        """Find a file of the data folder, there or where `path` says; `origin` is for the error."""
        for place in (self.data / path, self.data / Path(path).name):
            if place.is_file():
                return place
        raise OptionError(
            f"{self.name} needs {path} ({origin}), which is not in {self.data.resolve()}; "
            "name the folder that has it with --data"
        )


@dataclass(frozen=True)
class Reproduction:
    """A table or figure that can be made again.

    Parameters
    ----------
    name : paper and figure, such as ``rumyantsev2018-fig3``.
    title : what it shows.
    make : does it.
    printed : what ``--printed`` changes; empty where the print is followed anyway.
    jobs : of a stream that goes through virtual nodes; 0 where none does.
    """

    name: str
    title: str
    make: Callable[[Request], Reproduced]
    printed: str = ""
    jobs: int = 0

    def __call__(
        self,
        data: Path,
        *,
        printed: bool = False,
        jobs: int | None = None,
        mode: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Reproduced:
        """Make it from the data in a folder.

        Parameters
        ----------
        data, printed, mode, progress : as in `Request`.
        jobs : fewer of a stream, for a quick look.
        """
        if printed and not self.printed:
            raise OptionError(
                f"{self.name}: nothing in it depends on a corrected constant; leave out --printed"
            )
        if not self.jobs and not (jobs is None and mode is None):
            raise OptionError(
                f"{self.name}: no stream goes through virtual nodes; leave out --jobs and --mode"
            )
        wanted = self.jobs if jobs is None else jobs
        return self.make(Request(self.name, data, printed, wanted, mode or "model", progress))


_REPRODUCTIONS: dict[str, Reproduction] = {}


def reproduction(
    name: str, title: str, *, printed: str = "", jobs: int = 0
) -> Callable[[Callable[[Request], Reproduced]], Reproduction]:
    """Enter a function into the list of reproductions.

    Examples
    --------
    A module of this package holds the reproductions of one paper::

        @reproduction("smith2031-table1", "Mean waits of five policies")
        def table1(request):
            jobs = sojourn.read_swf(request.file("swf/smith.swf", "log of the paper's machine"))
            ...
            return Reproduced(rows, "EASY waits half as long as FCFS.")
    """

    def enter(make: Callable[[Request], Reproduced]) -> Reproduction:
        if name in _REPRODUCTIONS:
            raise ValueError(f"two reproductions are called {name}")
        _REPRODUCTIONS[name] = Reproduction(name, title, make, printed, jobs)
        return _REPRODUCTIONS[name]

    return enter


def catalogue() -> dict[str, Reproduction]:
    """All reproductions by name, sorted."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{__package__}.{module.name}")
    return dict(sorted(_REPRODUCTIONS.items()))


def find(name: str) -> Reproduction:
    """The reproduction of that name; an error with a hint if there is none."""
    known = catalogue()
    if name in known:
        return known[name]
    raise OptionError(f"no reproduction is called '{name}': {nearest(name, known)}")


def write(outcome: Reproduced, name: str, folder: Path, *, kind: str = "png") -> list[str]:
    """Write the figure and its numbers (CSV) into a folder, both or nothing.

    Parameters
    ----------
    outcome : of a reproduction.
    name : stem of the files.
    folder : made if it is not there.
    kind : of picture: png, svg or pdf.

    Returns
    -------
    list of str
        Names of the files.
    """
    from ..run.folder import staged

    files = [f"{name}.csv"]
    with staged(folder) as place:
        with open(place(files[0]), "w", newline="") as file:
            table = csv.DictWriter(file, list(outcome.rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(outcome.rows)
        if outcome.draw is not None:
            from ..report import save

            files.insert(0, f"{name}.{kind}")
            save(outcome.draw(), place(files[0]))
    return files
