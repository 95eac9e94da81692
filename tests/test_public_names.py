"""What the package promises at its front door."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn
from sojourn import _lazy

SOURCE = Path(sojourn.__file__).parent
STUBS = sorted(SOURCE.rglob("__init__.pyi"))


def package_of(stub: Path) -> str:
    return ".".join(("sojourn", *stub.parent.relative_to(SOURCE).parts))


@pytest.mark.parametrize("stub", STUBS, ids=package_of)
def test_all_names_of_a_stub_can_be_had_and_no_others(stub):
    package = importlib.import_module(package_of(stub))
    lines = stub.read_text().splitlines()
    exported = [_lazy._EXPORT.fullmatch(line) for line in lines]
    assert all(exported), "a line that type checkers read and Python does not"
    assert package.__all__ == dir(package) == sorted(found[2] for found in exported)
    for module, name in (found.groups() for found in exported):
        value = getattr(package, name)
        home = importlib.import_module(f".{module}" if module else f".{name}", package.__name__)
        assert value is (getattr(home, name) if module else home)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_a_package_that_lists_names_has_them_in_its_stub_alone():
    for stub in STUBS:
        tree = ast.parse(stub.with_suffix(".py").read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert [node.module for node in imports] == ["_lazy"], stub


def test_importing_a_submodule_does_not_hide_a_function():
    code = (
        "import sojourn.run.simulate, sojourn.run.compare, sojourn.jobs.clean;"
        "import sojourn.policy.score, sojourn.cluster.library;"
        "assert callable(sojourn.simulate) and callable(sojourn.clean) and callable(sojourn.score);"
        "assert callable(sojourn.compare) and callable(sojourn.cluster.library)"
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
