"""Whether a run that is resumed goes on with the options that it began with, in their own words."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmaml.cli.method_options import OPTION_OF
from bmaml.errors import BmamlError

# What is learned of a table, and which of its options lead to the data.
LEARNED = ("encoding", "dealt")
PLACES = ("path", "folder")


def has_begun(out: Path) -> bool:
    """Whether there is a run to go on with; one that has saved nothing gives way to any other."""
    from bmaml.run_folder import require_fit

    require_fit(out, {}, resume=True)  # Refuses what is no run at all.
    try:
        require_fit(out, {}, resume=False)
    except BmamlError:
        return True
    return False


def require_same_options(
    out: Path,
    settings: Mapping[str, Any],
    source: str,
    method: Mapping[str, Any],
    tasks: Mapping[str, Any],
    others: Mapping[str, Any],
) -> None:
    """Refuse another option than the run began with; what is left is for `fit` to find.

    Arguments:
        out: the folder of the run.
        settings: what its `run.json` says.
        source: the kind of tasks.
        method: the method and its options, all that were given.
        tasks: options of the tasks; of some it may not be known yet what they are.
        others: of the network and the training; None is not given.
    """
    described = settings.get("description")
    if not isinstance(described, dict) or not isinstance(described.get("task_options"), dict):
        return  # It was not the command line that began it.
    if described.get("tasks") != source:
        raise _other(out, f"on {described.get('tasks')}, not on {source}")
    began = {"method": described.get("method"), **described.get("method_options", {})}
    of_tasks, now = described["task_options"], json.loads(json.dumps([method, tasks, others]))
    pairs = [(name, began.get(name), now[0].get(name)) for name in {**began, **now[0]}]
    pairs += [(name, of_tasks[name], value) for name, value in now[1].items() if name in of_tasks]
    known = {**settings, **described.get("model_options", {})}
    pairs += [(name, known.get(name), value) for name, value in now[2].items() if value is not None]
    for name, before, value in pairs:
        if before != value:
            raise _other(out, _told(name, before, value))


def _told(name: str, before: Any, value: Any) -> str:
    """The two values of one option."""
    if name in LEARNED:
        return "when the table had other columns, values or tasks"
    if name in PLACES:
        return f"on {before}, not on {value}"
    option = f"--{OPTION_OF.get(name, name).replace('_', '-')}"
    if before is None or before is False:
        return f"without {option}"
    if before is True or value is None:
        return f"with {option}{'' if before is True else f' {_words(before)}'}, which is left out here"
    return f"with {option} {_words(before)}, not {_words(value)}"


def _words(value: Any) -> str:
    return shlex.join(map(str, value)) if isinstance(value, list) else str(value)


def _other(out: Path, told: str) -> BmamlError:
    return BmamlError(
        f"{out} began {told}: resume with the options it began with, on the same data, or choose "
        "another folder."
    )
