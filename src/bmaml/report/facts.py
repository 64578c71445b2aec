"""What a run is, told from its `run.json`: method, data and settings."""

from collections.abc import Mapping
from typing import Any

from bmaml.recipe import Recipe


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


def _told(options: Mapping[str, Any]) -> str:
    """`name value, name value, …`, in words."""
    told = []
    for name, value in options.items():
        if isinstance(value, list | tuple):
            value = " × ".join(map(str, value))
        if value is not None:
            told.append(f"{name.replace('_', ' ')} {value}".strip())
    return ", ".join(told)
