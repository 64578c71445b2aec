"""The `bmaml train` command that makes a run again, from its `run.json`."""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmaml.cli.method_options import OPTION_OF
from bmaml.cli.train.command import KINDS

if TYPE_CHECKING:
    from bmaml.recipe import Recipe

POSITIONAL = {"table": "path", "folder": "folder"}


def command(recipe: "Recipe", settings: Mapping[str, Any], out: Path) -> str | None:
    """The command; None if it takes Python, as some options are not on the command line.

    Arguments:
        recipe: of the run.
        settings: what its `run.json` says.
        out: its folder.
    """
    if recipe.tasks not in KINDS:  # A source of tasks need not be on the command line.
        return None
    options, seeds = dict(recipe.task_options), settings.get("seeds", [])
    for learned in ("encoding", "dealt"):  # from the table, as training would learn them again
        options.pop(learned, None)
    given = {OPTION_OF.get(name, name) for name in (*recipe.method_options, *options)}
    known = {field.name for field in fields(KINDS[recipe.tasks])}
    positional = POSITIONAL.get(recipe.tasks)
    in_memory = positional is not None and options.get(positional) is None
    if in_memory or len(seeds) != 1 or not given | set(recipe.model_options) <= known:
        return None
    words = ["bmaml", "train", recipe.tasks]
    if positional is not None:
        # A path names its kind by itself, but for a folder called "table".
        words.append(str(options.pop(positional)))
    if "num_tasks" in options:
        options["num_tasks"] = options["num_tasks"] or 0
    words += _flags({"method": recipe.method, **recipe.method_options})
    words += _flags(options) + _flags(recipe.model_options)
    training = {name: settings.get(name) for name in ("steps", "batch_size", "validate_every")}
    words += [*_flags(training), "--seed", str(seeds[0]), "--out", str(out)]
    return shlex.join(words)


def _flags(options: Mapping[str, Any]) -> list[str]:
    """As words of a command line; None is the default."""
    words = []
    for name, value in options.items():
        flag = OPTION_OF.get(name, name).replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, list | tuple):
            words += [f"--{flag}", *map(str, value)]
        elif value is not None:
            words += [f"--{flag}", str(value)]
    return words
