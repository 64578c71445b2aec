"""docs/api.md is what docs/api.py makes of the code, and has every public name."""

import importlib.util
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import bmaml

DOCS = Path(__file__).parents[1] / "docs"
PACKAGE = Path(bmaml.__file__).parent
NO_LIBRARY = ("cli", "experiments")
FULL_NAME = re.compile(r"\bbmaml(?:\.[A-Za-z_]\w*)+")


def test_the_page_is_what_the_code_says():
    spec = importlib.util.spec_from_file_location("api_page", DOCS / "api.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert (DOCS / "api.md").read_text() == script.page(), "run `python docs/api.py`"


def public_names() -> list[tuple[str, str]]:
    """Modules and names, from `__all__` as it stands in the files; of `bmaml`, also its modules."""
    found = []
    for file in sorted(PACKAGE.rglob("__init__.py")):
        parts = file.parent.relative_to(PACKAGE).parts
        if "__all__ = [" in file.read_text() and parts[:1] not in [(name,) for name in NO_LIBRARY]:
            module = ".".join(("bmaml", *parts))
            found += [(module, name) for name in import_module(module).__all__]
    modules = [name for _, name in found if inspect.ismodule(getattr(bmaml, name, None))]
    for name in modules:
        if not hasattr(module := getattr(bmaml, name), "__all__"):
            defined = [key for key, value in vars(module).items() if inspect.isfunction(value)]
            own = [key for key in defined if getattr(module, key).__module__ == module.__name__]
            found += [(f"bmaml.{name}", key) for key in own if not key.startswith("_")]
    return found


def test_every_public_name_stands_in_the_section_of_its_module():
    parts = re.split(r"^## (\S+)$", (DOCS / "api.md").read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    names = public_names()
    assert {("bmaml", "fit"), ("bmaml.rl", "fit"), ("bmaml.scale", "join")} <= set(names)
    missing = [
        f"{module}.{name}"
        for module, name in names
        if not inspect.ismodule(getattr(import_module(module), name))
        and not re.search(rf"^- \*\*`{name}\b", sections.get(module, ""), re.MULTILINE)
    ]
    assert not missing
    assert {f"bmaml.{name}" for module, name in names if module == "bmaml"} >= {
        module for module in sections if module.count(".") == 1
    }


# The page itself has modules that are imported by their own names, such as bmaml.rl.render.
PAGES = [DOCS.parent / "README.md", *(page for page in DOCS.rglob("*.md") if page.stem != "api")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_calls_by_its_full_name_comes_with_bmaml(page):
    for name in {*FULL_NAME.findall(page.read_text())}:
        _, first, *others = name.split(".")
        assert first in bmaml.__all__, f"{page.name} speaks of {name}"
        assert all(hasattr(getattr(bmaml, first), other) for other in others[:1]), name


FRESH = """
import sys, bmaml
assert "jax" not in sys.modules
print(bmaml.scale.join.__module__, bmaml.rl.envs.Navigation.__module__, bmaml.rl.fit.__module__)
"""


def test_modules_come_when_they_are_asked_for():
    # In a process of its own: here they have been imported already.
    told = subprocess.run(
        [sys.executable, "-c", FRESH], capture_output=True, text=True, check=True
    ).stdout
    assert told.split() == ["bmaml.scale.processes", "bmaml.rl.envs.navigation", "bmaml.rl.train"]
