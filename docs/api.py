"""Writes docs/api.md: every public name with its signature and the first sentence of its docstring.

    python docs/api.py

tests/test_api_page.py fails when the page is not what the code says.
"""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import bmaml

PAGE = Path(__file__).with_suffix(".md")
ROOT = Path(__file__).parents[1]
HEAD = """# API

Every public name, as the code says it (`python docs/api.py` writes this page). What the parts are for
is in the [guide](guide.md), and the names that presets take in [variants](variants.md).
`help(bmaml.fit)` and the like say more.
"""
# Of a signature this much is shown; `help` has the rest.
LONGEST_DEFAULT = 24


# Of the package, what is no library: nothing there is for others to import.
PROGRAMS = ("bmaml.cli", "bmaml.experiments")


def page() -> str:
    """The whole page."""
    own = {name: value for name, value in members(bmaml).items() if not inspect.ismodule(value)}
    described: dict[int, str] = {}
    sections = [section(bmaml, own, described)]
    sections += [section(module, members(module), described) for module in modules()]
    return "\n".join([HEAD, *sections])


@cache
def modules() -> tuple[ModuleType, ...]:
    """Those that `bmaml` names, and every package of the library that lists what it offers."""
    named = [value for value in members(bmaml).values() if inspect.ismodule(value)]
    packages = [
        import_module(found.name)
        for found in pkgutil.walk_packages(bmaml.__path__, "bmaml.")
        if found.ispkg and not found.name.startswith(PROGRAMS)
    ]
    listing = [module for module in packages if hasattr(module, "__all__")]
    by_name = {module.__name__: module for module in (*named, *listing)}
    return tuple(by_name[name] for name in sorted(by_name))


@cache
def everything() -> set[Any]:
    """All public classes, wherever they stand."""
    return {
        value
        for module in (bmaml, *modules())
        for value in members(module).values()
        if inspect.isclass(value)
    }


def members(module: ModuleType) -> dict[str, Any]:
    """The public names of a module: what it lists, or what is defined in it."""
    if hasattr(module, "__all__"):
        return {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }


def section(module: ModuleType, names: dict[str, Any], described: dict[int, str]) -> str:
    """A heading, the module's sentence, and an entry for each name.

    A thing is `described` once, where it is first met; other places that have it say where that is.
    """
    entries = []
    for name, value in names.items():
        if id(value) in described:
            entries.append(f"- **`{name}`**: `{described[id(value)]}`.")
        else:
            entries += entry(name, value)
        if inspect.isroutine(value) or inspect.isclass(value):
            described.setdefault(id(value), f"{module.__name__}.{name}")
    return "\n".join([f"## {module.__name__}", "", first_sentence(module), "", *entries, ""])


def entry(name: str, value: Any) -> Iterator[str]:
    """The lines of one name."""
    if isinstance(value, dict):
        keys = (key.__name__ if inspect.isclass(key) else key for key in value)
        yield f"- **`{name}`**: by name, {', '.join(f'`{key}`' for key in keys)}."
    elif isinstance(value, int | float | str | tuple):
        yield f"- **`{name}`**: `{value!r}`."
    elif inspect.isroutine(value):
        yield f"- **`{name}{signature(value)}`** {source(value)}: {first_sentence(value)}"
    elif inspect.isclass(value) and first_sentence(value):
        yield f"- **`{name}{signature(value)}`** {source(value)}: {first_sentence(value)}"
        yield from (f"  - {line}" for line in attributes(value))
    else:
        yield f"- **`{name}`**: a name for types."


def attributes(kind: type) -> Iterator[str]:
    """The public methods and properties that say what they are for; those of a contract stand there."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("bmaml.")]
    found = {name: value for each in reversed(ours) for name, value in vars(each).items()}
    contracts = [base for base in ours[1:] if base in everything()]
    promised = {name for contract in contracts for name in dir(contract)}
    for name, value in found.items():
        if name.startswith("_") or name in promised:
            continue
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if isinstance(function, property):
            text = first_sentence(function)
            shown = name
        elif inspect.isfunction(function):
            text = first_sentence(function)
            shown = name + signature(function)
        else:
            continue
        if text:
            yield f"`.{shown}`: {text}"


def first_sentence(value: Any) -> str:
    """The first paragraph of its own docstring, on one line."""
    doc = value.__doc__ or ""
    if doc.startswith(f"{getattr(value, '__name__', '')}("):  # a dataclass without one of its own
        return ""
    return " ".join(inspect.cleandoc(doc).split("\n\n")[0].split())


def signature(value: Any) -> str:
    """Names and short defaults of the parameters, without types."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown, keyword_only = [], False
    for parameter in parameters:
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            keyword_only = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            shown.append("*")
            keyword_only = True
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        shown.append(prefix + parameter.name + default(parameter))
    return f"({', '.join(shown)})"


def default(parameter: inspect.Parameter) -> str:
    """`=value`, or `=…` where that is long or says an address."""
    if parameter.default is parameter.empty:
        return ""
    text = repr(parameter.default)
    short = len(text) <= LONGEST_DEFAULT and not re.search(r"<| at 0x", text)
    return f"={text if short else '…'}"


def source(value: Any) -> str:
    """A link to the file it stands in."""
    path = Path(inspect.getsourcefile(inspect.unwrap(value)) or "").relative_to(ROOT)
    return f"([{path.name}](../{path}))"


if __name__ == "__main__":
    PAGE.write_text(page())
