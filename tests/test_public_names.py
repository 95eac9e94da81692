"""What the package promises at its front door."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sojourn


def _public() -> list[str]:
    return [name for module, names in sojourn._HOME.items() for name in names or [module]]


def test_all_names_can_be_had_and_no_others():
    assert sorted(sojourn.__all__) == sorted(["__version__", *_public()])
    for name in sojourn.__all__:
        assert getattr(sojourn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sojourn.nothing


def test_importing_a_submodule_does_not_hide_a_function():
    code = (
        "import sojourn.simulation, sojourn.workload.clean, sojourn.policy.score, sojourn;"
        "assert callable(sojourn.simulate) and callable(sojourn.clean) and callable(sojourn.score)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_module_of_comparisons_can_be_called_like_the_function():
    code = (
        "import sojourn.compare, sojourn;"
        "from sojourn.compare import compare, outcomes_of;"
        "jobs = sojourn.Jobs({'submit': [0], 'runtime': [5], 'procs': [1]});"
        "assert [o.policy for o in sojourn.compare(jobs, 2, ['fcfs', 'easy'])] == ['fcfs', 'easy'];"
        "assert len(compare(jobs, 2, ['fcfs'])) == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_functions_of_packages_are_at_the_top():
    assert sojourn.sweep is sojourn.study.sweep
    assert sojourn.replay is sojourn.adequacy.replay
    assert callable(sojourn.compare)
    assert callable(sojourn.waits)


def test_import_is_light():
    code = (
        "import sys, sojourn, sojourn.cli, sojourn.errors;"
        "heavy = {'numba', 'pandas', 'pyarrow', 'matplotlib', 'scipy'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
