"""Writes docs/api.md: every public name with its signature and the first sentence of its docstring.

    python docs/api.py

tests/test_api_page.py fails when the page is not what the code says.
"""

import inspect
import re
from collections.abc import Iterator
from functools import cache
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


def page() -> str:
    """The whole page."""
    public = {name: getattr(bmaml, name) for name in bmaml.__all__}
    modules = {name: value for name, value in public.items() if inspect.ismodule(value)}
    names = {name: value for name, value in public.items() if name not in modules}
    sections = [HEAD, section("bmaml", bmaml, names)]
    for name, module in modules.items():
        further = {key: value for key, value in members(module).items() if key not in names}
        sections += [section(f"bmaml.{name}", module, further)] if further else []
    return "\n".join(sections)


@cache
def everything() -> set[Any]:
    """All public classes, wherever they stand."""
    modules = [bmaml, *filter(inspect.ismodule, (getattr(bmaml, name) for name in bmaml.__all__))]
    return {value for module in modules for value in members(module).values() if inspect.isclass(value)}


def members(module: ModuleType) -> dict[str, Any]:
    """The public names of a module: what it lists, or what is defined in it."""
    if hasattr(module, "__all__"):
        return {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }


def section(title: str, module: ModuleType, names: dict[str, Any]) -> str:
    """A heading, the module's sentence, and an entry for each name that has one of its own."""
    entries = [line for name, value in names.items() for line in entry(name, value)]
    return "\n".join([f"## {title}", "", first_sentence(module), "", *entries, ""])


def entry(name: str, value: Any) -> Iterator[str]:
    """The lines of one name; none of an alias of types or a bare number."""
    if isinstance(value, dict):
        yield f"- **`{name}`**: by name, {', '.join(f'`{key}`' for key in value)}."
    elif inspect.isroutine(value):
        yield f"- **`{name}{signature(value)}`** {source(value)}: {first_sentence(value)}"
    elif inspect.isclass(value) and first_sentence(value):
        yield f"- **`{name}{signature(value)}`** {source(value)}: {first_sentence(value)}"
        yield from (f"  - {line}" for line in attributes(value))


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
