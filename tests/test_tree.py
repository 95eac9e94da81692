"""The map of the house: which folder may reach into which."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}


def _imported(module: str, path: Path) -> list[str]:
    """Return the modules that a module imports, with their full names."""
    package = module.split(".") if path.stem == "__init__" else module.split(".")[:-1]
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                names.append(full if full in MODULES else base)
    return names


def test_no_folder_reaches_into_the_private_modules_of_another():
    wrong = []
    for module, path in MODULES.items():
        folder = module if path.stem == "__init__" else module.rpartition(".")[0]
        for name in _imported(module, path):
            parts = name.split(".")
            private = [i for i, part in enumerate(parts) if part[0] == "_" and part[1] != "_"]
            # Those of the package itself, as `_lazy`, are everybody's.
            if parts[0] == "sojourn" and private and private[0] > 1:
                home = ".".join(parts[: private[0]])
                if not f"{folder}.".startswith(f"{home}."):
                    wrong.append(f"{module} -> {name}")
    assert wrong == []


def test_the_map_lists_every_folder():
    text = (SOURCE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = [
        path.name for path in (SOURCE / "sojourn").iterdir() if (path / "__init__.py").exists()
    ]
    assert [name for name in folders if f"`{name}/" not in text] == []


def test_a_class_name_means_one_thing():
    homes: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}
