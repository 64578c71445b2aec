"""The library stands without its command line and experiments, and without policies."""

import ast
from pathlib import Path

import pytest

import bmaml

ROOT = Path(bmaml.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
# Who may import a part, beside itself.
USERS = {"cli": (), "experiments": ("cli",), "rl": ("cli", "experiments", "__init__.py")}


def imported(module: Path) -> set[str]:
    """All modules of the package that a file imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.startswith("bmaml.")}


@pytest.mark.parametrize("part", USERS)
def test_only_its_users_import_a_part(part):
    allowed = {part, *USERS[part]}
    others = [module for module in MODULES if module.relative_to(ROOT).parts[0] not in allowed]
    assert len(others) > 100
    wrong = [
        f"{module.relative_to(ROOT)} imports {name}"
        for module in others
        for name in imported(module)
        if name.split(".")[1] == part
    ]
    assert not wrong
