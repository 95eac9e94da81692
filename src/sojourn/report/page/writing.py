"""From a folder to one file that opens in any browser."""

from __future__ import annotations

import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

from ...__about__ import __version__
from ...errors import OptionError
from ...files.staging import atomic_path
from ...measures.registry import also_known
from ..figures.style import FAINT, INK, MUTED, PALETTE
from .folder import read_folder
from .pack import Packer, compress
from .parts import Page
from .sections import page_of

# On black the dark blue is too faint, and the yellow, left out on white, is not.
_DARK = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#FFFFFF")
_SCRIPTS = ("page.js", "timeline.js", "explore.js")
_STOPS = 12


def make_report(folder: str | os.PathLike[str]) -> str:
    """Return a study, a run or a comparison as a page of HTML that is complete in itself.

    The same folder gives the same page, whenever it is made.

    Parameters
    ----------
    folder : what ``sweep``, ``optimise``, ``simulate`` or ``compare`` wrote with ``--out``.

    Raises
    ------
    OptionError
        When the folder holds none of these.
    """
    packer, subject = Packer(), read_folder(folder)
    with also_known(subject.described):
        return rendered(page_of(subject, packer), packer)


def write_report(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """Write the page of `make_report` to a file, whole or not at all, and return its path."""
    check_name(path)
    return write_page(make_report(folder), path)


def check_name(path: str | os.PathLike[str]) -> None:
    """Raise OptionError where a name is not that of a page."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{path}: a report is a page of HTML; name it FILE.html")


def write_page(page: str, path: str | os.PathLike[str]) -> Path:
    """Write a page to a file, whole or not at all, and return its path."""
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace")
    return Path(path)


def rendered(page: Page, packer: Packer) -> str:
    """Return a page as HTML that is complete in itself."""
    import jinja2
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    templates = resources.files(__package__) / "templates"

    def text(name: str) -> str:
        return (templates / name).read_text(encoding="utf-8")

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    facts = {"themes": _themes(), "charts": page.charts}
    return environment.from_string(text("report.html.j2")).render(
        page=page,
        version=__version__,
        style=Markup(text("style.css")),
        facts=Markup(_embedded(facts)),
        arrays=Markup(packer.block()),
        plotly=Markup(compress(get_plotlyjs().encode())),
        script=Markup("\n".join(text(name) for name in _SCRIPTS)),
    )


def _embedded(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _themes() -> dict[str, Any]:
    """Colours on white and on black; the long waits are those that stand out."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    def stops(name: str, low: float, high: float) -> list[str]:
        step = (high - low) / (_STOPS - 1)
        return [to_hex(colormaps[name](low + i * step)) for i in range(_STOPS)]

    return {
        "light": {
            "palette": PALETTE,
            "ink": INK,
            "muted": MUTED,
            "faint": FAINT,
            "paper": "#FFFFFF",
            "atOnce": "#C6CAD0",
            "waits": stops("viridis_r", 0.0, 1.0),
        },
        "dark": {
            "palette": _DARK,
            "ink": "#E8E8E8",
            "muted": "#A8A8A8",
            "faint": "#3A3F45",
            "paper": "#14171A",
            "atOnce": "#4A5058",
            "waits": stops("viridis", 0.2, 1.0),
        },
    }
