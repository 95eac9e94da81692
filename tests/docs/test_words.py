"""What users read is in the words of the field: the table of CONTRIBUTING, its worst cases."""

import ast
import re
from pathlib import Path

import pytest
import typer

from sojourn.cli import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "sojourn"
DIALECT = re.compile(
    r"\b(told|tells?|telling|jobs met|met jobs|set off|other luck|beginnings)\b", re.IGNORECASE
)
SPOKEN = ("report", "study", "papers", "cli", "run/keys")
"""Folders whose texts reach a terminal, a page or a picture."""


def _dialect(text: str) -> list[str]:
    """Return the lines of a text that have a word of the house in them."""
    return [line.strip() for line in text.splitlines() if DIALECT.search(line)]


def _texts(path: Path) -> str:
    """Return the texts of a module without its docstrings, which are for its readers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return "\n".join(
        node.value for node in constants if isinstance(node.value, str) and id(node) not in aside
    )


def _helps(command, name="sojourn"):
    """Yield the help of a command and of all below it: its own, and that of its options."""
    yield f"{name}: {command.help or ''}"
    for parameter in command.params:
        yield f"{name} {parameter.name}: {getattr(parameter, 'help', '') or ''}"
    for below, part in getattr(command, "commands", {}).items():
        yield from _helps(part, f"{name} {below}")


def test_dialect_is_recognised():
    assert _dialect("a\nwhich cannot be told from it\nwhat jobs met\nthe best is set off") == [
        "which cannot be told from it",
        "what jobs met",
        "the best is set off",
    ]
    assert _dialect("the target is met; it was retold; settings off") == []


def test_help_of_every_command():
    helps = list(_helps(typer.main.get_command(app)))
    assert len(helps) > 200
    assert [line for text in helps for line in _dialect(text)] == []


@pytest.mark.parametrize("folder", SPOKEN)
def test_texts_of_the_source(folder):
    modules = sorted((SOURCE / folder).rglob("*.py"))
    assert modules
    wrong = {str(path.relative_to(SOURCE)): _dialect(_texts(path)) for path in modules}
    assert {name: lines for name, lines in wrong.items() if lines} == {}


def test_templates_of_the_page():
    templates = [path for path in (SOURCE / "report/page/templates").iterdir() if path.is_file()]
    assert len(templates) >= 5
    assert [line for path in templates for line in _dialect(path.read_text("utf-8"))] == []


def test_documentation():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert len(pages) > 40
    wrong = {str(path.relative_to(ROOT)): _dialect(path.read_text("utf-8")) for path in pages}
    assert {name: lines for name, lines in wrong.items() if lines} == {}


def test_table_of_words_has_what_it_should():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\|(.+)\|(.+)\|(.+)\|$", text.partition("## Words")[2], re.MULTILINE)
    terms = [term.strip() for term, _, _ in rows[2:]]
    assert len(terms) >= 25
    assert len(set(terms)) == len(terms)
