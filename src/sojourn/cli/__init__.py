"""The command line: one file per verb, none of them with logic of its own.

Exit codes: 0 done, 1 the run failed, 2 wrong input or usage, 130 interrupted. What goes wrong is
said in one line on standard error. Nothing heavy is imported before a verb needs it.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from ..__about__ import __version__
from ..errors import InputError, OptionError, SojournError
from ..files.access import Ledger, keeping_ledger
from ..report.text.streams import OutputError, drop, own_streams, visible
from ._options import VerbGroup, add_verb

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
_OUTPUTS = ("--out", "-o", "--csv", "--plot", "--report", "--save-scenario")

_VERBS = (
    *("demo", "simulate", "run", "peas", "compare", "diff", "inspect", "waits", "cluster"),
    *("sweep", "optimise", "report"),
    *("stability", "plan", "fit", "limits", "adequacy", "replay", "virtual"),
    *("energy", "carbon", "generate", "convert", "schema", "reproduce"),
)
"""In the order of the help; each is what its module of the same name has under that name."""


def _command_line(verbs: Sequence[str]) -> typer.Typer:
    """The command line with some of its verbs."""
    made = typer.Typer(
        name="sojourn",
        cls=VerbGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=True)(_options)
    for verb in verbs:
        # Whoever hands on the package without the papers leaves out ``reproduce``.
        if find_spec(f"{__name__}.{verb}") is not None:
            add_verb(made, getattr(import_module(f".{verb}", __name__), verb))
    return made


def __getattr__(name: str) -> Any:
    """Return ``app``, the command line with all of its verbs, which most commands do not need."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made = _command_line(_VERBS)
    return made


def _options(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """Supercomputers as the queues they are: simulate job streams, policies, speed and energy.

    Begin with: [bold]sojourn demo[/bold]
    """
    if version:
        print(f"sojourn {__version__}")
        raise typer.Exit


# Typer carries Click inside itself in some versions and imports it in others.
_UsageError = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")
_ClickException = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


_COMPLETE = "sojourn simulate"
"""The verb that has every option that is a key of a scenario."""
_PLAIN = {
    "Input should be a valid number, unable to parse string as a number": "give a number",
    "Input should be a valid integer, unable to parse string as an integer": "give a whole number",
}
"""Words of Typer for what is typed, and ours."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    is_process = arguments is None
    if is_process:
        _hurry()
    with own_streams(is_process=is_process), keeping_ledger() as ledger:
        try:
            code = _carry_out(sys.argv[1:] if arguments is None else arguments)
        except BrokenPipeError:
            # The reader has gone: nothing more can be said, not even at exit.
            drop(sys.stdout)
            return FAILED
        except BaseException as error:
            if isinstance(error, OutputError):
                drop(sys.stdout)
            return _report(error, ledger)
        finally:
            if is_process:
                # At exit Python looks for garbage in all that was ever imported: 0.2 s for nothing.
                gc.freeze()
        return code


def _carry_out(arguments: Sequence[str]) -> int:
    _check_paths(arguments)
    command_line = _command_line([verb for verb in arguments[:1] if verb in _VERBS] or _VERBS)
    try:
        code = command_line(arguments, standalone_mode=False, prog_name="sojourn")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAILED
    else:
        if code == INTERRUPTED:  # Click has caught the interrupt.
            raise KeyboardInterrupt
    sys.stdout.flush()
    return code if isinstance(code, int) else DONE


def _check_paths(arguments: Sequence[str]) -> None:
    """Raise OptionError where an output has no name: a path takes that for the folder one is in."""
    for before, argument in pairwise(["", *arguments]):
        option, _, value = (before, "", argument) if argument == "" else argument.partition("=")
        if option in _OUTPUTS and value == "" and argument != option:
            raise OptionError(f"{option} '': the name is empty; name a file or folder")


def _hurry() -> None:
    """Settings for a process that lives for one command."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    # What imports make is not garbage: look for it seldom.
    gc.set_threshold(100_000)
    # NumPy asks for huge pages, and the kernel may stop to make some: up to 15 % of a long run.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    try:
        Path.home()
    except RuntimeError:
        # Neither HOME nor an entry for this user, and pictures need a folder for their fonts.
        folder = tempfile.mkdtemp(prefix="sojourn-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ.setdefault("MPLCONFIGDIR", folder)


def _report(error: BaseException, ledger: Ledger) -> int:
    """Say in one line what went wrong, and return the exit code for it."""
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return _complain(f"interrupted; {_written(ledger)}", INTERRUPTED)
    if isinstance(error, SojournError):
        return _complain(str(error), WRONG if isinstance(error, InputError) else FAILED)
    if isinstance(error, _ClickException):
        return _complain_of_usage(error)
    if isinstance(error, MemoryError):
        return _complain("not enough memory for this run; use fewer jobs", FAILED)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}", FAILED)
    if os.environ.get("SOJOURN_TRACEBACK"):
        raise error
    text = f"{type(error).__name__}: {error}"
    return _complain(f"{text} (please report this; SOJOURN_TRACEBACK=1 shows where)", FAILED)


def _written(ledger: Ledger) -> str:
    """What an interrupted command has left."""
    # A study that has no run yet takes away again what it has written.
    folders = dict.fromkeys(path.parent for path in ledger.outputs if path.exists())
    tops = [str(folder) for folder in folders if not folders.keys() & set(folder.parents)]
    return f"what was finished is in {', '.join(tops)}" if tops else "no results were written"


def _complain_of_usage(error: BaseException) -> int:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "sojourn"
    hint = f"; see {path} --help" if isinstance(error, _UsageError) else ""
    if not message:  # No arguments at all: the help has been shown.
        return WRONG
    for technical, plain in _PLAIN.items():
        message = message.replace(technical, plain)
    option = str(getattr(error, "option_name", ""))
    if message.startswith(f"No such option: {option}") and path != _COMPLETE and _is_known(option):
        # Options of this verb that are spelled alike mean something else.
        message = f"No such option: {option}, which {_COMPLETE} takes"
    return _complain(f"{message.rstrip('.')}{hint}", WRONG)


def _is_known(option: str) -> bool:
    """Whether a verb that takes all options has one."""
    from ..run.keys import described_by_flag

    return option in {key.flag for key in described_by_flag().values() if key.flag[:2] == "--"}


def _complain(message: str, code: int) -> int:
    line = visible(" ".join(message.split()))
    print(f"sojourn: error: {line}", file=sys.stderr, flush=True)
    return code
