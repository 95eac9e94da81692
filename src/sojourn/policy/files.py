"""A user's own scores, from a file of Python."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

from ..errors import OptionError, PolicyError
from ._naming import POLICY_FILE
from .modules import importing_from
from .score import NodeScore, Score

_Kind = TypeVar("_Kind", Score, NodeScore)
_OF = {Score: "the queue", NodeScore: "nodes"}


def load_score(where: str) -> Score:
    """Load a user's order of the queue from ``FILE.py:name``."""
    return _load(where, Score, "an order", "(jobs, j, now, theta)")


def load_node_score(where: str) -> NodeScore:
    """Load a user's placement from ``FILE.py:name``."""
    return _load(where, NodeScore, "a placement", "(nodes, n, jobs, j, now, theta)")


def _load(where: str, kind: type[_Kind], what: str, form: str) -> _Kind:
    path, colon, name = where.rpartition(":")
    if not colon or not path:
        raise OptionError(f"{where}: write FILE.py:name")
    file = Path(path)
    if not file.is_file():
        raise OptionError(f"{path}: no such file", path=path)
    if not path.endswith(".py"):
        raise OptionError(f"{path}: not a Python file; its name must end in .py", path=path)
    module = policy_module(path)
    found = getattr(module, name, None)
    if not isinstance(found, kind):
        scores = [key for key, value in vars(module).items() if isinstance(value, kind)]
        advice = f"decorate a function of {form} with @sojourn.score"
        if isinstance(found, Score | NodeScore):
            raise PolicyError(
                f"{path}: '{name}' is an order of {_OF[type(found)]}; {what} is a function of "
                f"{form}",
                path=path,
            )
        if scores:
            advice = f"it has {', '.join(scores)}"
        raise PolicyError(f"{path}: no score named '{name}'; {advice}", path=path)
    return found


def policy_module(path: str) -> ModuleType:
    """Run a policy file; return the module that it makes, which no import finds."""
    if not Path(path).is_file():
        raise PolicyError(f"{path}: no such file; it is needed where its score is used", path=path)
    called = f"{POLICY_FILE}{Path(path).stem}"
    spec = importlib.util.spec_from_loader(called, _AsItIs(called, os.path.abspath(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Data classes look their module up while they are made.
    sys.modules[called] = module
    try:
        with importing_from(path):
            spec.loader.exec_module(module)
    except PolicyError:
        raise
    except SystemExit:
        raise PolicyError(f"{path}: the file exits when it is loaded", path=path) from None
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise PolicyError(
            f"{path}: the file fails when it is loaded: {reason}", path=path
        ) from None
    finally:
        del sys.modules[called]
    return module


class _AsItIs(SourceFileLoader):
    """Compiles a file as it is now; nothing is kept beside it.

    Python takes what it has kept for the file as long as size and second of change are the same.
    """

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file."""
        found: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return found
