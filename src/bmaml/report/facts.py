"""What a run is, told from its `run.json`: method, data, settings, and the command to make it again."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmaml.cli.method_options import NAMES, PRESET_NAMES
from bmaml.recipe import Recipe

# Options of `bmaml train` that a recipe knows by another name.
OPTION_OF = {"seed": "split_seed", **{preset: option for option, preset in PRESET_NAMES.items()}}
# The options of a method that `bmaml train` has.
ON_THE_COMMAND_LINE = {PRESET_NAMES.get(name, name) for name in NAMES}
POSITIONAL = {"table": "path", "folder": "folder"}


def describe_run(recipe: Recipe, settings: Mapping[str, Any]) -> dict[str, str]:
    """What the run is, as a list of facts for the eye.

    Arguments:
        recipe: of the run.
        settings: what its `run.json` says.
    """
    options = recipe.task_options
    encoding = options.get("encoding") or {}
    facts = {"method": _told({"": recipe.method, **recipe.method_options})}
    if recipe.tasks == "table":
        columns = [str(column.get("name")) for column in encoding.get("features", [])]
        facts |= {
            "data": str(options.get("path") or "a table in memory"),
            "each task is a": str(options.get("task")),
            "predicts": f"{options.get('target')} ({recipe.rows.targets})",
            "from": ", ".join(columns),
            "support rows in training": f"0 to {options.get('shots')}",
        }
    else:
        facts["tasks"] = _told({"": recipe.tasks, **options})
    facts |= {"network": _told(recipe.model_options)} if recipe.model_options else {}
    facts |= {
        "meta-updates": f"{settings.get('steps')} of {settings.get('batch_size')} tasks",
        "seeds": ", ".join(map(str, settings.get("seeds", []))),
        "trained by": f"bmaml {settings.get('bmaml')}",
    }
    return facts


def command(recipe: Recipe, settings: Mapping[str, Any], out: Path) -> str | None:
    """The `bmaml train` command that makes this run again; None if it takes Python.

    Arguments:
        recipe: of the run.
        settings: what its `run.json` says.
        out: its folder.
    """
    options, seeds = dict(recipe.task_options), settings.get("seeds", [])
    positional = POSITIONAL.get(recipe.tasks)
    in_python = positional is not None and options.get(positional) is None
    if in_python or len(seeds) != 1 or not set(recipe.method_options) <= ON_THE_COMMAND_LINE:
        return None
    for learned in ("encoding", "dealt"):  # from the table, as training would learn them again
        options.pop(learned, None)
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


def _told(options: Mapping[str, Any]) -> str:
    """`name value, name value, …`, in words."""
    told = []
    for name, value in options.items():
        if isinstance(value, list | tuple):
            value = " × ".join(map(str, value))
        if value is not None:
            told.append(f"{name.replace('_', ' ')} {value}".strip())
    return ", ".join(told)
