"""Completion in the shell, and what it must not cost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sojourn.cli import _completion
from sojourn.jobs.log import FORMATS
from sojourn.policy import POLICIES


def _completed(words: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    settings = {"_SOJOURN_COMPLETE": "complete_bash", "COMP_WORDS": words}
    settings["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    made = subprocess.run(
        [sys.executable, "-m", "sojourn"],
        env={**os.environ, **settings}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return made.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sojourn insp", ["inspect"]),
        ("sojourn simulate log.swf --sleep i", ["idle"]),
        ("sojourn waits log.swf --by partition,acc", ["partition,account"]),
        ("sojourn compare log.swf --policies fcfs,easy-", ["fcfs,easy-sjbf"]),
    ],
)
def test_a_shell_is_offered_names(words, offered):
    assert _completed(words) == offered


def test_names_that_are_offered():
    assert _completion.policies("eas") == [name for name in POLICIES if name.startswith("eas")]
    assert "sjf+conservative" in _completion.policies("sjf+co")
    assert _completion.log_formats("") == list(FORMATS)
    assert _completion.placements("fas") == ["fastest"]
    assert _completion.policy_lists("fcfs,fcf") == []
    assert "user,width" in _completion.class_lists("user,w")


def test_completion_and_help_import_nothing_heavy():
    code = (
        "import sys; from sojourn.cli import _completion, main; main(['--help']);"
        "_completion.policies('e'); _completion.class_lists('u'); _completion.log_formats('s');"
        "heavy = {'numba', 'pandas', 'pyarrow', 'matplotlib', 'scipy'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--install-completion" in made.stdout
